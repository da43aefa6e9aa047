"""The tree of a query with every name found: tables and columns of the catalog, and values as entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from relatum.algebra import Expression, Relation
from relatum.data.column_types import ColumnType
from relatum.errors import RelatumError
from relatum.sql.bound import (
    Both,
    BoundCondition,
    BoundQuery,
    BoundSelect,
    BoundSetOperation,
    Either,
    Equality,
    HasRow,
    Reference,
    Source,
    negated,
    outputs_of,
)
from relatum.sql.catalog import Catalog, CatalogTable
from relatum.sql.scan import Refusals
from relatum.sql.scope import Scope, matching
from relatum.sql.tree import (
    All,
    Alternatives,
    AnySource,
    ColumnName,
    Comparison,
    Condition,
    Conjuncts,
    Constant,
    Exists,
    Joined,
    Membership,
    Name,
    Negation,
    Query,
    Select,
    SetOperation,
    SubqueryTable,
    Term,
    WithQueries,
)

# A query in FROM or WITH as an expression (None if it can have no rows), its columns and their types.
Evaluated = tuple[Expression | None, tuple[str, ...], tuple[ColumnType | None, ...]]
_Named = Mapping[str, Evaluated]


class Binder:
    """Finds the names of one text; `evaluated` turns the queries of FROM and WITH into expressions."""

    def __init__(self, catalog: Catalog, refusals: Refusals, evaluated: Callable[[BoundQuery], Evaluated]) -> None:
        self._catalog, self._refusals, self._evaluated = catalog, refusals, evaluated

    def query(
        self, query: Query, scope: Scope | None = None, named: _Named | None = None, *, is_read: bool = True
    ) -> BoundQuery:
        """Return a query with its names found.

        Args:
            query: what it says.
            scope: what the query around it can name.
            named: the queries of WITH.
            is_read: whether someone reads its columns; EXISTS does not.
        """
        named = named or {}
        match query:
            case WithQueries():
                inner = dict(named)
                for name, one in query.named:
                    if name.text in inner and name.text not in named:
                        raise self._refusals.at(name.at, f"WITH names {name.text!r} twice", "name-taken")
                    inner[name.text] = self._evaluated(self.query(one, Scope(self._refusals, scope, is_closed=True), inner))
                return self.query(query.query, scope, inner, is_read=is_read)
            case SetOperation():
                left = self.query(query.left, scope, named)
                right = self.query(query.right, scope, named)
                self._check_columns(query, left, right)
                return BoundSetOperation(query.operation, left, right, query.at)
            case Select():
                return self._select(query, scope, named, is_read)

    def _check_columns(self, query: SetOperation, left: BoundQuery, right: BoundQuery) -> None:
        lefts, rights = outputs_of(left), outputs_of(right)
        if len(lefts) != len(rights):
            raise self._refusals.at(
                query.at,
                f"{query.operation.upper()} takes two queries of as many columns, not {len(lefts)} and {len(rights)}",
            )
        if query.operation != "union":
            for one, other in zip(lefts, rights, strict=True):
                self._check_types(one, other, query.at)

    def _select(self, select: Select, parent: Scope | None, named: _Named, is_read: bool) -> BoundSelect:
        scope = Scope(self._refusals, parent)
        conditions: list[BoundCondition] = []
        group: list[Source] = []  # the tables since the last comma, which NATURAL and USING look at
        for one in select.sources:
            source = self._source(one.source, scope, named)
            group = [] if one.how == "first" else group
            scope.add(source, one.source.at)
            conditions += self._join(one, source, group, scope, named)
            group = [*group, source]
        if select.where is not None:
            conditions.append(self._condition(select.where, scope, named))
        outputs, names = self._outputs(select, scope) if is_read else self._unread(select, scope)
        return BoundSelect(tuple(scope.sources), Both(tuple(conditions)), outputs, names, select.at)

    def _source(self, source: AnySource, scope: Scope, named: _Named) -> Source:
        if isinstance(source, SubqueryTable):
            inner = Scope(self._refusals, scope.parent, is_closed=True)
            expression, columns, types = self._evaluated(self.query(source.query, inner, named))
            return Source(source.alias.text, columns, types, expression)
        name, alias = source.name, (source.alias or source.name).text
        tables, views = self._catalog.tables, self._catalog.views
        for listed in (named, (*tables, *views)):
            found = matching(name, listed)
            if len(found) > 1:
                raise self._refusals.at(
                    name.at, f"{name.text} could be {' or '.join(found)}: write it in double quotes", "ambiguous-column"
                )
            if found and listed is named:
                expression, columns, types = named[found[0]]
                return Source(alias if source.alias else found[0], columns, types, expression)
            if found and found[0] in views:
                view = views[found[0]]
                types = self._catalog.types_of(view.expression)
                return Source(alias if source.alias else found[0], view.columns, types, view.expression)
            if found:
                return self._table(tables[found[0]], alias if source.alias else found[0])
        raise self._refusals.unknown(name.at, "table", name.text, (*named, *tables, *views))

    def _table(self, table: CatalogTable, alias: str) -> Source:
        columns, types = tuple(one.name for one in table.columns), tuple(one.column_type for one in table.columns)
        relation = table.relation
        return Source(alias, columns, types, *((None, table) if relation is None else (Relation(relation), None)))

    def _join(
        self, joined: Joined, source: Source, group: Sequence[Source], scope: Scope, named: _Named
    ) -> list[BoundCondition]:
        if joined.how == "on" and joined.condition is not None:
            return [self._condition(joined.condition, scope, named)]
        at = joined.source.at
        wanted: list[Name] = list(joined.using)
        if joined.how == "natural":
            wanted = [Name(column, True, at) for column in source.columns if scope.named(Name(column, False, at), group)]
            if not wanted:
                raise self._refusals.at(
                    at, f"{source.name} has no column in common with the tables before it: write CROSS JOIN"
                )
        found: list[BoundCondition] = []
        for name in wanted:
            lefts = scope.named(Name(name.text, name.quoted and joined.how != "natural", name.at), group)
            right = scope.column_of(source, name, name.at)
            if not lefts:
                known = [column for one in group for column in one.columns]
                raise self._refusals.unknown(name.at, "column before this join", name.text, known)
            if len(lefts) > 1:
                several = f"{name.text} could be {' or '.join(map(str, lefts))}: write the join with ON"
                raise self._refusals.at(name.at, several, "ambiguous-column")
            found.append(self._equality(lefts[0], right, True, name.at))
            scope.hidden.add(right)
        return found

    def _unread(self, select: Select, scope: Scope) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
        for item in select.items:
            if isinstance(item.term, ColumnName):
                scope.column(item.term)
            elif isinstance(item.term, All) and item.term.table is not None:
                scope.table(item.term.table)
        return (), ()

    def _outputs(self, select: Select, scope: Scope) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
        outputs: list[Reference] = []
        names: list[str] = []
        for item in select.items:
            if isinstance(item.term, All):
                if item.alias is not None:
                    raise self._refusals.at(item.at, "* has no alias")
                wanted = scope.visible() if item.term.table is None else self._all_of(scope.table(item.term.table))
                wanted = [one for one in wanted if _use(one) in ("cell", "key")]
            elif isinstance(item.term, Constant):
                raise self._refusals.at(item.at, f"a constant ({item.term.text}) as a column is not there: select columns")
            else:
                wanted = [scope.column(item.term)]
                self._check_use(wanted[0], item.at)
            for one in wanted:
                if one in outputs:
                    raise self._refusals.at(item.at, f"{one} is selected twice", "name-taken")
                column = item.alias.text if item.alias is not None else one.source.columns[one.index]
                if isinstance(item.term, All) and column in names:
                    column = str(one)
                if column in names:
                    raise self._refusals.at(
                        item.at, f"two columns of the result are called {column!r}: name one with AS", "name-taken"
                    )
                if one.source not in scope.sources:
                    raise self._refusals.at(
                        item.at, f"{one} is a column of the query around this one: select one of its own"
                    )
                outputs.append(one)
                names.append(column)
        return tuple(outputs), tuple(names)

    def _all_of(self, source: Source) -> list[Reference]:
        return [Reference(source, index) for index in range(len(source.columns))]

    def _condition(self, condition: Condition, scope: Scope, named: _Named) -> BoundCondition:
        match condition:
            case Conjuncts(parts):
                return Both(tuple(self._condition(one, scope, named) for one in parts))
            case Alternatives(parts):
                return Either(tuple(self._condition(one, scope, named) for one in parts))
            case Negation(part):
                return negated(self._condition(part, scope, named))
            case Comparison():
                return self._comparison(condition, scope)
            case Exists():
                return self._has_row(
                    self.query(condition.query, scope, named, is_read=not isinstance(condition.query, Select)), ()
                )
            case Membership():
                return self._membership(condition, scope, named)
            case _:  # what is of a row of the result is never within a condition
                raise self._refusals.at(
                    condition.at, "known and probability stand only in the WHERE of the outermost SELECT"
                )

    def _comparison(self, condition: Comparison, scope: Scope) -> BoundCondition:
        left, right = condition.left, condition.right
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Constant):
            raise self._refusals.at(condition.at, "two constants are compared: a condition compares a column")
        column = scope.column(left)
        if isinstance(right, Constant):
            if column.source.table is not None and _use(column) == "label":
                return self._called(column, column.source.table, right, condition.equal)
            self._check_use(column, left.at)
            return Equality(column, self._entity(right, column), condition.equal)
        other = scope.column(right)
        self._check_use(column, left.at)
        self._check_use(other, right.at)
        return self._equality(column, other, condition.equal, condition.at)

    def _called(self, column: Reference, table: CatalogTable, label: Constant, equal: bool) -> BoundCondition:
        """Return that a row is, or is not, one of those that people call so."""
        key = next(index for index, one in enumerate(table.columns) if one.use == "key")
        try:
            entities = self._catalog.called(label.text, table)
        except RelatumError as error:
            raise self._refusals.of(label.at, error) from None
        each = tuple(Equality(Reference(column.source, key), entity, True) for entity in entities)
        return Either(each) if equal else negated(Either(each))

    def _membership(self, condition: Membership, scope: Scope, named: _Named) -> BoundCondition:
        query = self.query(condition.query, scope, named)
        columns = outputs_of(query)
        if len(condition.row) != len(columns):
            raise self._refusals.at(condition.at, f"IN compares {len(condition.row)} columns with a query of {len(columns)}")
        row: list[Term | Reference] = []
        for term in condition.row:
            row.append(scope.column(term) if isinstance(term, ColumnName) else term)
            if isinstance(row[-1], Reference):
                self._check_use(row[-1], term.at)
        return self._member(row, query, condition.at)

    def _member(self, row: Sequence[Term | Reference], query: BoundQuery, at: int) -> BoundCondition:
        """Return that a row is one of a query."""
        if isinstance(query, BoundSetOperation):
            left, right = self._member(row, query.left, at), self._member(row, query.right, at)
            if query.operation == "union":
                return Either((left, right))
            return Both((left, right if query.operation == "intersect" else negated(right)))
        equal: list[BoundCondition] = []
        for term, column in zip(row, query.outputs, strict=True):
            if isinstance(term, Reference):
                equal.append(self._equality(term, column, True, at))
            elif isinstance(term, Constant):
                equal.append(Equality(column, self._entity(term, column), True))
        return HasRow(replace(query, condition=Both((query.condition, *equal))), True)

    def _has_row(self, query: BoundQuery, others: Sequence[tuple[BoundQuery, bool]]) -> BoundCondition:
        """Return that a query has a row that is, or is not, a row of others as well."""
        if isinstance(query, BoundSelect):
            members = [(self._member(query.outputs, other, query.at), positive) for other, positive in others]
            more = (one if positive else negated(one) for one, positive in members)
            return HasRow(replace(query, condition=Both((query.condition, *more))), True)
        if query.operation == "union":
            return Either((self._has_row(query.left, others), self._has_row(query.right, others)))
        return self._has_row(query.left, (*others, (query.right, query.operation == "intersect")))

    def _equality(self, left: Reference, right: Reference, equal: bool, at: int) -> Equality:
        self._check_types(left, right, at)
        return Equality(left, right, equal)

    def _check_types(self, left: Reference, right: Reference, at: int) -> None:
        types = [one.column_type.entity_type if one.column_type is not None else None for one in (left, right)]
        if None not in types and types[0] != types[1]:
            raise self._refusals.at(
                at, f"{left} holds entities of type {types[0]!r} and {right} of type {types[1]!r}: they are never the same"
            )

    def _check_use(self, column: Reference, at: int) -> None:
        if _use(column) == "label":
            raise self._refusals.at(
                at,
                f"{column} is what rows are called, and is there for = and <> with a text alone: it is shown with the key",
                "name-taken",
            )
        if _use(column) == "row":
            raise self._refusals.at(
                at, f"{column} is kept with the rows alone: no relation has it, so nothing is predicted of it"
            )

    def _entity(self, constant: Constant, column: Reference) -> str:
        try:
            return self._catalog.entity(constant.text, column.column_type, str(column), is_number=constant.is_number)
        except RelatumError as error:
            raise self._refusals.of(constant.at, error) from None


def _use(column: Reference) -> str:
    return "cell" if column.source.table is None else column.source.table.columns[column.index].use
