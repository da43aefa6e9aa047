"""The quality of columns is counted as anybody would count it, and stands beside the obvious."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum import Run
from relatum.runs.column_quality import ColumnQuality
from relatum.runs.filling import rows_of
from support.mistakes import mistake
from support.small_tables import csv_of


@pytest.mark.parametrize(("part", "number"), [("valid", 1), ("test", 2)])
def test_cells_and_accuracy_are_those_of_the_held_out_cells(tables: Run, part: str, number: int) -> None:
    found, rows, models = tables.evaluate_columns(part), rows_of(tables), tables.columns
    assert models is not None
    assert {(one.table, one.column) for one in found} <= set(models.models)
    for one in found:
        table = rows[one.table]
        index = table.schema.index(one.column)
        there = [n for n in range(len(table)) if table.parts[index, n] == number and table.cells[index, n] >= 0]
        best = models.answer(one.table, one.column, np.array(there), scores=tables.cell_scores).best
        right = sum(int(best[at]) == int(table.cells[index, n]) for at, n in enumerate(there))
        assert (one.cells, one.accuracy) == (len(there), pytest.approx(right / len(there)))
        train = [int(cell) for cell, at in zip(table.cells[index], table.parts[index], strict=True) if at == 0 and cell >= 0]
        counts = {value: train.count(value) for value in set(train)}
        frequent = {value for value, count in counts.items() if count == max(counts.values())}
        hits = [sum(int(table.cells[index, n]) == value for n in there) / len(there) for value in frequent]
        assert any(one.most_frequent == pytest.approx(hit) for hit in hits)
        for share in (one.accuracy, one.macro_f1, one.probability, one.counting, one.naive_bayes, one.best_single_column):
            assert 0 <= share <= 1
        assert one.bins is (table.schema.column(one.column).bins is not None)


@pytest.mark.parametrize(
    ("cells", "accuracy", "verdict"),
    [(19, 0.9, "too few cells"), (20, 0.9, "better"), (20, 0.5, "equal"), (20, 0.515, "equal"), (20, 0.3, "worse")],
)
def test_the_verdict_is_beside_the_best_of_the_obvious(cells: int, accuracy: float, verdict: str) -> None:
    one = ColumnQuality("t", "c", cells, cells, accuracy, 0.5, 0.5, 0.1, 0.1, 0.5, 0.4, 0.2, False)
    assert (one.best_baseline, one.verdict) == (0.5, verdict)


def test_what_cannot_be_measured_is_refused(tables: Run, example_run: Path, tmp_path: Path) -> None:
    with mistake("unknown-name"):
        tables.evaluate_columns("train")
    with mistake("no-cells"):
        Run.load(example_run).evaluate_columns()
    csv_of(tmp_path / "sales.csv", ("buyer", "item"), [(n % 7, n % 5) for n in range(40)])
    whole = relatum.fit(relatum.read(tmp_path / "sales.csv", valid=0.0, test=0.0), dim=20, epochs=1, progress=False)
    with mistake("no-held-out-cells"):
        whole.evaluate_columns()
