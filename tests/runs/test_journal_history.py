"""The course of training is what the journal tells, breaks and all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relatum.runs.journal import HistoryPoint, read_history


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
