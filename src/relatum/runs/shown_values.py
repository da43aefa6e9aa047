"""Numbers and dates as people see them: what is stored, where a fact is known, else a middle with its interval.

Learning takes numbers and dates in groups of neighbours, and an entity is such a group. This is the only place that knows so
where a run is asked: questions come with values, and answers show values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.column_types import ColumnType
from relatum.data.row_store import Bins, RowStore, TableColumn
from relatum.data.schema import Schema
from relatum.data.stored_values import StoredColumn
from relatum.data.value_scale import Number, ScaledColumn, ValueScale
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import UnknownNameError
from relatum.runs.column_scores import cells_of_entities
from relatum.tables.facts import TableFacts, relations_in
from relatum.tables.table import Column, free_name
from relatum.tables.values import column_of, form_of

if TYPE_CHECKING:
    from relatum.runs.answers import Question

ANY = -1  # an entity at a position where any will do
_EXAMPLES = 5  # stored values that are shown where a text is none
_DIFFERENT = 10_000  # values among which those that begin with a text are looked for


class Span(NamedTuple):
    """The numbers that a question asks for: one, or those from the least to the greatest."""

    low: Number
    high: Number


Spans = Mapping[int, Span]  # by position
NO_SPANS: Spans = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ShownFact:
    """The names of a fact's entities, with values for groups, and the interval beside each value, None where it is exact.

    There are no intervals where no position is taken in groups.
    """

    names: tuple[str, ...]
    intervals: tuple[str | None, ...]
    is_known: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The names as they are read: `film.length:118 (115 to 121)`."""
        between = self.intervals or (None,) * len(self.names)
        return tuple(beside(name, one, is_known=self.is_known) for name, one in zip(self.names, between, strict=True))

    def at(self, positions: Iterable[int]) -> ShownFact:
        """Return what stands at some positions."""
        chosen = list(positions)
        intervals = tuple(self.intervals[one] for one in chosen) if self.intervals else ()
        return ShownFact(tuple(self.names[one] for one in chosen), intervals, self.is_known)


def beside(value: str, interval: str | None, *, is_known: bool = False) -> str:
    """Return a value with its interval: `118 (115 to 121)`; of several that are stored, from the least to the greatest."""
    if interval is None:
        return value
    return f"{value} to {interval.partition(' to ')[2]}" if is_known else f"{value} ({interval})"


