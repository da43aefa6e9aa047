"""Proposals of a run that contradict a declared key of its database, counted by looking at the database itself.

    python experiments/key_proposals.py RUN DATABASE [--top 300] [-k 3] [--out results.json]

DATABASE is the SQLite file that RUN was trained on. Proposals are the best new facts of each relation (`predict`), answers
for each of all entities at each position (`complete --for-each --all`; of relations over more than two columns for each
combination that is known), and new answers to some questions (`complete`). One contradicts a primary or unique key if a row
has the same key and differs from it, or has all of it already; a row with a gap that it fills does not. Of the best new
facts no two may share a key either.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import relatum
from relatum import Run

Fact = tuple[str, ...]


class DeclaredKeys:
    """The declared keys of a relation's table that lie within its columns, and the rows by each of them."""

    def __init__(self, connection: sqlite3.Connection, run: Run, relation: str) -> None:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = max((one for one in tables if relation == one or relation.startswith(f"{one}.")), key=len)
        self.roles = run.schema[relation].roles or ()
        listed = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
        keys = [tuple(row[1] for row in sorted(listed, key=lambda row: row[5]) if row[5])]
        for _, index, is_unique, _, is_partial in connection.execute(f'PRAGMA index_list("{table}")').fetchall():
            if is_unique and not is_partial:
                keys.append(tuple(row[2] for row in connection.execute(f'PRAGMA index_info("{index}")')))
        rows = None if run.split.rows is None else run.split.rows[table].schema
        self._grouped = [rows is not None and rows.has(one) and rows.column(one).bins is not None for one in self.roles]
        within = {tuple(sorted(map(self.roles.index, key))) for key in keys if key and set(key) <= set(self.roles)}
        self.keys = sorted(key for key in within if not any(self._grouped[at] for at in key))
        chosen = ", ".join(f'CAST("{one}" AS TEXT)' for one in self.roles)
        self._rows: dict[tuple[tuple[int, ...], tuple[str | None, ...]], list[tuple[str | None, ...]]] = {}
        for row in connection.execute(f'SELECT {chosen} FROM "{table}"'):  # noqa: S608
            for key in self.keys:
                self._rows.setdefault((key, tuple(row[at] for at in key)), []).append(row)

    def contradicts(self, fact: Fact) -> bool:
        """Return whether a row has a key of the fact and does not leave room for it."""
        values = tuple(name.partition(":")[2] for name in fact)
        return any(
            not self._has_room(row, values)
            for key in self.keys
            for row in self._rows.get((key, tuple(values[at] for at in key)), ())
        )

    def _has_room(self, row: tuple[str | None, ...], values: Fact) -> bool:
        return None in row and all(
            cell is None or cell == value for cell, value, group in zip(row, values, self._grouped, strict=True) if not group
        )

    def repeats(self, facts: list[Fact]) -> int:
        """Return how many of the facts share a key with one before."""
        return sum(len(facts) - len({tuple(fact[at] for at in key) for fact in facts}) for key in self.keys)


def for_each(run: Run, relation: str, position: int, k: int) -> list[Fact]:
    """Return new answers at a position for each of all entities elsewhere."""
    arity = run.schema[relation].arity
    words = [None if at == position else "*" for at in range(arity)]
    found = []
    for one in run.complete_each(relation, *words, k=k, new_only=True, all_entities=arity == 2):
        given = iter(one.entities[:-1])
        found.append(tuple(one.entities[-1] if at == position else next(given) for at in range(arity)))
    return found


def answers(run: Run, relation: str, k: int) -> list[Fact]:
    """Return new answers to questions around four known facts."""
    facts, found = sorted(run.table(relation)), []
    for fact in facts[:: max(1, len(facts) // 4)][:4]:
        for position in range(len(fact)):
            given = [None if at == position else name for at, name in enumerate(fact)]
            new = run.complete(relation, *given, k=k, new_only=True)
            found += [(*fact[:position], one.entity, *fact[position + 1 :]) for one in new]
    return found


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("database", type=Path)
    parser.add_argument("--top", type=int, default=300)
    parser.add_argument("-k", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    run, looked_at, wrong = relatum.open(given.run), Counter[str](), Counter[str]()
    with closing(sqlite3.connect(given.database)) as connection:
        for relation in run.schema:
            declared = DeclaredKeys(connection, run, relation.name)
            if not declared.keys:
                continue
            best = [one.entities for one in run.predict(relation.name, top=given.top)]
            ways = {"predict": best, "complete": answers(run, relation.name, given.k)}
            ways["for each"] = [one for at in range(relation.arity) for one in for_each(run, relation.name, at, given.k)]
            for way, proposed in ways.items():
                looked_at[way] += len(proposed)
                wrong[way] += sum(map(declared.contradicts, proposed))
            wrong["predict"] += declared.repeats(best)
    result = {"run": given.run, "proposals": dict(looked_at), "contradict a key": dict(wrong)}
    print(json.dumps(result))
    if given.out is not None:
        given.out.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
