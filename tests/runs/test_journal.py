"""Journals: whole lines stay, a torn last one goes, and what comes next stands on a line of its own."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from relatum.runs.journal import Journal, read_history
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
