"""Changes of random tables without a key do what a plain loop over rows does, and undo takes all of it back."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from relatum.tables.changes import Applied, Change, apply_changes, undo_changes
from relatum.tables.table import Value
from support.shop_to_fill import Filled

COLUMNS = ("a", "b", "c")
Row = tuple[Value, ...]


def expected(rows: list[Row], changes: list[Change]) -> tuple[list[Row], Applied]:
    """Return the rows after changes, and the counts, by looking at every row for every change."""
    keys = [tuple(change.row[column] for column in COLUMNS) for change in changes]
    outcome: dict[int, str] = {}
    while True:
        after = [list(row) for row in rows]
        written: dict[int, list[int]] = {}
        for number, (key, change) in enumerate(zip(keys, changes, strict=True)):
            found = [index for index, row in enumerate(rows) if row == key]
            position = COLUMNS.index(change.column)
            same = [other for other in range(len(changes)) if (keys[other], changes[other].column) == (key, change.column)]
            if outcome.get(number) == "clash":
                continue
            if len(same) > 1 or len(found) > 1:
                outcome[number] = "ambiguous"
            elif not found:
                outcome[number] = "missing"
            elif rows[found[0]][position] is not None:
                outcome[number] = "filled"
            else:
                outcome[number] = "applied"
                after[found[0]][position] = change.value
                written.setdefault(found[0], []).append(number)
        clashing = [number for index, numbers in written.items() if after.count(after[index]) > 1 for number in numbers]
        if not clashing:
            break
        outcome.update(dict.fromkeys(clashing, "clash"))
    counts = Counter(outcome.values())
    ambiguous = counts["ambiguous"] + counts["clash"]
    applied = Applied(1 if counts["applied"] else None, counts["applied"], counts["filled"], counts["missing"], ambiguous)
    return [tuple(row) for row in after], applied


def test_random_changes_do_what_a_plain_loop_does(shop_to_fill: Filled, count: Callable[[int, int], int]) -> None:
    rng, seen = random.Random(3), Counter[str]()
    values: tuple[tuple[Value, ...], ...] = (("x", "y", None), (1, 2, None), (0.1, 2.5, None))
    for _ in range(count(12 if shop_to_fill.engine == "sqlite" else 5, 200)):
        rows: list[Row] = [tuple(map(rng.choice, values)) for _ in range(rng.randint(1, 12))]
        listed = ", ".join(f"({', '.join('NULL' if each is None else repr(each) for each in row)})" for row in rows)
        shop_to_fill.run(
            "DROP TABLE IF EXISTS t",
            "DROP TABLE IF EXISTS relatum_changes",
            "CREATE TABLE t (a TEXT, b INTEGER, c DOUBLE PRECISION)",
            f"INSERT INTO t VALUES {listed}",  # noqa: S608
        )
        before = shop_to_fill.content("t")
        changes = []
        for row in sorted({*rng.sample(rows, rng.randint(1, len(rows))), tuple(map(rng.choice, values))}, key=repr):
            for position in rng.sample(range(3), rng.randint(1, 3)):
                changes.append(
                    Change(
                        "t", dict(zip(COLUMNS, row, strict=True)), COLUMNS[position], rng.choice(values[position][:2]), 0.5
                    )
                )
        changes += rng.sample(changes, rng.random() < 0.2)
        after, applied = expected(rows, changes)
        assert apply_changes(shop_to_fill.to, changes) == applied
        assert Counter(shop_to_fill.ask("SELECT a, b, c FROM t")) == Counter(after)
        seen.update(applied=applied.applied, filled=applied.filled, missing=applied.missing, ambiguous=applied.ambiguous)
        if applied.applied:
            assert undo_changes(shop_to_fill.to).restored == applied.applied
        assert shop_to_fill.content("t") == before
    assert min(seen.values()) > 0
