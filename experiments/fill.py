"""Cells hidden at random in a database, and filled: relatum beside what anybody could count, and a random forest.

    python experiments/fill.py DATABASE [--seed 0] [--minutes 3] [--out results.json]

A tenth of the cells of every categorical column (keys apart) is set to NULL in a copy of a SQLite database, all columns at
once. The copy is imported, a model trained and the gaps filled, each with the defaults; nothing sees the hidden values. The
simple ways count the same rows. The forest, scikit-learn's with its defaults, is given the other columns as numbers, columns
without repeats apart; a column of more values than it can take in a minute, or than it has rows for, has none.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import relatum
from relatum.files import sha256_of
from relatum.imputation.baselines import accuracy, baseline_answers, calibration_error
from relatum.runs.directory import versions

_SHARE = 0.1
_FOREST_ROWS, _FOREST_VALUES = 20_000, 300
_LEAST = 20  # hidden cells of a column that is judged


def hide(source: Path, target: Path, columns: list[tuple[str, str]], seed: int) -> dict[tuple[str, str], np.ndarray]:
    """Copy a database, empty a tenth of the cells of each column, and return the numbers of their rows."""
    shutil.copyfile(source, target)
    rng, hidden = np.random.default_rng(seed), {}
    with closing(sqlite3.connect(target)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for table, column in columns:
            name = f'"{table}"'
            rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {name} ORDER BY rowid")]  # noqa: S608
            there = [row[0] for row in connection.execute(f'SELECT rowid FROM {name} WHERE "{column}" IS NOT NULL')]  # noqa: S608
            chosen = np.sort(rng.choice(there, round(_SHARE * len(there)), replace=False))
            connection.executemany(
                f'UPDATE {name} SET "{column}" = NULL WHERE rowid = ?',  # noqa: S608
                [(int(one),) for one in chosen],
            )
            hidden[table, column] = np.searchsorted(rows, chosen)
    return hidden


def forest(cells: np.ndarray, index: int, hidden: np.ndarray, seed: int) -> np.ndarray | None:
    """Return what a random forest puts into hidden cells; None where there are too many values."""
    from sklearn.ensemble import RandomForestClassifier

    known = np.flatnonzero(cells[index] >= 0)
    others = [
        number for number in range(len(cells)) if number != index and len(np.unique(cells[number])) < 0.9 * cells.shape[1]
    ]
    if not others or len(np.unique(cells[index, known])) > _FOREST_VALUES:
        return None
    rng = np.random.default_rng(seed)
    train = known if len(known) <= _FOREST_ROWS else rng.choice(known, _FOREST_ROWS, replace=False)
    model = RandomForestClassifier(random_state=seed, n_jobs=1)
    model.fit(cells[others][:, train].T, cells[index, train])
    return np.asarray(model.predict(cells[others][:, hidden].T))


def measure(source: Path, seed: int, minutes: float) -> list[dict[str, Any]]:
    """Return how each column fares."""
    whole = relatum.read(source)
    truth = whole.split.rows
    columns = [
        (schema.name, one.name)
        for schema in truth.schemas
        for one in schema.columns
        if one.bins is None and one.part_of is None and not any(one.name in key for key in schema.keys)
    ]
    with tempfile.TemporaryDirectory() as folder:
        holed = Path(folder) / source.name
        hidden = hide(source, holed, columns, seed)
        run = relatum.fit(relatum.read(holed), minutes=minutes, seed=seed)
        rows, found = run.split.rows, []
        for (table, column), numbers in hidden.items():
            if table not in rows.tables or not rows[table].schema.has(column) or len(numbers) < _LEAST:
                continue
            index = rows[table].schema.index(column)
            right = np.array([truth.names[int(one)] for one in truth[table].column(column)[numbers]])
            right = np.array([rows.names.id(one) if one in rows.names else -3 for one in right])
            imputed = run.columns.answer(table, column, numbers, most_part=2, scores=run.cell_scores)
            simple = baseline_answers(rows, table, column, numbers, most_part=2)
            trees = forest(rows[table].cells, index, numbers, seed)
            likely = imputed.probabilities[:, 0]
            found.append(
                {
                    "column": f"{table}.{column}",
                    "cells": len(numbers),
                    "relatum": accuracy(imputed.best, right),
                    **{name: accuracy(answers, right) for name, answers in simple.items()},
                    "random forest": None if trees is None else accuracy(trees, right),
                    "says": float(likely.mean()),
                    "calibration error": calibration_error(likely, imputed.best == right),
                    "sums": float(np.abs(imputed.probabilities.sum(1) + imputed.others - 1).max()),
                }
            )
    return found


def main() -> None:
    """Print a table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = measure(given.database, given.seed, given.minutes)
    ways = ("most frequent", "counting", "naive Bayes", "best single column")
    print(f"{'column':34} {'cells':>6} relatum  frequent counting  bayes    one      forest   says     error")
    for one in found:
        values = [one["relatum"], *(one[way] for way in ways), one["random forest"], one["says"], one["calibration error"]]
        shown = " ".join("   -    " if value is None else f"{value:8.4f}" for value in values)
        print(f"{one['column']:34} {one['cells']:6} {shown}")
    gains = np.array([one["relatum"] - max(one[way] for way in ways) for one in found])
    errors, cells = (np.array([one[name] for one in found]) for name in ("calibration error", "cells"))
    print(
        f"{len(found)} columns: at least the best of four on {np.mean(gains >= 0):.2f}, within .02 on"
        f" {np.mean(gains >= -0.02):.2f}, worst {gains.min():+.4f}, mean {gains.mean():+.4f}; calibration error"
        f" {np.average(errors, weights=cells):.4f} by cells"
    )
    if given.out is not None:
        summary = {
            "database": given.database.stem,
            "sha256": sha256_of(given.database),
            "seed": given.seed,
            "minutes": given.minutes,
            "versions": versions(),
            "columns": found,
        }
        given.out.write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
