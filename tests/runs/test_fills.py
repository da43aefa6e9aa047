"""Filled cells go into a database and out of it again, from Python as from the command line."""

from __future__ import annotations

from pathlib import Path

import relatum
from relatum import Run
from relatum.runs.fills import Fills
from support.mistakes import mistake
from support.shop_with_gaps import COUNTRIES, add_customers, content_of


def test_a_database_is_filled_where_it_is_sure_and_emptied_again(tables: Run, today: Path) -> None:
    add_customers(today)
    before = content_of(today)
    found = tables.fill(today)
    applied = found.apply(today)
    assert applied.batch == 1
    assert applied.applied > 0
    assert applied.filled == applied.missing == applied.ambiguous == 0
    assert applied.applied + applied.without_key + applied.groups + applied.unsure == len(found)
    assert applied.unsure == sum(one.probability < 0.9 for one in found) > 0
    assert all(row[3] == COUNTRIES[str(row[2])] for row in content_of(today)["customers"])
    undone = relatum.undo_fill(today)
    assert (undone.batch, undone.restored, undone.changed, undone.missing) == (1, applied.applied, 0, 0)
    assert content_of(today) == before
    with mistake("already-undone"):
        relatum.undo_fill(today)


def test_a_part_is_applied_and_every_time_is_listed_with_its_run(tables: Run, today: Path) -> None:
    before = content_of(today)
    found = tables.fill(columns=["country"])
    first = found[:2].apply(today, min_probability=0)
    second = found.apply(today, min_probability=0)
    assert (first.applied, second.applied, second.filled) == (2, len(found) - 2, 2)
    listed = relatum.list_fills(today)
    assert [(one.batch, one.source, one.tables, one.cells) for one in listed] == [
        (1, str(tables.folder), ("customers",), 2),
        (2, str(tables.folder), ("customers",), len(found) - 2),
    ]
    assert relatum.undo_fill(today, 1).restored == 2
    assert [one.undone for one in relatum.list_fills(today)] == [2, 0]
    assert relatum.list_fills(today).to_dicts()[0]["tables"] == "customers"
    assert relatum.undo_fill(today).batch == 2
    assert content_of(today) == before


def test_nothing_is_written_where_there_is_nothing_or_a_mistake(tables: Run, today: Path) -> None:
    before = today.read_bytes()
    assert Fills([]).apply(today).batch is None
    assert len(relatum.list_fills(today)) == 0
    with mistake("setting-out-of-range"):
        tables.fill(columns=["country"]).apply(today, min_probability=2)
    with mistake("no-change-log"):
        relatum.undo_fill(today)
    assert today.read_bytes() == before
