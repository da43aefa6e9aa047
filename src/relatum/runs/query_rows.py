"""The rows that answer a query with joins: what stands in each column, how likely it is, and what that rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from relatum.algebra import Expression
from relatum.algebra.column_types import column_types_of
from relatum.algebra.lexer import as_written
from relatum.formatting import percent
from relatum.inference.answer_sets import Limit
from relatum.joins import answering as joins
from relatum.joins.answering import JoinAnswer
from relatum.records import Records
from relatum.runs.join_truths import CAP
from relatum.runs.trained import Trained


@dataclass(frozen=True, slots=True)
class WitnessFact:
    """A fact that a row rests on."""

    relation: str
    entities: tuple[str, ...]
    probability: float  # 1 if it is known, else how likely it is
    known: bool
    negated: bool = False  # whether the row rests on it being false
    shown: tuple[str, ...] = ()  # the entities as people read them
    is_condition: bool = False  # whether it is what the query demands of the cells of a row: `film: length > 120`

    def __str__(self) -> str:
        fact = (
            f"{self.relation} ({self.shown[0]})"
            if self.is_condition
            else f"{as_written(self.relation)}({', '.join(map(as_written, self.shown or self.entities))})"
        )
        how = "known" if self.known else percent(self.probability)
        return f"not {fact}, which is {how}" if self.negated else f"{fact}: {how}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as plain data."""
        names = ("relation", "probability", "known", "negated")
        return {**{name: getattr(self, name) for name in names}, "entities": list(self.entities)}


@dataclass(frozen=True, slots=True)
class QueryRow:
    """A row that answers a query.

    Attributes:
        values: what stands in each column, as in the table that it came from.
        entities: the entities that these are; None for a value that is none.
        probability: of all facts that the row rests on together.
        known: whether the row follows exactly from known facts.
        proven: whether there is surely no better row but those above it.
        witness: the facts that it rests on.
        columns: how the columns are called.
        shown: the values as people read them.
    """

    values: tuple[Any, ...]
    entities: tuple[str | None, ...]
    probability: float
    known: bool
    proven: bool
    witness: tuple[WitnessFact, ...]
    columns: tuple[str, ...]
    shown: tuple[str, ...] = ()

    def __getitem__(self, column: str | int) -> Any:
        """Return what stands in a column, by its name or number."""
        return self.values[column if isinstance(column, int) else self.columns.index(column)]

    def to_dict(self) -> dict[str, Any]:
        """Return the values by column, and how likely they are."""
        return {**dict(zip(self.columns, self.values, strict=True)), "probability": self.probability, "known": self.known}

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain data, witness included."""
        values = {name: plain_value(value) for name, value in zip(self.columns, self.values, strict=True)}
        witness = [fact.to_dict() for fact in self.witness]
        return {**values, "probability": self.probability, "known": self.known, "proven": self.proven, "witness": witness}


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it: dates and times as text, decimals as numbers."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | Decimal):
        return float(value) if math.isfinite(value) else str(value)
    return str(value)


class QueryRows(Records[QueryRow]):
    """The rows that answer a query, best first.

    Attributes:
        query: what was asked.
        conjunction: how the probabilities of facts become that of a row, `product` or `minimum`.
        cap: what a predicted fact counts at most.
        floor: the probability below which one counts nothing.
        proven: whether there are surely no better rows.
        stopped: whether the time was over before that was certain.
        plan: how the query was answered, line by line, where that was wanted.
        coverage: the share of sets of new rows that hold the missing one, where that was wanted.
        limit: what is promised then, and what it rests on; None where no row can be missing.
    """

    def __init__(
        self,
        rows: Iterable[QueryRow],
        columns: Sequence[str],
        query: str,
        *,
        plan: tuple[str, ...] = (),
        conjunction: str = "product",
        floor: float = 0.0,
        proven: bool = True,
        stopped: bool = False,
        coverage: float | None = None,
        limit: Limit | None = None,
    ) -> None:
        super().__init__(rows, {**dict.fromkeys(columns, str), "probability": float, "known": bool}, query)
        self.query, self.conjunction, self.cap, self.floor = query, conjunction, CAP, floor
        self.proven, self.stopped, self.plan = proven, stopped, plan
        self.coverage, self.limit = coverage, limit

    @property
    def promise(self) -> str | None:
        """How often the new rows hold the missing one, and if what is so; None where nothing is promised."""
        return None if self.limit is None else str(self.limit)

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        names = ("query", "conjunction", "cap", "floor", "proven", "stopped")
        whole = {name: getattr(self, name) for name in names}
        if self.plan:
            whole["plan"] = list(self.plan)
        if self.coverage is not None:
            whole["coverage"] = None if self.limit is None else self.limit.to_dict()
        return {**whole, "rows": [row.to_json() for row in self]}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a run with joins."""

    expression: Expression  # the query, over stored relations; its constants are names of entities
    text: str  # how it was written
    columns: tuple[str, ...]  # how the columns of rows are called
    positions: tuple[int, ...]  # which column of the expression each of these is; two may be one
    plan: tuple[str, ...] = ()  # how it is answered, where that is wanted

    def rows(self, run: Trained, answers: Iterable[JoinAnswer], known: Iterable[bool], **found: Any) -> QueryRows:
        """Return answers and whether each is known as rows, with what else `QueryRows` says of how they were found."""
        types = [column_types_of(self.expression, run.split.column_types)[position] for position in self.positions]
        prefixes = ["" if one is None else one.prefix for one in types]
        rows = [self._row(run, *one, prefixes) for one in zip(answers, known, strict=True)]
        return QueryRows(rows, self.columns, self.text, plan=self.plan, **found)

    def _row(self, run: Trained, answer: JoinAnswer, known: bool, prefixes: Sequence[str]) -> QueryRow:
        """Return an answer as a row, whose values are those of the tables without the prefixes of entity types."""
        names = run.entities
        entities = tuple(names[answer.entities[position]] for position in self.positions)
        values = tuple(name.removeprefix(prefix) for name, prefix in zip(entities, prefixes, strict=True))
        witness = witness_facts(run, answer.witness)
        labels = tuple(run.labels.of(name) for name in entities)
        shown = tuple(
            value if label is None or label == value else f"{label} ({value})"
            for value, label in zip(values, labels, strict=True)
        )
        return QueryRow(values, entities, answer.value, known, answer.proven, witness, self.columns, shown)


def witness_facts(run: Trained, facts: Iterable[joins.WitnessFact]) -> tuple[WitnessFact, ...]:
    """Return the facts that a row rests on by the names of their entities."""
    witness = []
    for fact in facts:
        is_condition = fact.relation not in run.schema
        if is_condition:
            called = tuple(run.entities[one] for one in fact.entities)
            shown = tuple(map(run.shown_entity, called))
        else:
            found = run.shown_values.fact(fact.relation, fact.entities, known=fact.known)
            called = found.names
            shown = run.shown(fact.relation, called, intervals=found.intervals, known=found.is_known)
        witness.append(WitnessFact(fact.relation, called, fact.value, fact.known, fact.negated, shown, is_condition))
    return tuple(witness)
