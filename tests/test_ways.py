"""The page on architecture says how many files each way of a fact passes, as counted on the code as it is."""

from __future__ import annotations

from benchmarks import ways


def test_the_table_of_ways_is_as_counted() -> None:
    marked = ways.MARKED.search(ways.PAGE.read_text(encoding="utf-8"))
    assert marked is not None
    counted = ways.table(ways.run(lambda line: None))
    assert marked[0] == f"{marked[1]}{counted}{marked[2]}", "run: python -m benchmarks.ways --write"
