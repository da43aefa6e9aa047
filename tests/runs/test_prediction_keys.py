"""No proposal contradicts a key: the database itself takes each of them, as a new row or into a gap."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from relatum import Run

Proposals = Iterable[tuple[str, ...]]


@pytest.fixture(scope="module")
def run(gappy_run: Path) -> Run:
    return Run.load(gappy_run)


@pytest.fixture
def shop(gappy_shop: Path) -> Iterator[sqlite3.Connection]:
    """Yield the shop with its primary, unique and composite keys, in memory."""
    with closing(sqlite3.connect(gappy_shop)) as file, closing(sqlite3.connect(":memory:")) as copy:
        file.backup(copy)
        yield copy


def refused(shop: sqlite3.Connection, run: Run, relation: str, proposed: Proposals, together: bool = False) -> list[object]:
    """Return the proposals that the database does not take: each by itself, or all of them together."""
    table, dot, column = relation.partition(".")
    roles = run.schema[relation].roles or ()
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


def test_the_database_refuses_what_contradicts_its_keys(run: Run, shop: sqlite3.Connection) -> None:
    taken = {name: next(iter(run.table(name))) for name in ("stock", "customers.country", "items.shelf_code")}
    for name, fact in taken.items():
        assert len(refused(shop, run, name, [fact])) == 1
    shop.execute("INSERT INTO items (id) VALUES (999)")
    used = ("items:999", taken["items.shelf_code"][1])
    assert "UNIQUE" in str(refused(shop, run, "items.shelf_code", [used]))


@pytest.mark.parametrize("exact", [False, True])
def test_predictions_are_taken_together(run: Run, shop: sqlite3.Connection, exact: bool) -> None:
    looked_at = 0
    for relation in run.schema:
        if exact and relation.arity > 3:
            continue  # too many facts that there could be
        proposed = [one.entities for one in run.predict(relation.name, top=300, exact=exact)]
        assert refused(shop, run, relation.name, proposed, together=True) == []
        looked_at += len(proposed)
    assert looked_at > 300


def test_answers_for_each_of_all_entities_are_taken(run: Run, shop: sqlite3.Connection) -> None:
    looked_at = 0
    for relation in run.schema:
        for position in range(relation.arity):
            words = [None if one == position else "*" for one in range(relation.arity)]
            found = run.complete_each(relation.name, *words, k=5, new_only=True, all_entities=relation.arity == 2)
            proposed = []
            for one in found:
                given = iter(one.entities[:-1])
                proposed.append(tuple(one.entities[-1] if at == position else next(given) for at in range(relation.arity)))
            assert refused(shop, run, relation.name, proposed) == []
            looked_at += len(proposed)
    assert looked_at > 1000


def test_new_answers_to_a_question_are_taken(run: Run, shop: sqlite3.Connection) -> None:
    looked_at = 0
    for relation in run.schema:
        facts = sorted(run.table(relation.name))
        for fact in facts[:: max(1, len(facts) // 3)]:
            for position in range(relation.arity):
                given = [None if one == position else name for one, name in enumerate(fact)]
                answers = run.complete(relation.name, *given, k=10, new_only=True)
                proposed = [(*fact[:position], one.entity, *fact[position + 1 :]) for one in answers]
                assert refused(shop, run, relation.name, proposed) == []
                looked_at += len(proposed)
    assert looked_at > 200
