"""A server builds the indexes before the first question."""

from __future__ import annotations

from pathlib import Path

import relatum
from relatum.inference.candidate_sides import CandidateSides
from relatum.resources.prepare import keep_candidates, prepare


def test_the_indexes_are_there_afterwards(example_run: Path) -> None:
    run = relatum.open(example_run)
    prepare(run)
    assert all(run.remembers(name) for name in ("fact index", "name index", "relations", "tables of SQL"))
    assert not run.remembers("quality")


def test_candidates_are_packed_as_far_as_memory_goes_those_of_large_relations_first(example_run: Path) -> None:
    run = relatum.open(example_run)
    run.candidate_sides = CandidateSides(1 << 30)
    keep_candidates(run, goes_on=lambda: True)
    positions = sum(relation.arity for relation in run.schema)
    assert len(run.candidate_sides) == positions
    each = run.candidate_sides.nbytes // positions
    short = relatum.open(example_run)
    short.candidate_sides = CandidateSides(2 * each)
    keep_candidates(short, goes_on=lambda: True)
    assert len(short.candidate_sides) == 2
    largest = max(short.schema, key=lambda relation: short.table(relation.name).columns.shape[1])
    kept = short.candidate_sides.side((short.schema.id(largest.name), 0), lambda: None)
    assert kept is not None
    none = relatum.open(example_run)
    keep_candidates(none, goes_on=lambda: False)
    assert not len(none.candidate_sides)