class GroupedColumn:
    """A column whose numbers or dates learning takes in groups."""

    def __init__(self, column: TableColumn, bins: Bins, stored: StoredColumn | None, entities: Vocabulary) -> None:
        self.name, self.stored = column.name, stored
        self.prefix = f"{column.entity_type}:" if column.entity_type else ""
        self._bins = bins
        self.entities = [self.prefix + name for name in bins.names]
        self._is_there = [name in entities for name in self.entities]
        value_type = "TIMESTAMP" if column.value_type == "date" else "DOUBLE"
        if stored is not None and stored.sql_type != "VARCHAR":
            value_type = stored.sql_type
        self.scale = ValueScale(value_type)
        self.values = None if stored is None else ScaledColumn(stored, self.scale)
        edges = [self.scale.number(edge) for edge in bins.edges]
        self._edges = [one for one in edges if one is not None]
        self._is_ordered = len(self._edges) == len(edges)

    @cached_property
    def column_type(self) -> ColumnType:
        """What values are where they are written: numbers, unless there are dates or numbers of many digits among them."""
        bins, entity_type = self._bins, self.prefix[:-1] or None
        value_type: Literal["whole", "number"] = "number"
        if self.stored is not None and self.stored.encoding == "whole":
            value_type = "whole"
        found = ColumnType(entity_type, value_type)
        texts = (self.prefix + text for text in (*bins.least, *bins.median, *bins.greatest))
        is_kept = self.stored is None or self.stored.encoding in ("whole", "real", "scaled")
        return found if is_kept and form_of(texts, found) == value_type else ColumnType(entity_type)

    def number(self, text: str) -> Number | None:
        """Return the number or date that a text says, as it is typed or named; None if it says none."""
        return self.scale.number(text.removeprefix(self.prefix)) if self._is_ordered else None

    def entity(self, number: Number) -> str:
        """Return the group that a value is in: the first whose edge it is not above, as at the import."""
        group = bisect_left(self._edges, number)
        near = sorted(range(len(self.entities)), key=lambda one: (not self._is_there[one], abs(one - group)))
        return self.entities[near[0]]

    def predicted(self, entity: str) -> tuple[str, str | None]:
        """Return how a group is shown where nothing is stored: by its middle, with its least and its greatest value."""
        if entity not in self.entities:
            return entity, None
        group = self.entities.index(entity)
        low, high = self._bins.least[group], self._bins.greatest[group]
        return self.prefix + self._bins.median[group], None if low == high else f"{low} to {high}"

    def holds(self, entity: str, rows: Int64) -> Bool:
        """Return which rows have a value from the least to the greatest of a group."""
        group = self.entities.index(entity) if entity in self.entities else -1
        ends = [self.scale.number(one[group]) for one in (self._bins.least, self._bins.greatest)]
        if group < 0 or self.values is None or ends[0] is None or ends[1] is None:
            return np.zeros(len(rows), np.bool_)
        return self.values.within(ends[0], ends[1], rows)

    def known(self, rows: Int64) -> tuple[str, str | None] | None:
        """Return how the values in some rows are shown: alone, or the least to the greatest; None where none is kept."""
        if self.values is None or self.stored is None:
            return None
        numbers = self.values.numbers(rows)
        there = [(number, row) for number, row in zip(numbers, rows.tolist(), strict=True) if number is not None]
        if not there:
            return None
        (least, first), (most, last) = min(there), max(there)
        low, high = self.stored.shown(np.array([first, last]))
        return f"{self.prefix}{low}", None if least == most else f"{low} to {high}"

    def nearest(self, text: str) -> list[str]:
        """Return some stored values: those that begin as a text does, or else the least, a middle one and the greatest."""
        bins = self._bins
        found = [value for value, _ in self.starting(text, _EXAMPLES)] or [
            bins.least[0],
            bins.median[len(bins.median) // 2],
            bins.greatest[-1],
        ]
        return list(dict.fromkeys(found))

    @cached_property
    def _different(self) -> Mapping[str, int]:
        """The most frequent stored values as text, and how many rows have each."""
        if self.stored is None:
            return {}
        column = self.stored.take(np.flatnonzero(~self.stored.gaps))
        _, first, counts = np.unique(column.data, return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_DIFFERENT]
        texts = column.shown(first[order].astype(np.int64))
        return {text: int(count) for text, count in zip(texts, counts[order], strict=True) if text is not None}

    def starting(self, text: str, most: int) -> list[tuple[str, int]]:
        """Return stored values that begin with a text, the most frequent first, and how many rows have each."""
        return list(islice((one for one in self._different.items() if one[0].startswith(text)), most))


class _Relation:
    """The rows that made the facts of a relation, and its columns that are taken in groups."""

    def __init__(self, cells: Ids, facts: TableFacts, columns: Mapping[int, GroupedColumn]) -> None:
        self.columns, self.table, self.facts = columns, cells, facts
        self._orders: dict[int, tuple[Int64, Ids]] = {}

    @property
    def nothing(self) -> Int64:
        """A fact of which nothing is given."""
        return np.full(len(self.facts.indices), ANY)

    @cached_property
    def rows(self) -> Int64:
        """The rows that made a fact."""
        return np.flatnonzero(self.facts.whole(self.table))

    @cached_property
    def _cells(self) -> Ids:
        cells: Ids = self.table[self.facts.indices][:, self.rows]
        return cells

    def matching(self, fact: Ids | Int64, spans: Spans) -> Int64:
        """Return the rows with these cells, `ANY` where any will do, whose values are within the spans."""
        given = [position for position, cell in enumerate(fact.tolist()) if cell != ANY]
        best: Int64 | None = None
        for position in given:
            order, values = self._order(position)
            low, high = np.searchsorted(values, [fact[position], fact[position] + 1])
            if best is None or high - low < len(best):
                best = order[low:high]
        found = np.arange(len(self.rows)) if best is None else np.sort(best)
        for position in given:
            found = found[self._cells[position, found] == fact[position]]
        rows = self.rows[found]
        for position, span in spans.items():
            values_of = self.columns[position].values
            rows = rows[:0] if values_of is None else rows[values_of.within(span.low, span.high, rows)]
        return rows

    def _order(self, position: int) -> tuple[Int64, Ids]:
        if position not in self._orders:
            order = np.argsort(self._cells[position], kind="stable")
            self._orders[position] = order, self._cells[position, order]
        return self._orders[position]


class ShownValues:
    """What stands at positions whose numbers and dates are taken in groups; nothing for facts without tables."""

    def __init__(
        self, rows: RowStore | None, entities: Vocabulary, schema: Schema, cells: Callable[[], Ids] | None = None
    ) -> None:
        self._entities, self._rows, self._known_cells = entities, rows, cells
        self._relations: dict[str, _Relation] = {}
        self._by_entity: dict[str, GroupedColumn] = {}
        for table in () if rows is None else rows.tables.values():
            grouped = {}
            kept = None if rows is None else rows.values.get(table.schema.name)
            for one in table.schema.columns:
                if one.bins is not None:
                    stored = kept[one.name] if kept is not None and one.name in kept else None
                    grouped[one.name] = GroupedColumn(one, one.bins, stored, entities)
            self._by_entity |= {name: one for one in grouped.values() for name in one.entities}
            for facts in relations_in(table.schema, schema):
                columns = {position: grouped[name] for position, name in enumerate(facts.columns) if name in grouped}
                if columns:
                    self._relations.setdefault(facts.schema.name, _Relation(table.cells, facts, columns))

    @cached_property
    def _cells(self) -> Ids:
        """What each entity is called in the cells of tables."""
        if self._known_cells is not None or self._rows is None:
            return np.empty(0, np.int32) if self._known_cells is None else self._known_cells()
        return cells_of_entities(self._entities, self._rows)

    def columns(self, relation: str) -> Mapping[int, GroupedColumn]:
        """Return the columns of a relation that are taken in groups, by position."""
        return self._relations[relation].columns if relation in self._relations else {}

    @property
    def groups(self) -> Container[str]:
        """The entities that are groups."""
        return self._by_entity.keys()

    def named(self, name: str) -> GroupedColumn | None:
        """Return the column that the name of a value is of, `film.length:119`, or that has a group of this name."""
        if name in self._by_entity:
            return self._by_entity[name]
        return next((one for one in self._grouped if one.prefix and name.startswith(one.prefix)), None)

    @cached_property
    def _grouped(self) -> list[GroupedColumn]:
        return sorted(dict.fromkeys(self._by_entity.values()), key=lambda one: -len(one.prefix))

    def entity(self, relation: str, position: int, text: str) -> str | None:
        """Return the entity of the group that a typed number or date is in; None if none is meant there.

        A text that is neither a value nor an entity is refused, with some that are stored.
        """
        column = self.columns(relation).get(position)
        return None if column is None else self.entity_in(column, text)

    def entity_in(self, column: GroupedColumn, text: str) -> str | None:
        """Return the entity of the group that a text means in a column, as of `entity`."""
        number = column.number(text)
        if number is not None:
            return column.entity(number)
        if text in self._entities or column.prefix + text in self._entities:
            return None
        raise UnknownNameError(f"value of {column.name}", text, column.nearest(text))

    def spans(self, question: Question) -> Spans:
        """Return the values that a question names, by position, where these are taken in groups."""
        found = {}
        for position, column in self.columns(question.relation).items():
            text = question.arguments[position]
            number = None if text is None else column.number(text)
            if number is not None:
                found[position] = Span(number, number)
        return found

    def rows(self, relation: str, fact: Sequence[int], spans: Spans) -> Int64 | None:
        """Return the rows that made a fact, of entities or `ANY`, with values that were asked for; None without tables."""
        if relation not in self._relations:
            return None
        ids = np.array(fact, np.int64)
        cells = np.where(ids == ANY, ANY, self._cells[np.maximum(ids, 0)])
        return self._relations[relation].matching(cells, spans)

    def facts_with(self, relation: str, entity: int, position: int, span: Span) -> Ids:
        """Return the different facts, int32[arity, n], with an entity that is a group, whose value there is in a span."""
        found = self._relations[relation]
        fact = found.nothing
        fact[position] = self._cells[entity]
        cells = found.table[found.facts.indices][:, found.matching(fact, {position: span})]
        facts: Ids = np.unique(self._entity_of[cells], axis=1).astype(np.int32)
        return facts

    @cached_property
    def _entity_of(self) -> Int64:
        """The entity of each cell by its number; -1 for those that are in no fact."""
        found = np.full(int(self._cells.max(initial=0)) + 1, -1, np.int64)
        found[self._cells[self._cells >= 0]] = np.flatnonzero(self._cells >= 0)
        return found

    def finding(self, text: str) -> list[tuple[GroupedColumn, str, list[tuple[str, int, int]]]]:
        """Return each column that has a number or a date, its name there, and where it stands: relation, position, rows."""
        found = []
        for column in self._grouped:
            number = column.number(text)
            if number is None:
                continue
            span = Span(number, number)
            stands = []
            for name, relation in self._relations.items():
                for position in (at for at, one in relation.columns.items() if one is column):
                    stands.append((name, position, len(relation.matching(relation.nothing, {position: span}))))
            stands = [one for one in stands if one[2]]
            if stands:
                found.append((column, column.prefix + text.strip().removeprefix(column.prefix), stands))
        return found

    def exactly(self, relation: str, facts: Ids, spans: Spans) -> Bool:
        """Return which known facts, int32[arity, n], have the very values that were asked for."""
        if not spans:
            return np.ones(facts.shape[1], np.bool_)
        rows = (self.rows(relation, one, spans) for one in facts.T.tolist())
        return np.array([found is not None and len(found) > 0 for found in rows], np.bool_)

    def fact(self, relation: str, fact: Sequence[int], *, known: bool, spans: Spans = NO_SPANS) -> ShownFact:
        """Return a fact with values: of one that is known those that are stored, else the middle of each group."""
        names, columns = ["" if one == ANY else self._entities[one] for one in fact], self.columns(relation)
        if not columns:
            return ShownFact(tuple(names), (), known)
        intervals: list[str | None] = [None] * len(names)
        rows = self.rows(relation, fact, spans) if known else None
        for position, column in columns.items():
            stored = None if rows is None or not len(rows) else column.known(rows)
            names[position], intervals[position] = stored or column.predicted(names[position])
        return ShownFact(tuple(names), tuple(intervals), known and rows is not None and len(rows) > 0)

    def entity_shown(self, name: str) -> tuple[str, str | None]:
        """Return how an entity is shown where it stands in no fact: a group by its middle, with its interval."""
        column = self._by_entity.get(name)
        return (name, None) if column is None else column.predicted(name)

    def table_columns(
        self,
        relation: str,
        positions: Sequence[int],
        roles: Sequence[str],
        types: Sequence[ColumnType | None],
        facts: Sequence[ShownFact],
        forms: Mapping[int, str] | None = None,
    ) -> list[Column]:
        """Return what stands at some positions of facts as columns, and behind them the intervals of numbers and dates.

        `types` are those of the relation's columns, None for names as they are; `forms` what the columns are, if that is
        to be the same in many tables.
        """
        found, grouped = [], self.columns(relation)
        for position in positions:
            column_type, names = types[position], [one.names[position] for one in facts]
            if column_type is not None and position in grouped:
                column_type = grouped[position].column_type
            wanted = {} if forms is None else {"forms": [forms[position]]}
            column = column_of(roles[position], names, column_type, **wanted)
            found.append(column if forms is None else Column(column.name, forms[position], column.values))
        for position in positions:
            if position in grouped:
                name = free_name(f"{roles[position]}_interval", [column.name for column in found])
                found.append(Column(name, "text", [one.intervals[position] for one in facts]))
        return found
