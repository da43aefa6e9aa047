"""Joins without any value by models for which there are no bounds: all facts are tried, and what time leaves out is said."""

from __future__ import annotations

import pytest

import relatum
from relatum.runs.join_truths import RunTruths
from relatum.runs.query_rows import QueryRows
from relatum.time_limit import Deadline
from support.run_truths import NAMES, SIZE, check_joins, small_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> relatum.Run:
    """Return a small run of another model than ReAlE."""
    beside = [("beside", NAMES[a], NAMES[(a + d) % SIZE]) for a in range(SIZE) for d in (1, 2)]
    return small_run(tmp_path_factory, beside, seed=3, model="m-distmult")


@pytest.mark.parametrize("word", ["product", "minimum"])
def test_answers_equal_brute_force(run: relatum.Run, word: str) -> None:
    check_joins(run, word, 25)


def test_a_join_without_any_value_is_answered(run: relatum.Run) -> None:
    found = run.sql(
        "SELECT b.position_0, g.position_2 FROM beside b JOIN gave g ON g.position_0 = b.position_1 WHERE NOT known LIMIT 9",
        seconds=None,
    )
    assert isinstance(found, QueryRows)
    assert len(found) == 9
    assert found.proven
    assert all(not row.known for row in found)


def test_what_is_not_tried_in_time_is_not_proven(run: relatum.Run) -> None:
    truths, limit = RunTruths(run), Deadline(1e-9)
    found = truths.best_facts("gave", [None, None, None], 1000, limit)
    known = run.stored.table("gave").columns.shape[1]
    assert found.columns.shape[1] == known, "known facts need no model"
    assert found.rest > 0
    assert limit.stopped
