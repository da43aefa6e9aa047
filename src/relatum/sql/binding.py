"""The tree of a query with every name found: tables and columns of the catalog, and values as entities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from relatum.algebra import Expression, Relation
from relatum.data.column_types import ColumnType
from relatum.errors import RelatumError
from relatum.extras import optional
from relatum.sql.bound import (
    Both,
    BoundCondition,
    BoundQuery,
    BoundSelect,
    BoundSetOperation,
    Demand,
    Either,
    Equality,
    HasRow,
    Reference,
    Source,
    negated,
)
from relatum.sql.catalog import Catalog, CatalogTable
from relatum.sql.scope import Scope, matching, references_of
from relatum.sql.syntax import DIALECT, PREDICATES, SET_OPERATIONS, ColumnName, Constant, Name, Syntax, bare, parts_of
from relatum.time_limit import check_time

with optional("sqlglot", extra="sql"):
    from sqlglot import exp

# A query in FROM or WITH as an expression (None if it can have no rows), its columns and their types.
Evaluated = tuple[Expression | None, tuple[str, ...], tuple[ColumnType | None, ...]]
_Named = Mapping[str, Evaluated]


@dataclass(frozen=True, slots=True)
class _All:
    """`*`, or `t.*`."""

    table: Name | None


_Item = ColumnName | Constant | _All


class Binder:
    """Finds the names of one text; `evaluated` turns the queries of FROM and WITH into expressions.

    Attributes:
        values: the stored values that constants mean, by where these begin.
    """

    def __init__(self, catalog: Catalog, syntax: Syntax, evaluated: Callable[[BoundQuery], Evaluated]) -> None:
        self.values: dict[int, str] = {}
        self._catalog, self._syntax, self._evaluated = catalog, syntax, evaluated
        self._refusals = syntax.refusals

    def query(
        self, query: exp.Expr, scope: Scope | None = None, named: _Named | None = None, *, is_read: bool = True
    ) -> BoundQuery:
        """Return a query with its names found.

        Args:
            query: what it says.
            scope: what the query around it can name.
            named: the queries of WITH.
            is_read: whether someone reads its columns; EXISTS does not.
        """
        named = self._with(query, scope, named or {})
        if isinstance(query, exp.Subquery) and not query.args.get("alias"):
            return self.query(query.this, scope, named, is_read=is_read)
        if isinstance(query, exp.Select):
            return self._select(query, scope, named, is_read)
        if not isinstance(query, SET_OPERATIONS):
            raise self._syntax.unlisted(query)
        spine: list[tuple[exp.Expr, _Named]] = []
        left: exp.Expr = query
        while isinstance(left, SET_OPERATIONS):  # A UNION B UNION C is as deep as it is long
            named = named if left is query else self._with(left, scope, named)
            spine.append((left, named))
            left = left.this
        found = self.query(left, scope, named)
        for one, known in reversed(spine):
            right = one.args["expression"]
            found = self._combined(one.key, found, self.query(right, scope, known), self._syntax.offset(right))
        return found

    def _with(self, query: exp.Expr, scope: Scope | None, named: _Named) -> _Named:
        """Return the queries that a query can name: those of its own WITH, and those around."""
        if (clause := query.args.get("with_")) is None:
            return named
        inner = dict(named)
        for one in clause.expressions:
            name = self._syntax.name_of(one.args["alias"].this)
            if name.text in inner and name.text not in named:
                raise self._refusals.at(name.at, f"WITH names {name.text!r} twice", "name-taken")
            inner[name.text] = self._evaluated(self.query(one.this, Scope(self._refusals, scope, is_closed=True), inner))
        return inner

    def _combined(self, operation: str, left: BoundQuery, right: BoundQuery, at: int) -> BoundSetOperation:
        lefts, rights = left.outputs, right.outputs
        if len(lefts) != len(rights):
            reason = f"{operation.upper()} takes two queries of as many columns, not {len(lefts)} and {len(rights)}"
            raise self._refusals.at(at, reason)
        if operation != "union":
            for one, other in zip(lefts, rights, strict=True):
                self._check_types(one, other, at)
        return BoundSetOperation(operation, left, right, at)

    def _select(self, select: exp.Select, parent: Scope | None, named: _Named, is_read: bool) -> BoundSelect:
        if select.args.get("from_") is None:
            raise self._syntax.refused(select, "a SELECT without FROM is not supported: rows come from tables")
        if not select.expressions:
            raise self._syntax.refused(select, "a SELECT without columns is not supported")
        scope = Scope(self._refusals, parent)
        conditions: list[BoundCondition] = []
        group: list[Source] = []  # the tables since the last comma, which NATURAL and USING look at
        for one in (select.args["from_"], *(select.args.get("joins") or ())):
            source, at = self._source(one.this, scope, named)
            is_joined = any(one.args.get(part) for part in ("kind", "method", "on", "using"))
            group = group if is_joined else []
            scope.add(source, at)
            if is_joined:
                conditions += self._join(one, source, at, group, scope, named)
            group = [*group, source]
        conditions += [self._condition(one, scope, named) for one in self._syntax.conditions(select)]
        at, condition = self._syntax.offset(select), Both(tuple(conditions))
        if not is_read:
            self._unread(select, scope)
            return BoundSelect(tuple(scope.sources), condition, (), (), at)
        shown, names = self._outputs(select, scope)
        outputs, looked_up = zip(*(self._looked_up(one, select) for one in shown), strict=True)
        return BoundSelect(tuple(scope.sources), condition, outputs, names, at, looked_up)

    def _looked_up(self, column: Reference, select: exp.Select) -> tuple[Reference, str | None]:
        """Return what a column of the result is of predicted rows: itself, or the key by which it is looked up."""
        if _use(column) in ("cell", "key"):
            return column, None
        table = column.source.table
        if select is not self._syntax.query or table is None or table.key is None:
            reason = f"{column} is in no fact, and nothing is predicted of it"
            raise self._syntax.for_stored_rows(select, reason)
        return Reference(column.source, table.key), column.name

    def _source(self, node: exp.Expr, scope: Scope, named: _Named) -> tuple[Source, int]:
        """Return a table of FROM, and where it begins."""
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery):
            if isinstance(node.this, exp.Table):
                raise self._syntax.refused(node, "parentheses around the tables of FROM are not supported")
            if alias is None:
                raise self._syntax.refused(node, "a query in FROM needs a name: (SELECT ...) AS name")
            inner = Scope(self._refusals, scope.parent, is_closed=True)
            expression, columns, types = self._evaluated(self.query(node.this, inner, self._with(node, inner, named)))
            return Source(self._syntax.name_of(alias.this).text, columns, types, expression), self._syntax.offset(node)
        if not isinstance(node, exp.Table):
            raise self._syntax.unlisted(node)
        name = self._syntax.name_of(node.this)
        return self._table(name, None if alias is None else self._syntax.name_of(alias.this).text, named), name.at

    def _table(self, name: Name, alias: str | None, named: _Named) -> Source:
        tables, views = self._catalog.tables, self._catalog.views
        for listed in (named, (*tables, *views)):
            found = matching(name, listed)
            if len(found) > 1:
                several = " or ".join(found)
                raise self._refusals.at(
                    name.at, f"{name.text} could be {several}: write it in double quotes", "ambiguous-column"
                )
            if not found:
                continue
            called = alias or found[0]
            if listed is named:
                expression, columns, types = named[found[0]]
                return Source(called, columns, types, expression)
            if found[0] in views:
                view = views[found[0]]
                return Source(called, view.columns, self._catalog.types_of(view.expression), view.expression)
            table = tables[found[0]]
            stored = None if table.relation is None else Relation(table.relation)
            columns, types = tuple(one.name for one in table.columns), tuple(one.column_type for one in table.columns)
            return Source(called, columns, types, stored, table if stored is None else None)
        raise self._refusals.unknown(name.at, "table", name.text, (*named, *tables, *views))

    def _join(
        self, join: exp.Join, source: Source, at: int, group: Sequence[Source], scope: Scope, named: _Named
    ) -> list[BoundCondition]:
        kind, method = str(join.args.get("kind") or ""), str(join.args.get("method") or "")
        on, using = join.args.get("on"), join.args.get("using") or ()
        if join.args.get("side") or kind not in ("", "CROSS", "INNER") or method not in ("", "NATURAL"):
            raise self._refusals.at(at, f"{method or kind} JOIN is not supported")
        if bool(on) + bool(using) + (kind == "CROSS") + bool(method) > 1:
            raise self._refusals.at(at, "a join has one of ON, USING, NATURAL and CROSS")
        if on is not None:
            return [self._condition(on, scope, named)]
        wanted = [self._syntax.name_of(one) for one in using]
        if method:
            wanted = [Name(column, True, at) for column in source.columns if scope.named(Name(column, False, at), group)]
            if not wanted:
                reason = f"{source.name} has no column in common with the tables before it: write CROSS JOIN"
                raise self._refusals.at(at, reason)
        found: list[BoundCondition] = []
        for name in wanted:
            lefts = scope.named(Name(name.text, name.quoted and not method, name.at), group)
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

    def _item(self, node: exp.Expr) -> tuple[_Item, str | None, int]:
        """Return what an item of a SELECT shows, its alias, and where it begins."""
        alias = None
        if isinstance(node, exp.Alias):
            alias, node = self._syntax.name_of(node.args["alias"]).text, node.this
        at, node = self._syntax.offset(node), bare(node)
        if isinstance(node, exp.Star):
            return _All(None), alias, at
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            return _All(self._syntax.name_of(node.args["table"])), alias, at
        return self._syntax.term(node), alias, at

    def _unread(self, select: exp.Select, scope: Scope) -> None:
        for node in select.expressions:
            item, _, _ = self._item(node)
            if isinstance(item, ColumnName):
                scope.column(item)
            elif isinstance(item, _All) and item.table is not None:
                scope.table(item.table)

    def _outputs(self, select: exp.Select, scope: Scope) -> tuple[tuple[Reference, ...], tuple[str, ...]]:
        found: dict[str, Reference] = {}
        for node in select.expressions:
            item, alias, at = self._item(node)
            if isinstance(item, _All):
                if alias is not None:
                    raise self._refusals.at(at, "* has no alias")
                wanted = scope.visible() if item.table is None else references_of(scope.table(item.table))
            elif isinstance(item, Constant):
                raise self._syntax.for_stored_rows(node, f"predicted rows show no constant ({item.text})")
            else:
                wanted = [scope.column(item)]
            for one in wanted:
                if one in found.values():
                    raise self._refusals.at(at, f"{one} is selected twice", "name-taken")
                column = alias or one.name
                if isinstance(item, _All) and column in found:
                    column = str(one)
                if column in found:
                    reason = f"two columns of the result are called {column!r}: name one with AS"
                    raise self._refusals.at(at, reason, "name-taken")
                if one.source not in scope.sources:
                    reason = f"{one} is a column of the query around this one: select one of its own"
                    raise self._refusals.at(at, reason)
                found[column] = one
        return tuple(found.values()), tuple(found)

    def _condition(self, node: exp.Expr, scope: Scope, named: _Named) -> BoundCondition:
        check_time()
        node = bare(node)
        match node:
            case exp.And() | exp.Or():
                parts = tuple(self._condition(one, scope, named) for one in parts_of(node, type(node)))
                return Both(parts) if isinstance(node, exp.And) else Either(parts)
            case exp.Not():
                return negated(self._condition(node.this, scope, named))
            case exp.EQ() | exp.NEQ() if self._is_about_entities(node, scope):
                left, right = self._syntax.term(node.this), self._syntax.term(node.args["expression"])
                return self._comparison(left, right, isinstance(node, exp.EQ), self._syntax.offset(node), scope)
            case exp.Exists():
                return self._has_row(self.query(node.this, scope, named, is_read=False), ())
            case exp.In() if node.args.get("query") is not None or self._is_about_entities(node, scope):
                return self._membership(node, scope, named)
            case _ if type(node) in PREDICATES:
                return self._demand(node, scope)
        raise self._syntax.no_condition(node)

    def _is_about_entities(self, node: exp.Expr, scope: Scope) -> bool:
        """Return whether a comparison is one of entities, which facts decide, and not of stored values."""
        if isinstance(node, exp.In) and not node.expressions:
            raise self._syntax.refused(node, "IN () without values is not supported")
        parts = [node.this, *(node.expressions if isinstance(node, exp.In) else [node.args["expression"]])]
        if not all(
            isinstance(bare(one), exp.Column | exp.Literal | exp.Subquery | exp.Select | exp.Tuple | exp.Neg)
            for one in parts
        ):
            return False
        columns = [scope.column(self._column_name(one)) for one in parts if isinstance(bare(one), exp.Column)]
        if len(columns) == 1 and _use(columns[0]) == "label":
            return True
        return bool(columns) and not any(
            _use(one) in ("row", "label") or self._catalog.is_grouped(one.column_type) for one in columns
        )

    def _demand(self, node: exp.Expr, scope: Scope) -> Demand:
        """Return what a condition demands of the values of one row, each of which is stored or predicted."""
        if (query := node.find(exp.Select, exp.Subquery)) is not None:
            raise self._syntax.for_stored_rows(query, "predicted rows are compared with no query as a value")
        copy, plain = node.copy(), node.copy()
        found = [(one, scope.column(self._column_name(one))) for one in copy.find_all(exp.Column)]
        sources = dict.fromkeys(column.source for _, column in found)
        if not sources:
            raise self._syntax.for_stored_rows(node, "a condition on predicted rows names a column")
        if len(sources) > 1:
            several = " and ".join(dict.fromkeys(str(column) for _, column in found))
            raise self._syntax.for_stored_rows(
                node, f"{several} are of two rows, and predicted values are compared within one"
            )
        (source,) = sources
        if source.table is None or source.table.key is None:
            reason = f"predicted rows of {source.name} are compared by = and <> alone, for they have no key"
            raise self._syntax.for_stored_rows(node, reason)
        for one, column in found:
            one.replace(exp.column(exp.to_identifier(column.name, quoted=True)))
        for one in plain.find_all(exp.Column):
            one.replace(exp.column(one.this.copy()))
        text, sql = plain.sql(dialect=DIALECT), copy.sql(dialect=DIALECT)
        return Demand(source, sql, text, tuple(dict.fromkeys(column.name for _, column in found)))

    def _column_name(self, node: exp.Expr) -> ColumnName:
        """Return the name that a column is."""
        term = self._syntax.term(node)
        if isinstance(term, Constant):
            raise self._syntax.unlisted(node)
        return term

    def _comparison(
        self, left: ColumnName | Constant, right: ColumnName | Constant, equal: bool, at: int, scope: Scope
    ) -> BoundCondition:
        if isinstance(left, Constant):
            left, right = right, left
        if isinstance(left, Constant):
            raise self._refusals.at(at, "two constants are compared: a condition compares a column")
        column = scope.column(left)
        if isinstance(right, Constant):
            if column.source.table is not None and _use(column) == "label":
                return self._called(column, column.source.table, right, equal)
            self._check_use(column, left.at)
            return Equality(column, self._entity(right, column), equal)
        other = scope.column(right)
        self._check_use(column, left.at)
        self._check_use(other, right.at)
        return self._equality(column, other, equal, at)

    def _called(self, column: Reference, table: CatalogTable, label: Constant, equal: bool) -> BoundCondition:
        """Return that a row is, or is not, one of those that people call so."""
        try:
            entities = self._catalog.called(label.text, table)
        except RelatumError as error:
            raise self._refusals.of(label.at, error) from None
        key = Reference(column.source, table.key or 0)
        each = tuple(Equality(key, entity, True) for entity in entities)
        return Either(each) if equal else negated(Either(each))

    def _membership(self, node: exp.In, scope: Scope, named: _Named) -> BoundCondition:
        left, at, query = node.this, self._syntax.offset(node), node.args.get("query")
        if query is None:
            term = self._syntax.term(left)
            listed = [(self._syntax.term(one), self._syntax.offset(one)) for one in node.expressions]
            return Either(tuple(self._comparison(term, one, True, where, scope) for one, where in listed))
        terms = [self._syntax.term(one) for one in (left.expressions if isinstance(left, exp.Tuple) else [left])]
        found = self.query(query, scope, named)
        if len(terms) != len(columns := found.outputs):
            raise self._refusals.at(at, f"IN compares {len(terms)} columns with a query of {len(columns)}")
        row: list[Constant | Reference] = []
        for term in terms:
            row.append(scope.column(term) if isinstance(term, ColumnName) else term)
            if isinstance(row[-1], Reference):
                self._check_use(row[-1], term.at)
        return self._member(row, found, at)

    def _member(self, row: Sequence[Constant | Reference], query: BoundQuery, at: int) -> BoundCondition:
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
            else:
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
            reason = f"{left} holds entities of type {types[0]!r} and {right} of type {types[1]!r}: they are never the same"
            raise self._syntax.stored_rows_only(at, reason)
        if any(self._catalog.is_grouped(one.column_type) for one in (left, right)):
            raise self._syntax.stored_rows_only(
                at, f"{left} and {right} are compared by their values, which two predicted rows lack"
            )

    def _check_use(self, column: Reference, at: int) -> None:
        if _use(column) in ("label", "row"):
            raise self._syntax.stored_rows_only(at, f"{column} is in no fact, and nothing is predicted of it")

    def _entity(self, constant: Constant, column: Reference) -> str:
        if self._catalog.is_grouped(column.column_type):
            raise self._syntax.stored_rows_only(constant.at, f"{column} is compared by its values")
        try:
            found = self._catalog.entity(constant.text, column.column_type, str(column), is_number=constant.is_number)
        except RelatumError as error:
            raise self._refusals.of(constant.at, error) from None
        stored = found if column.column_type is None else found.removeprefix(column.column_type.prefix)
        if stored != constant.text:
            self.values[constant.at] = stored
        return found


def _use(column: Reference) -> str:
    return "cell" if column.source.table is None else column.source.table.columns[column.index].use
