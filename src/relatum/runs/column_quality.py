"""How well the cells of each column are filled, beside the obvious: what anybody could count in a minute."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from relatum.arrays import Int64
from relatum.data.row_store import HELD_OUT_PARTS, RowTable
from relatum.errors import DataError, UnknownNameError
from relatum.imputation.baselines import accuracy, baseline_answers, calibration_error, macro_f1
from relatum.progress import progress
from relatum.records import Records, columns_of
from relatum.runs.filling import models_of, rows_of
from relatum.runs.trained import Trained

_FEW = 20  # cells with which accuracies say little
_EQUAL = 0.02  # of accuracy, about as good


@dataclass(frozen=True, slots=True)
class ColumnQuality:
    """How often the held-out cells of a column are filled right.

    Attributes:
        table: its table.
        column: the column.
        cells: how many were held out.
        facts: in how many facts these are; fewer than cells where several rows share a fact, and are held out together.
        accuracy: how many of them are filled right, as a share.
        macro_f1: the F1 of each value, on average.
        probability: what the probabilities of the best values say, on average: the accuracy that they promise.
        calibration_error: how far they are off, on average over ten groups.
        most_frequent: the accuracy of the value that the column has most often.
        counting: of the largest sum of P(value | other cell).
        naive_bayes: of naive Bayes.
        best_single_column: of the best rule from one other column.
        bins: whether the values are groups of numbers or dates.
    """

    table: str
    column: str
    cells: int
    facts: int
    accuracy: float
    macro_f1: float
    probability: float
    calibration_error: float
    most_frequent: float
    counting: float
    naive_bayes: float
    best_single_column: float
    bins: bool

    @property
    def best_baseline(self) -> float:
        """The accuracy of the best of the obvious ways."""
        return max(self.most_frequent, self.counting, self.naive_bayes, self.best_single_column)

    @property
    def verdict(self) -> str:
        """Whether it is worth having beside the obvious."""
        if self.facts < _FEW:
            return "too few cells" if self.facts == self.cells else "too few facts"
        gain = self.accuracy - self.best_baseline
        return "better" if gain > _EQUAL else "worse" if gain < -_EQUAL else "equal"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, and the verdict."""
        return {**asdict(self), "verdict": self.verdict}


COLUMN_QUALITY_COLUMNS = {**columns_of(ColumnQuality), "verdict": str}


def _facts(held: RowTable, column: str, rows: Int64) -> int:
    """Return how many different facts the cells of a column in some rows are in; without a relation each is one."""
    schema, relation = held.schema, held.schema.column(column).relation
    if relation is None or relation != schema.relation:
        return len(rows)
    indices = [number for number, one in enumerate(schema.columns) if one.relation == relation]
    return int(np.unique(held.cells[indices][:, rows], axis=1).shape[1])


def column_quality(run: Trained, part: str = "test") -> Records[ColumnQuality]:
    """Return how well the held-out cells of each column are filled, by counts of the training cells and the embedding."""
    rows, models = rows_of(run), models_of(run)
    if part not in HELD_OUT_PARTS:
        raise UnknownNameError("part with held-out cells", part, HELD_OUT_PARTS)
    scores, found = run.cell_scores, []
    with progress("columns", len(models.models)) as advance:
        for table, column in models.models:
            held = rows[table]
            index = held.schema.index(column)
            there = np.flatnonzero((held.parts[index] == HELD_OUT_PARTS[part]) & (held.cells[index] >= 0))
            if len(there):
                truth = held.cells[index, there].astype(np.int64)
                imputed = models.answer(table, column, there, scores=scores)
                likely = imputed.probabilities[:, 0]
                simple = {
                    name.replace(" ", "_").lower(): accuracy(answers, truth)
                    for name, answers in baseline_answers(rows, table, column, there).items()
                }
                found.append(
                    ColumnQuality(
                        table=table,
                        column=column,
                        cells=len(there),
                        facts=_facts(held, column, there),
                        accuracy=accuracy(imputed.best, truth),
                        macro_f1=macro_f1(imputed.best, truth),
                        probability=float(likely.mean()),
                        calibration_error=calibration_error(likely, imputed.best == truth),
                        bins=held.schema.column(column).bins is not None,
                        **simple,
                    )
                )
            advance(1)
    if not found:
        raise DataError(
            "no-held-out-cells", f"there are no {part} cells", place=run.name, remedy=f"import with --{part} 0.1"
        )
    return Records(found, COLUMN_QUALITY_COLUMNS, f"accuracy on {part} cells by column")
