"""Journals: whole lines stay, a torn last one goes; the course of training is what they tell, breaks and all."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from relatum.runs.journal import HistoryPoint, Journal, read_history
from support.full_disk import LIMITED, files_up_to


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def said(journal: Journal) -> list[tuple[str, int]]:
    return [(record["event"], record["epoch"]) for record in journal.read()]


def test_events_are_read_as_they_were_written(path: Path) -> None:
    journal, before = Journal(path), time.time()
    signs = "日本 – a\nb\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh"  # some of which end a line elsewhere
    said = [{"event": "start", "epoch": 0}, {"event": signs, "epoch": 2, "score": 0.1 + 0.2}]
    for one in said:
        journal.write(**one)
    found = journal.read()
    assert all(before - 1 < one.pop("time") < time.time() + 1 for one in found)
    assert found == said


def test_an_event_is_one_line_of_json_that_is_there_at_once(path: Path) -> None:
    journal = Journal(path)
    for number in range(3):
        journal.write("epoch", epoch=number)
        lines = path.read_bytes().split(b"\n")
        assert lines.pop() == b""
        assert [json.loads(line)["epoch"] for line in lines] == list(range(number + 1))


def test_no_journal_has_no_events(path: Path) -> None:
    assert Journal(path).read() == []
    assert read_history(path).sessions == 0
    assert not path.exists()
    path.touch()
    assert Journal(path).read() == []


def test_a_torn_last_line_is_dropped_wherever_it_was_torn(path: Path) -> None:
    journal = Journal(path)
    journal.write("start", epoch=0)
    whole = path.read_bytes()
    journal.write("日本", epoch=1)
    both = path.read_bytes()
    for length in range(len(both)):
        path.write_bytes(both[:length])
        again = Journal(path)
        kept = [("start", 0)] if length >= len(whole) else []
        assert said(again) == kept
        again.write("resume", epoch=0)
        assert said(again) == [*kept, ("resume", 0)]


@LIMITED
def test_whole_lines_stay_when_nothing_can_be_written(path: Path) -> None:
    Journal(path).write("start", epoch=0)
    with path.open("ab") as file:
        file.write(b'{"event": "ep')
    with files_up_to(1), pytest.raises(OSError, match="too large"):
        Journal(path).write("resume", epoch=0)
    assert said(Journal(path)) == [("start", 0)]


def test_a_whole_journal_is_not_touched(path: Path) -> None:
    Journal(path).write("start", epoch=0)
    before = path.read_bytes(), path.stat().st_mtime_ns
    Journal(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def journal(path: Path, *events: tuple[str, float, int, dict[str, Any]]) -> Path:
    lines = [json.dumps({"event": kind, "time": time, "epoch": epoch, **rest}) for kind, time, epoch, rest in events]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_a_break_lost_is_drawn_once_but_its_time_counts(tmp_path: Path) -> None:
    path = journal(
        tmp_path / "journal.jsonl",
        ("start", 100, 0, {}),
        ("epoch", 110, 1, {"loss": 5.0}),
        ("validation", 111, 1, {"score": 0.2}),
        ("epoch", 120, 2, {"loss": 4.0}),
        ("resume", 900, 1, {}),
        ("epoch", 908, 2, {"loss": 3.0}),
        ("validation", 909, 2, {"score": 0.2}),
        ("end", 910, 2, {}),
    )
    course = read_history(path)
    assert course.losses == [HistoryPoint(1, 10, 5.0), HistoryPoint(2, 28, 3.0)]
    assert course.scores == [HistoryPoint(1, 11, 0.2), HistoryPoint(2, 29, 0.2)]
    assert (course.seconds, course.epochs, course.sessions) == (30, 2, 2)
    assert course.best == HistoryPoint(1, 11, 0.2)


def test_clocks_set_back_losses_that_are_not_there_and_torn_lines_do_no_harm(tmp_path: Path) -> None:
    path = journal(
        tmp_path / "journal.jsonl",
        ("start", 100, 0, {}),
        ("epoch", 50, 1, {}),
        ("epoch", 60, 2, {"loss": 2.0}),
    )
    whole = path.read_bytes() + b'{"event": "ep'
    path.write_bytes(whole)
    course = read_history(path)
    assert course.losses == [HistoryPoint(2, 10, 2.0)]
    assert course.best is None
    assert path.read_bytes() == whole


def test_where_another_metric_decides_the_mrr_is_shown(tmp_path: Path) -> None:
    path = journal(
        tmp_path / "journal.jsonl",
        ("start", 100, 0, {}),
        ("validation", 110, 1, {"score": 0.7, "mrr": 0.2}),
        ("validation", 120, 2, {"score": 0.6, "mrr": 0.3}),
    )
    course = read_history(path)
    assert course.scores == [HistoryPoint(1, 10, 0.2, 0.7), HistoryPoint(2, 20, 0.3, 0.6)]
    assert course.best == course.scores[0]
