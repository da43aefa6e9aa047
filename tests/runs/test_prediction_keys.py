"""No proposal contradicts a key: the database itself takes each of them, as a new row or into a gap."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from relatum import Run

Proposals = Iterable[tuple[str, ...]]


@pytest.fixture
def shop(gappy_shop: Path) -> Iterator[sqlite3.Connection]:
    """Yield the shop with its primary, unique and composite keys, in memory."""
    with closing(sqlite3.connect(gappy_shop)) as file, closing(sqlite3.connect(":memory:")) as copy:
        file.backup(copy)
        yield copy


def refused(
    shop: sqlite3.Connection, tables: Run, relation: str, proposed: Proposals, together: bool = False
) -> list[object]:
    """Return the proposals that the database does not take: each by itself, or all of them together."""
    table, dot, column = relation.partition(".")
    roles = tables.schema[relation].roles or ()
    found: list[object] = []
    for fact in proposed:
        values = [name.partition(":")[2] for name in fact]
        shop.execute("SAVEPOINT one")
        try:
            if dot:
                sql = f"UPDATE {table} SET {column} = ? WHERE {roles[0]} = ? AND {column} IS NULL"  # noqa: S608
                if shop.execute(sql, values[::-1]).rowcount != 1:
                    found.append(fact)
            else:
                marks = ", ".join("?" * len(roles))
                shop.execute(f"INSERT INTO {table} ({', '.join(roles)}) VALUES ({marks})", values)  # noqa: S608
        except sqlite3.IntegrityError as error:
            found.append((fact, str(error)))
            together = False
        if not together:
            shop.execute("ROLLBACK TO one")
        shop.execute("RELEASE one")
    return found


def test_the_database_refuses_what_contradicts_its_keys(tables: Run, shop: sqlite3.Connection) -> None:
    taken = {name: next(iter(tables.table(name))) for name in ("stock", "customers.country", "items.shelf_code")}
    for name, fact in taken.items():
        assert len(refused(shop, tables, name, [fact])) == 1
    shop.execute("INSERT INTO items (id) VALUES (999)")
    used = ("items:999", taken["items.shelf_code"][1])
    assert "UNIQUE" in str(refused(shop, tables, "items.shelf_code", [used]))


@pytest.mark.parametrize("exact", [False, True])
def test_predictions_are_taken_together(tables: Run, shop: sqlite3.Connection, exact: bool) -> None:
    looked_at = 0
    for relation in tables.schema:
        if exact and relation.arity > 3:
            continue  # too many facts that there could be
        proposed = [one.entities for one in tables.predict(relation.name, top=300, exact=exact)]
        assert refused(shop, tables, relation.name, proposed, together=True) == []
        looked_at += len(proposed)
    assert looked_at > 300


def test_answers_for_each_of_all_entities_are_taken(tables: Run, shop: sqlite3.Connection) -> None:
    looked_at = 0
    for relation in tables.schema:
        for position in range(relation.arity):
            words = [None if one == position else "*" for one in range(relation.arity)]
            found = tables.complete_each(relation.name, *words, k=5, new_only=True, all_entities=relation.arity == 2)
            proposed = []
            for one in found:
                given = iter(one.entities[:-1])
                proposed.append(tuple(one.entities[-1] if at == position else next(given) for at in range(relation.arity)))
            assert refused(shop, tables, relation.name, proposed) == []
            looked_at += len(proposed)
    assert looked_at > 1000


def test_new_answers_to_a_question_are_taken(tables: Run, shop: sqlite3.Connection) -> None:
    looked_at = 0
    for relation in tables.schema:
        facts = sorted(tables.table(relation.name))
        for fact in facts[:: max(1, len(facts) // 3)]:
            for free in (free for size in (1, 2) for free in itertools.combinations(range(relation.arity), size)):
                given = [None if position in free else name for position, name in enumerate(fact)]
                proposed = []
                for answer in tables.complete(relation.name, *given, k=10, new_only=True):
                    filled = list(fact)
                    for position, name in zip(free, answer.entities, strict=True):
                        filled[position] = name
                    proposed.append(tuple(filled))
                assert not {*proposed} & {*facts}
                assert refused(shop, tables, relation.name, proposed) == []
                looked_at += len(proposed)
    assert looked_at > 200


def test_the_shop_has_keys_of_one_and_of_several_columns(tables: Run) -> None:
    keys = {tables.keys_of(relation.name) for relation in tables.schema}
    assert keys >= {(), ((0,),), ((0,), (1,)), ((0, 1),), ((0, 1), (0, 2))}


def test_a_row_whose_cell_is_empty_is_still_proposed(tables: Run) -> None:
    proposed = {one.entities[0] for one in tables.predict("customers.country", exact=True)}
    assert {"customers:3", "customers:10"} <= proposed
