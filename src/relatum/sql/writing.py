"""Expressions as SQL: `to_sql` writes what `parse_sql` reads back.

An expression that `parse_sql` gave comes back as it was, read with `merge=False`; any other comes back in its normal form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from relatum.algebra import Difference, Expression, Intersection, Join, Relation, Union
from relatum.data.column_types import ColumnType
from relatum.data.schema import RelationSchema
from relatum.errors import DataError
from relatum.sql.catalog import Catalog, columns_of
from relatum.sql.conjunction import Conjunction, TooManySources
from relatum.sql.parse import parse_sql
from relatum.sql.refusals import SqlError
from relatum.sql.scan import MOST_CHARACTERS

__all__ = ["to_sql"]

_WORDS = {Union: "UNION", Difference: "EXCEPT", Intersection: "INTERSECT"}
_SELECT = 3  # how tightly a SELECT holds together; INTERSECT holds tighter than UNION and EXCEPT
_BINDING = {Union: 1, Difference: 1, Intersection: 2}
_MOST_DEPTH = 200


class _Written(NamedTuple):
    text: str
    binding: int


def to_sql(expression: Expression, catalog: Catalog) -> str:
    """Return a SELECT that `parse_sql` reads as an equal expression, if that is where it came from."""
    if expression.depth > _MOST_DEPTH:
        raise DataError(f"an expression of depth {expression.depth} is too deep to be written as SQL")
    try:
        writer = _Writer(catalog, _uses(expression))
        found = writer.query(expression, columns_of(expression.schema)).text
    except TooManySources as error:
        raise DataError(str(error)) from None
    return _checked(_Written(writer.named + found, _SELECT)).text


def _uses(expression: Expression) -> Counter[Expression]:
    """Return how often each part of an expression could stand in FROM."""
    uses: Counter[Expression] = Counter()
    seen, waiting = {expression}, [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Union | Difference | Intersection):
            parts = list(node.children)
            if isinstance(node, Difference) and isinstance(node.right, Join):
                uses.update(node.right.children)
                parts += node.right.children
        else:
            conjunction = Conjunction()
            conjunction.absorb(node)
            parts = [source for source, _ in conjunction.sources if not isinstance(source, Relation)]
            uses.update(parts)
        waiting += [one for one in dict.fromkeys(parts) if one not in seen]
        seen.update(parts)
    return uses


class _Writer:
    """Writes the parts of one expression, those with several uses in WITH."""

    def __init__(self, catalog: Catalog, uses: Counter[Expression]) -> None:
        self._catalog, self._uses = catalog, uses
        self._texts: dict[Expression, str] = {}
        self._named: dict[Expression, str] = {}

    @property
    def named(self) -> str:
        """WITH and the parts that have names, or nothing."""
        listed = [f"{name} AS {self._texts[part]}" for part, name in self._named.items()]
        return f"WITH {', '.join(listed)} " if listed else ""

    def query(self, node: Expression, names: Sequence[str]) -> _Written:
        """Return a query whose columns are called `names`."""
        if isinstance(node, Difference) and (absent := self._absent(node, names)) is not None:
            return _checked(_Written(absent, _SELECT))
        if isinstance(node, Union | Difference | Intersection):
            binding = _BINDING[type(node)]
            left, right = self.query(node.left, names), self.query(node.right, names)
            before = left.text if left.binding >= binding else f"({left.text})"
            behind = right.text if right.binding > binding else f"({right.text})"
            return _checked(_Written(f"{before} {_WORDS[type(node)]} {behind}", binding))
        return _checked(_Written(self._select(node, names), _SELECT))

    def _select(self, node: Expression, names: Sequence[str]) -> str:
        conjunction = Conjunction()
        outputs = conjunction.absorb(node)
        sources, columns = [], dict[int, str]()
        types = dict[int, ColumnType | None]()
        for number, (source, theirs) in enumerate(conjunction.sources, start=1):
            text, called = self._source(source)
            sources.append(f"{text} AS t{number}")
            for column, name, column_type in zip(theirs, called, self._catalog.types_of(source), strict=True):
                columns[column], types[column] = f"t{number}.{_quoted(name)}", column_type
        classes: dict[int, list[int]] = {}
        for column in columns:
            classes.setdefault(conjunction.root(column), []).append(column)
        tests = []
        for members in classes.values():
            constant = conjunction.constant(members[0])
            if constant is not None:
                tests += [f"{columns[one]} = {self._value(constant, types[one])}" for one in members]
            else:
                tests += [f"{columns[members[0]]} = {columns[one]}" for one in members[1:]]
        if conjunction.is_empty:
            anything = next(iter(columns.values()))
            tests.append(f"{anything} <> {anything}")
        for one, other in conjunction.unequal:
            right = self._value(other, types[one]) if isinstance(other, str) else columns[other]
            tests.append(f"{columns[one]} <> {right}")
        listed = ", ".join(f"{columns[one]} AS {_quoted(name)}" for one, name in zip(outputs, names, strict=True))
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"SELECT {listed} FROM {', '.join(sources)}{where}"  # noqa: S608  # it is read, never run

    def _absent(self, node: Difference, names: Sequence[str]) -> str | None:
        """Return O - join(O, S) as NOT EXISTS, with all that is taken away from O; None where it is not read back so."""
        if not isinstance(node.right, Join):
            return None
        base, absent = node.right.left, list[Join]()
        left: Expression = node
        while isinstance(left, Difference) and isinstance(left.right, Join) and left.right.left == base and left != base:
            absent.append(left.right)
            left = left.left
        if left != base or any(one.rest for one in absent):
            return None
        text, called = self._source(base)
        tests = []
        for number, one in enumerate(reversed(absent), start=2):
            source, theirs = self._source(one.right)
            equal = " AND ".join(f"t{number}.{_quoted(theirs[q])} = t1.{_quoted(called[p])}" for p, q in one.pairs)
            tests.append(f"NOT EXISTS (SELECT 1 FROM {source} AS t{number} WHERE {equal})")  # noqa: S608
        listed = ", ".join(f"t1.{_quoted(one)} AS {_quoted(name)}" for one, name in zip(called, names, strict=True))
        found = f"SELECT {listed} FROM {text} AS t1 WHERE {' AND '.join(tests)}"  # noqa: S608
        return found if self._is_read_as(found, node) else None

    def _is_read_as(self, text: str, node: Expression) -> bool:
        try:
            return parse_sql(self.named + text, self._catalog, merge=False).expression == node
        except SqlError:
            return False

    def _source(self, node: Expression) -> tuple[str, tuple[str, ...]]:
        """Return what stands in FROM, and what its columns are called."""
        if isinstance(node, Relation):
            return self._relation(node.schema)
        names = tuple(f"c{position}" for position in range(node.arity))
        if node not in self._texts:
            self._texts[node] = f"({self.query(node, names).text})"
            if self._uses[node] > 1:
                self._named[node] = f"w{len(self._named) + 1}"
        return self._named.get(node, self._texts[node]), names

    def _relation(self, relation: RelationSchema) -> tuple[str, tuple[str, ...]]:
        table = self._catalog.tables.get(relation.name)
        names = [
            next((one.name for one in table.columns if one.relation == relation and one.position == position), None)
            if table is not None
            else None
            for position in range(relation.arity)
        ]
        found = tuple(name for name in names if name is not None)
        if table is None or len(found) < relation.arity:
            raise DataError(f"there is no table {relation} that SQL could name")
        if table.relation == relation:
            return _quoted(table.name), found
        inner = tuple(f"c{position}" for position in range(relation.arity))
        listed = ", ".join(f"t.{_quoted(name)} AS {column}" for name, column in zip(found, inner, strict=True))
        return f"(SELECT {listed} FROM {_quoted(table.name)} AS t)", inner  # noqa: S608

    def _value(self, entity: str, column_type: ColumnType | None) -> str:
        text = self._catalog.value(entity, column_type)
        return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _checked(written: _Written) -> _Written:
    if len(written.text) > MOST_CHARACTERS:
        raise DataError(f"the SQL of this expression would have more than {MOST_CHARACTERS:,} characters")
    return written
