"""Bound queries as expressions: each alternative of a SELECT is a conjunction, and what must be absent is taken away.

NOT EXISTS becomes a difference. Where the absent query says what it shares with the query around it by equality, it is an
expression S of its own, over these columns: `O - S` if they are all that O has, or else `O - join(O, S)`, in which whoever
computes with probabilities sees S alone. Otherwise O joins the tables of the absent query, and these rows are taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from relatum.algebra import Difference, Expression, Intersection, Join, Project, Relation, Union
from relatum.data.schema import RelationSchema
from relatum.errors import DataError
from relatum.sql.binding import Evaluated
from relatum.sql.bound import (
    BoundQuery,
    BoundSelect,
    Branch,
    Budget,
    Reference,
    Source,
    branches,
)
from relatum.sql.catalog import Catalog, CatalogTable
from relatum.sql.conjunction import Conjunction
from relatum.sql.demands import DemandedRelation, together
from relatum.sql.scan import Refusals

MOST_BRANCHES = 64  # alternatives of one SELECT
_OPERATIONS = {"union": Union, "except": Difference, "intersect": Intersection}


@dataclass(frozen=True)
class _Outer:
    """The query around an absent one, and for each of its columns that is named there its position, or the entity in it."""

    expression: Expression
    known: Mapping[Reference, int | str]


class Translator:
    """Turns the bound queries of one text into expressions."""

    def __init__(self, catalog: Catalog, refusals: Refusals) -> None:
        self._catalog, self._refusals, self._budget = catalog, refusals, Budget()
        self.demanded: dict[str, DemandedRelation] = {}  # the relations that queries demand, by name

    def evaluated(self, query: BoundQuery) -> Evaluated:
        """Return a query's expression, or None if it can have no rows, its columns and their types."""
        expression = self.expression(query)
        types = [one.column_type for one in query.outputs] if expression is None else self._catalog.types_of(expression)
        return expression, query.names, tuple(types)

    def expression(self, query: BoundQuery) -> Expression | None:
        """Return the expression of a query, whose columns are those of the result; None if it can have no rows."""
        if isinstance(query, BoundSelect):
            return self._of_select(query, merge=False)[0]
        left, right = self.expression(query.left), self.expression(query.right)
        if left is not None and right is not None:
            return _OPERATIONS[query.operation](left, right)
        if query.operation == "intersect":
            return None
        return right if left is None and query.operation == "union" else left

    def merged(self, query: BoundQuery) -> tuple[Expression | None, tuple[int, ...]]:
        """Return the expression of a whole statement, and which of its columns each one of the result is.

        Columns of the result that a join makes equal are one column of the expression, where there are no alternatives.
        """
        if isinstance(query, BoundSelect):
            return self._of_select(query, merge=True)
        return self.expression(query), tuple(range(len(query.names)))

    def _of_select(self, query: BoundSelect, *, merge: bool) -> tuple[Expression | None, tuple[int, ...]]:
        try:
            found = [Branch(query.sources) + one for one in branches(query.condition, MOST_BRANCHES, self._budget)]
            if merge and len(found) == 1:
                return self._solved(found[0], query.outputs, merge=True)
            alternatives = [self._solved(branch, query.outputs)[0] for branch in found]
        except DataError as error:
            raise self._refusals.of(query.at, error) from None
        different = dict.fromkeys(one for one in alternatives if one is not None)
        return reduce(Union, different) if different else None, tuple(range(len(query.names)))

    def _solved(
        self, branch: Branch, outputs: Sequence[Reference], *, merge: bool = False
    ) -> tuple[Expression | None, tuple[int, ...]]:
        """Return the expression over some columns of a branch, and which column each is; None if nothing can hold."""
        work = _Work(self._catalog, branch, outputs, None, self.demanded, merge=merge)
        if work.is_empty:
            return None, ()
        columns = [work.columns[one] for one in outputs]
        positions = list(range(len(columns)))
        if merge:
            roots = [work.conjunction.root(column) for column in columns]
            different = [index for index, root in enumerate(roots) if root not in roots[:index]]
            positions = [different.index(roots.index(root)) for root in roots]
            columns = [columns[index] for index in different]
        return self._without_absent(work, branch, columns), tuple(positions)

    def _taken_away(self, branch: Branch, outer: _Outer) -> tuple[Expression, tuple[tuple[int, int], ...] | None] | None:
        """Return the rows of the outer query for which a branch holds: None if there are none.

        They are all of its columns, or those that are shared with the branch, in pairs of its positions and theirs.
        """
        self._budget.spend(1)
        work = _Work(self._catalog, branch, (), outer, self.demanded)
        if work.is_empty:
            return None
        shared = work.shared()
        found = self._without_absent(work, branch, work.with_outer() if shared is None else list(shared.values()))
        if found is None:
            return None
        if shared is None or len(shared) == outer.expression.arity:
            return found, None
        return found, tuple((position, index) for index, position in enumerate(shared))

    def _without_absent(self, work: _Work, branch: Branch, columns: Sequence[int]) -> Expression | None:
        """Return the expression over some columns, without the rows for which something holds that must not."""
        conjunction, wanted, known = work.conjunction, list(columns), dict[Reference, int | str]()
        named = dict.fromkeys(one for absent in branch.absent for one in absent.references())
        for one in named:
            if one not in work.columns:
                continue  # it is of the absent query itself
            constant = conjunction.constant(work.columns[one])
            if constant is not None:
                known[one] = constant
                continue
            root = conjunction.root(work.columns[one])
            roots = [conjunction.root(column) for column in wanted]
            if root not in roots:
                wanted.append(work.real(work.columns[one]))
                roots.append(root)
            known[one] = roots.index(root)
        base = conjunction.build(wanted)
        if base is None or not branch.absent:
            return base
        outer = _Outer(base, known)
        taken = [one for one in (self._taken_away(absent, outer) for absent in branch.absent) if one is not None]
        if not taken:
            return conjunction.build(columns)
        # Whole rows first: what is left of them is what the others look at, so that it need not grow with each.
        left = reduce(Difference, (found for found, pairs in taken if pairs is None), base)
        found = reduce(Difference, (Join(left, found, pairs) for found, pairs in taken if pairs is not None), left)
        return found if len(wanted) == len(columns) else Project(found, tuple(range(len(columns))))


