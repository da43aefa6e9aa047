"""Known facts and cells of tables that a run finds doubtful, with what it would expect instead, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from relatum.algebra.lexer import as_written, write_arguments
from relatum.arrays import Bool, Int64
from relatum.data.labels import Labels
from relatum.data.row_store import RowStore, TableColumn
from relatum.errors import DataError
from relatum.evidence.doubt import JudgedRelation, expected, judge
from relatum.evidence.reasons import Reason, reasons
from relatum.imputation.laws import Laws
from relatum.imputation.models import ColumnModels
from relatum.progress import progress
from relatum.records import Records
from relatum.runs.filling import identity_of, models_of, reason_text, rows_of, value_and_interval, wanted_columns
from relatum.runs.fills import row_text
from relatum.runs.reasons import with_values
from relatum.runs.shown_values import GroupedColumn, beside
from relatum.runs.trained import Trained
from relatum.settings import whole_number
from relatum.tables.table import Value

_REASONS, _RULES = 3, 12  # rules that are shown for an entity, and that are looked through
_ALL_PARTS = 2
_LEAST = 1e-12  # a probability at which a value is as good as impossible

DOUBT_COLUMNS: dict[str, type] = {
    **dict.fromkeys(("fact", "role", "stored", "expected"), str),
    **dict.fromkeys(("doubt", "evidence", "embedding"), float),
    "source": str,
}


@dataclass(frozen=True)
class DoubtfulFact:
    """A known fact one of whose entities seems to be wrong.

    Attributes:
        relation: its name.
        entities: in the order of the positions.
        position: the position that is most likely wrong.
        role: how it is called.
        expected: what is expected there instead, or one in the middle of what is; None if nothing else is known there.
        doubt: the log-odds that what stands there does so by accident; comparable among all facts.
        evidence: how much likelier an accident is than what other facts speak for, in nats.
        embedding: what the embedding adds to that.
        source: the split part that holds the fact.
        reasons: what speaks for the expected entity.
        support: what speaks for the stored one, the fact itself left out.
        interval: the least and the greatest number or date that is expected; None of what is no such value.
    """

    relation: str
    entities: tuple[str, ...]
    position: int
    role: str
    expected: str | None
    doubt: float
    evidence: float
    embedding: float
    source: str
    reasons: tuple[Reason, ...]
    support: tuple[Reason, ...]
    interval: str | None = None

    def __str__(self) -> str:
        return as_written(self.relation) + write_arguments(self.entities)

    @property
    def stored(self) -> str:
        """What stands at the position."""
        return self.entities[self.position]

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name, and what speaks for either entity."""
        plain = {"fact": str(self), **{name: getattr(self, name) for name in DOUBT_COLUMNS if name != "fact"}}
        own = {"relation": self.relation, "entities": list(self.entities), "position": self.position}
        own |= {} if self.interval is None else {"interval": self.interval}
        words = {name: [one.to_dict() for one in getattr(self, name)] for name in ("reasons", "support")}
        return {**plain, **own, **words}

    def to_row(self) -> dict[str, Any]:
        """Return the columns by name."""
        return {name: value for name, value in self.to_dict().items() if name in DOUBT_COLUMNS}


def doubtful_facts(run: Trained, relations: Sequence[str], k: int = 20) -> list[DoubtfulFact]:
    """Return the k most doubtful of the known facts of relations, the most doubtful first.

    There are fewer where nothing speaks against more of them. A run that was trained without evidence is searched for rules.
    """
    k, ids = whole_number("k", k), []
    for name in relations:
        if name in run.definitions:
            raise DataError(
                "defined-relation",
                "is a defined relation",
                place=name,
                remedy="doubt the facts of those that it is defined by",
            )
        ids.append(run.model.schema.id(run.model.schema[name].name))
    evidence, (_, *held_out) = run.rules_of_facts, run.split.parts.values()
    cells = sum(run.table(run.model.schema[one].name).columns.size for one in ids)
    with progress("judging facts", cells) as advance:
        doubts = judge(run.model, run.tables, evidence, held_out, run.known, ids, advance)
    return [_described(run, *one) for one in doubts.most_doubtful(k)]


def _described(run: Trained, judged: JudgedRelation, fact: int) -> DoubtfulFact:
    evidence, schema = run.rules_of_facts, run.model.schema[judged.relation]
    stored = judged.facts[:, fact]
    position, instead = expected(evidence, judged, fact, run.known)
    other = stored.copy()
    other[position] = instead
    held = run.shown_values.fact(schema.name, stored.tolist(), known=True)
    better = None if instead < 0 else run.shown_values.fact(schema.name, other.tolist(), known=False)
    return DoubtfulFact(
        relation=schema.name,
        entities=held.names,
        position=position,
        role=schema.roles[position] if schema.roles else f"position {position}",
        expected=None if better is None else better.names[position],
        doubt=float(judged.doubt[position, fact]),
        evidence=float(judged.evidence[position, fact]),
        embedding=float(judged.embedding[position, fact]),
        source=list(run.split.parts)[judged.part[fact]],
        reasons=_distinct(run, reasons(evidence, judged.relation, other, _RULES, position)) if instead >= 0 else (),
        support=_distinct(run, reasons(evidence, judged.relation, stored, _RULES, position)),
        interval=better.intervals[position] if better is not None and better.intervals else None,
    )


