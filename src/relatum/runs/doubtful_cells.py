"""Cells of tables that are likely wrong: what each holds, what the rest of its row and other rows make expected, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relatum.data.labels import Labels
from relatum.data.row_store import RowStore
from relatum.imputation.models import ColumnModels
from relatum.progress import progress
from relatum.records import Records
from relatum.runs.filling import identity_of, models_of, reason_text, rows_of, value_and_interval, wanted_columns
from relatum.runs.trained import Trained
from relatum.settings import whole_number
from relatum.tables.table import Value

_ALL_PARTS = 2
_LEAST = 1e-12  # a probability at which a value is as good as impossible


@dataclass(frozen=True, slots=True)
class DoubtfulCell:
    """A cell whose value is unlikely by the rest of its row and by other rows.

    Attributes:
        table: its table.
        row: the row, by its key; by its number from 0 as `row` where it has none.
        column: its column.
        stored: what it holds, as text; of a group of numbers or dates, the least and the greatest.
        expected: what is most probable there instead, as text.
        probability: that of what is expected.
        doubt: by how much what is expected is likelier than what is stored, as a logarithm; comparable among all cells.
        reason: what speaks for what is expected most, in words.
    """

    table: str
    row: Mapping[str, Value]
    column: str
    stored: str
    expected: str
    probability: float
    doubt: float
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, the row as text."""
        row = ", ".join(f"{name}={value}" for name, value in self.row.items())
        plain = {name: getattr(self, name) for name in ("column", "stored", "expected", "probability", "doubt", "reason")}
        return {"table": self.table, "row": row, **plain}


class DoubtfulCells(Records[DoubtfulCell]):
    """Doubtful cells, the most doubtful first."""

    def __init__(self, cells: Iterable[DoubtfulCell]) -> None:
        texts = dict.fromkeys(("table", "row", "column", "stored", "expected"), str)
        super().__init__(cells, {**texts, "probability": float, "doubt": float, "reason": str}, "doubtful cells")


def doubtful_cells(run: Trained, *, tables: Sequence[str] = (), columns: Sequence[str] = (), k: int = 20) -> DoubtfulCells:
    """Return the k most doubtful cells of the imported tables, the most doubtful first.

    Each is judged as if it were empty, by the counts of all other cells. The embedding has no say: it has learned what the
    cells hold, right or wrong.

    Args:
        run: a run on data that was imported from tables.
        tables: those whose cells are judged; by default all.
        columns: those that are judged, as `column` or `table.column`; by default all.
        k: how many at most; there are fewer where nothing else is likelier.
    """
    models, rows, k = models_of(run), rows_of(run), whole_number("k", k)
    wanted, labels = wanted_columns(rows, models, tables, columns), Labels(rows)
    found: list[DoubtfulCell] = []
    with progress("judging cells", len(wanted)) as advance:
        for table, column in wanted:
            found += _of_column(rows, models, labels, table, column, k)
            advance(1)
    return DoubtfulCells(sorted(found, key=lambda one: -one.doubt)[:k])


def _of_column(
    rows: RowStore, models: ColumnModels, labels: Labels, table: str, column: str, k: int
) -> Iterator[DoubtfulCell]:
    """Yield the k most doubtful cells of a column."""
    held = rows[table]
    schema, cells = held.schema.column(column), held.column(column)
    there = np.flatnonzero(cells >= 0)
    if not len(there):
        return
    stored = cells[there].astype(np.int64)
    imputed = models.answer(table, column, there, most_part=_ALL_PARTS)
    same = imputed.ids == stored[:, None]
    # A value that no other row has is one of all others, and as likely as these together at most.
    likely = np.where(same.any(1), np.where(same, imputed.probabilities, 0.0).sum(1), imputed.others)
    doubts = np.log(np.maximum(imputed.probabilities[:, 0], _LEAST)) - np.log(np.maximum(likely, _LEAST))
    chosen = np.argsort(-doubts, kind="stable")[:k]
    chosen = chosen[(doubts[chosen] > 0) & (imputed.best[chosen] >= 0)]
    again = models.answer(table, column, there[chosen], most_part=_ALL_PARTS, reasons=1) if len(chosen) else None

    def shown(name: str) -> str:
        value, interval = value_and_interval(name, schema)
        label = labels.of(name)
        return " to ".join(dict.fromkeys(interval)) if interval else str(value) if label is None else f"{label} ({value})"

    for number, index in enumerate(chosen.tolist()):
        supports = again.supports[number] if again is not None else ()
        yield DoubtfulCell(
            table=table,
            row=identity_of(rows, held, int(there[index]))[0],
            column=column,
            stored=shown(rows.names[int(stored[index])]),
            expected=shown(rows.names[int(imputed.best[index])]),
            probability=float(imputed.probabilities[index, 0]),
            doubt=float(doubts[index]),
            reason=reason_text(rows, labels, supports[0]) if supports else "the most frequent value",
        )