class _Work:
    """A conjunction of the sources and equalities of a branch, and where its columns are."""

    def __init__(
        self,
        catalog: Catalog,
        branch: Branch,
        outputs: Sequence[Reference],
        outer: _Outer | None,
        demanded: dict[str, DemandedRelation],
        *,
        merge: bool = False,
    ) -> None:
        self.conjunction, self.columns = Conjunction(), dict[Reference, int]()
        self._catalog, self._outer, self._demanded = catalog, outer, demanded
        self._demands = branch.demands
        self._named = dict.fromkeys([*outputs, *branch.references()])
        self._held = [self.conjunction.free() for _ in range(outer.expression.arity)] if outer is not None else []
        for one, where in outer.known.items() if outer is not None else ():
            self.columns[one] = self._held[where] if isinstance(where, int) else self.conjunction.free()
            if isinstance(where, str):
                self.conjunction.equate(self.columns[one], where)
        self.is_empty = any(source.expression is None and source.table is None for source in branch.sources)
        if self.is_empty:
            return
        keys = [source for source in branch.sources if not self._add(source)]
        for test in branch.equalities:
            right = test.right if isinstance(test.right, str) else self.columns[test.right]
            (self.conjunction.equate if test.equal else self.conjunction.differ)(self.columns[test.left], right)
        for source in keys:
            self._complete(source, outputs, merge=merge)

    def real(self, column: int) -> int:
        """Return a column of a source that is equal to a column: itself if it is one."""
        columns = self.conjunction.columns()
        root = self.conjunction.root(column)
        return column if column in columns else min(one for one in columns if self.conjunction.root(one) == root)

    def shared(self) -> dict[int, int] | None:
        """Return a column of a source for each position of the outer query that is named; None if one has none."""
        positions = {where for one, where in self._outer.known.items() if one in self._named} if self._outer else set()
        columns = sorted(self.conjunction.columns())
        found: dict[int, int] = {}
        for position in sorted(one for one in positions if isinstance(one, int)):
            root = self.conjunction.root(self._held[position])
            equal = [one for one in columns if self.conjunction.root(one) == root]
            if not equal or equal[0] in found.values():
                return None
            found[position] = equal[0]
        return found or None

    def with_outer(self) -> list[int]:
        """Return the columns of the outer query, which is joined to this one."""
        if self._outer is None:
            return []
        columns = self.conjunction.absorb(self._outer.expression, first=True)
        for held, column in zip(self._held, columns, strict=True):
            self.conjunction.equate(held, column)
        return columns

    def _add(self, source: Source) -> bool:
        """Add the tables of a source; return whether there were any: not for a table of which the key alone is named."""
        if source.expression is not None:
            for index, column in enumerate(self.conjunction.absorb(source.expression)):
                self.columns[Reference(source, index)] = column
            return True
        if source.table is None:
            return True
        listed = source.table.columns
        named = [one.index for one in self._named if one.source is source]
        relations = dict.fromkeys(listed[index].relation for index in sorted(named) if listed[index].relation is not None)
        key = source.table.key
        if not relations and (key is None or self._catalog.rows_of(source.table) is None):
            relations = dict.fromkeys([one.relation for one in listed if one.relation is not None][:1])
        held = self.conjunction.free()
        if key is not None:
            self.columns[Reference(source, key)] = held
        demands = together(one for one in self._demands if one.source is source)
        self._check_together(source.name, source.table, relations, key in named or bool(demands))
        narrowed: dict[RelationSchema, DemandedRelation] = {}
        of_column = {one.name: one.relation for one in listed}
        for demand in demands:
            its = of_column[demand.columns[0]] if len(demand.columns) == 1 else None
            about = its if its in relations else None  # its values are named, too
            meets = DemandedRelation(source.table.name, demand.sql, demand.text, demand.columns, about)
            self._demanded[meets.schema.name] = meets
            if about is None:
                (column,) = self.conjunction.add(Relation(meets.schema))
                self.conjunction.equate(column, held)
                if self.columns[Reference(source, key or 0)] == held:
                    self.columns[Reference(source, key or 0)] = column
            else:
                narrowed[about] = meets
        for relation in relations:
            if relation is None:
                continue
            columns = self.conjunction.add(Relation(narrowed[relation].schema if relation in narrowed else relation))
            for index, one in enumerate(listed):
                if one.relation == relation:
                    self.columns[Reference(source, index)] = columns[one.position]
            if key is not None and source.table.has_key(relation):
                self.conjunction.equate(columns[0], held)
                if self.columns[Reference(source, key)] == held:
                    self.columns[Reference(source, key)] = columns[0]
        return bool(relations) or bool(demands)

    def _check_together(
        self, name: str, table: CatalogTable, relations: Mapping[RelationSchema | None, None], key_is_named: bool
    ) -> None:
        """Refuse columns of a table that no fact has together."""
        apart = [one for one in relations if one is not None and not table.has_key(one)]
        if apart and (len(relations) > 1 or key_is_named):
            columns = " and ".join(one.name for one in table.columns if one.relation == apart[0])
            reason = f"{name}: {columns} are facts without the key, so that no other column can be named with them"
            raise DataError("sql-not-supported", reason)

    def _complete(self, source: Source, outputs: Sequence[Reference], *, merge: bool) -> None:
        """Give the key of a table, of which nothing else is named, a column, unless what it is equal to has one already."""
        if source.table is None or source.table.key is None:
            return
        one = Reference(source, source.table.key)
        held, columns = self.columns[one], self.conjunction.columns()
        taken = set() if merge else {self.columns[other] for other in outputs}
        root = self.conjunction.root(held)
        equal = sorted(column for column in columns if self.conjunction.root(column) == root)
        if one not in outputs:
            if equal or (self.conjunction.constant(held) is not None and columns):
                return
        elif free := [column for column in equal if column not in taken]:
            self.columns[one] = free[0]
            return
        if (rows := self._catalog.rows_of(source.table)) is None:
            raise DataError("sql-not-supported", f"{source.name} has no facts: name a column of it that has")
        (column,) = self.conjunction.absorb(rows)
        self.conjunction.equate(column, held)
        self.columns[one] = column