def _distinct(run: Trained, found: list[Reason]) -> tuple[Reason, ...]:
    """Return the best reasons, of those that rest on the same facts only the first."""
    by_facts: dict[tuple[tuple[str, ...], int], Reason] = {}
    for one in found:
        by_facts.setdefault((one.facts, one.more), with_values(run, one))
    return tuple(by_facts.values())[:_REASONS]


@dataclass(frozen=True, slots=True)
class DoubtfulCell:
    """A cell whose value is unlikely by the rest of its row and by other rows.

    Attributes:
        table: its table.
        row: the row, by its key; by its number from 0 as `row` where it has none.
        column: its column.
        stored: what it holds, as text.
        expected: what is most probable there instead, as text; a number or a date stands for those between the two that
            follow it in brackets.
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
        return {**asdict(self), "row": row_text(self.row)}


_CELL_COLUMNS = {
    **dict.fromkeys(("table", "row", "column", "stored", "expected"), str),
    **{"probability": float, "doubt": float, "reason": str},
}


def doubtful_cells(
    run: Trained, *, tables: Sequence[str] = (), columns: Sequence[str] = (), k: int = 20
) -> Records[DoubtfulCell]:
    """Return the k most doubtful cells of the imported tables, the most doubtful first.

    Each is judged as if it were empty, by the counts of all other cells. The embedding has no say: it has learned what the
    cells hold, right or wrong. What follows from the rest of its row by a law of all rows is not doubted. Arguments are as
    of `Run.doubt_cells`.
    """
    models, rows, k = models_of(run), rows_of(run), whole_number("k", k)
    wanted, labels = wanted_columns(rows, models, tables, columns), Labels(rows)
    laws = {name: Laws(rows.values[name]) for name, _ in wanted if name in rows.values}
    found: list[DoubtfulCell] = []
    with progress("judging cells", len(wanted)) as advance:
        for table, column in wanted:
            found += _of_column(rows, models, labels, laws.get(table), table, column, k)
            advance(1)
    return Records(sorted(found, key=lambda one: -one.doubt)[:k], _CELL_COLUMNS, "doubtful cells")


def _of_column(
    rows: RowStore, models: ColumnModels, labels: Labels, laws: Laws | None, table: str, column: str, k: int
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
    doubts[_is_expected(rows, schema, table, there, imputed.best)] = 0.0
    if laws is not None:
        doubts[laws.follow(column)[there]] = 0.0
    chosen = np.argsort(-doubts, kind="stable")[:k]
    chosen = chosen[(doubts[chosen] > 0) & (imputed.best[chosen] >= 0)]
    again = models.answer(table, column, there[chosen], most_part=_ALL_PARTS, reasons=1) if len(chosen) else None

    def shown(name: str) -> str:
        value, interval = value_and_interval(name, schema)
        label = labels.of(name)
        if interval is not None:
            return beside(str(value), None if interval[0] == interval[1] else " to ".join(interval))
        return str(value) if label is None else f"{label} ({value})"

    kept = rows.values.get(table)
    values = kept[column] if schema.bins is not None and kept is not None and column in kept else None

    for number, index in enumerate(chosen.tolist()):
        supports = () if again is None else again.supports[number]
        yield DoubtfulCell(
            table=table,
            row=identity_of(rows, held, int(there[index]))[0],
            column=column,
            stored=(None if values is None else values.shown(there[[index]])[0]) or shown(rows.names[int(stored[index])]),
            expected=shown(rows.names[int(imputed.best[index])]),
            probability=float(imputed.probabilities[index, 0]),
            doubt=float(doubts[index]),
            reason=reason_text(rows, labels, supports),
        )


def _is_expected(rows: RowStore, column: TableColumn, table: str, there: Int64, best: Int64) -> Bool:
    """Return in which rows of a table the very value is stored that is expected, or one in the interval that is."""
    found, values = np.zeros(len(there), np.bool_), rows.values.get(table)
    if column.bins is None or values is None or column.name not in values:
        return found
    grouped = GroupedColumn(column, column.bins, values[column.name], rows.names)
    for group in np.unique(best[best >= 0]).tolist():
        chosen = np.flatnonzero(best == group)
        found[chosen] = grouped.holds(rows.names[group], there[chosen])
    return found
