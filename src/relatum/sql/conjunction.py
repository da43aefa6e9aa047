"""What must hold together, as one expression in a normal form: sources that share variables, and tests of these.

    sold(s, b, i), likes(b, i), b <> 'drew'   ->   join[1 = 0, 2 = 1](sold, filter[1 != drew](likes)) ...

`absorb` takes an expression apart into sources and variables, and `build` puts an expression together; building what was
absorbed gives an expression that stays as it is when that is done once more. So one query has one form, however it was
written.
"""

from __future__ import annotations

from collections.abc import Sequence

from relatum.algebra import Expression, Filter, Join, Product, Project, Rename, SelectConstant, SelectEqual
from relatum.errors import DataError
from relatum.time_limit import check_time

_MOST_SOURCES = 64

# A test that two variables, or a variable and an entity, are equal or unequal.
_Test = tuple[int, int | str, bool]


class Conjunction:
    """Sources and what must hold of their columns, which are numbered as they come; a column is in a class of equals.

    Attributes:
        sources: relations, and what stays in one piece, each with its columns.
        unequal: which columns must hold something else than another one, or than an entity.
        is_empty: whether a column must hold two entities at once.
    """

    def __init__(self) -> None:
        self.sources: list[tuple[Expression, tuple[int, ...]]] = []
        self._parents: list[int] = []
        self._constants: dict[int, str] = {}  # by the root of a class
        self.unequal: list[tuple[int, int | str]] = []
        self.is_empty = False

    def free(self) -> int:
        """Return a column that is of no source as yet."""
        self._parents.append(len(self._parents))
        return len(self._parents) - 1

    def root(self, column: int) -> int:
        """Return the column that stands for the class of a column."""
        while self._parents[column] != column:
            self._parents[column] = self._parents[self._parents[column]]
            column = self._parents[column]
        return column

    def constant(self, column: int) -> str | None:
        """Return the entity that a column must hold, or None."""
        return self._constants.get(self.root(column))

    def columns(self) -> set[int]:
        """Return the columns of sources."""
        return {column for _, columns in self.sources for column in columns}

    def equate(self, one: int, other: int | str) -> None:
        """Demand that a column holds what another column holds, or an entity."""
        if isinstance(other, str):
            known = self._constants.setdefault(self.root(one), other)
            self.is_empty |= known != other
            return
        kept, dropped = sorted((self.root(one), self.root(other)))
        if kept != dropped:
            self._parents[dropped] = kept
            if (constant := self._constants.pop(dropped, None)) is not None:
                self.equate(kept, constant)

    def differ(self, one: int, other: int | str) -> None:
        """Demand that a column holds something else than another column, or than an entity."""
        self.unequal.append((one, other))

    def add(self, source: Expression) -> list[int]:
        """Return the columns of one more source, which stays in one piece."""
        if len(self.sources) >= _MOST_SOURCES:
            raise DataError("over-limit", f"a query joins more than {_MOST_SOURCES} tables")
        columns = [self.free() for _ in range(source.arity)]
        self.sources.append((source, tuple(columns)))
        return columns

    def absorb(self, node: Expression, *, first: bool = False) -> list[int]:
        """Return the columns of an expression whose sources join these, behind them or before; joins are taken apart."""
        before = len(self.sources)
        columns = self._absorb(node)
        if first:
            self.sources = self.sources[before:] + self.sources[:before]
        return columns

    def _absorb(self, node: Expression) -> list[int]:
        check_time()
        match node:
            case Project(child, positions) | Rename(child, positions):
                columns = self._absorb(child)
                return [columns[position] for position in positions]
            case SelectConstant(child, dropped, entity):
                columns = self._absorb(child)
                self.equate(columns[dropped], entity)
                return columns[:dropped] + columns[dropped + 1 :]
            case SelectEqual(child, dropped, kept):
                columns = self._absorb(child)
                self.equate(columns[kept], columns[dropped])
                return columns[:dropped] + columns[dropped + 1 :]
            case Filter(child, position, other, equal):
                columns = self._absorb(child)
                target = other if isinstance(other, str) else columns[other]
                (self.equate if equal else self.differ)(columns[position], target)
                return columns
            case Product(left, right):
                return self._absorb(left) + self._absorb(right)
            case Join(left, right, pairs):
                lefts, rights = self._absorb(left), self._absorb(right)
                for p, q in pairs:
                    self.equate(lefts[p], rights[q])
                return lefts + [rights[position] for position in node.rest]
            case _:
                return self.add(node)

    def build(self, outputs: Sequence[int]) -> Expression | None:
        """Return the expression whose columns are `outputs`, each of which stands there once; None if nothing can hold."""
        check_time()
        unequal = self._inequalities()
        if unequal is None:
            return None
        variables, tests = self._variables(outputs, unequal)
        shown = {variables[column] for column in outputs}
        joined = [_joined(group, tests) for group in _groups(self._parts(variables, set(outputs)), tests)]
        # What is put out comes first: of the rest it only matters that there is some.
        (found, names), *others = sorted(joined, key=lambda one: not shown.intersection(one[1]))
        for other, theirs in others:
            found, names = Product(found, other), names + theirs
        wanted = tuple(names.index(variables[column]) for column in outputs)
        if wanted == tuple(range(found.arity)):
            return found
        return Rename(found, wanted) if len(wanted) == found.arity else Project(found, wanted)

    def _inequalities(self) -> list[tuple[int, int | str]] | None:
        """Return the inequalities between classes that are not so anyway; None if something can never hold."""
        if self.is_empty:
            return None
        found: dict[tuple[int, int | str], None] = {}
        for one, other in self.unequal:
            left: int | str = self._constants.get(self.root(one), self.root(one))
            right = other if isinstance(other, str) else self._constants.get(self.root(other), self.root(other))
            if left == right:
                return None
            if isinstance(left, str) and isinstance(right, str):
                continue
            if isinstance(left, str) or (isinstance(right, int) and right < left):
                left, right = right, left
            if isinstance(left, int):
                found[left, right] = None
        return list(found)

    def _variables(
        self, outputs: Sequence[int], unequal: Sequence[tuple[int, int | str]]
    ) -> tuple[dict[int, int], list[_Test]]:
        """Return the variable of each column, named by a column, and the tests.

        Equal columns are one variable, but of several that are put out, each needs a column of its own: the first is the
        variable of the class, and the others are tested against it. One that holds a constant is tested where it is put
        out, and is else selected by its source.
        """
        first: dict[int, int] = {}
        own: set[int] = set()
        tests: list[_Test] = []
        for column in outputs:
            root = self.root(column)
            if root in self._constants:
                own.add(column)
                tests.append((column, self._constants[root], True))
            elif first.setdefault(root, column) != column:
                own.add(column)
                tests.append((first[root], column, True))
        variables: dict[int, int] = {}
        for column in sorted(self.columns()):
            root = self.root(column)
            variables[column] = column if column in own or root in self._constants else first.get(root, root)
        for left, right in unequal:
            tests.append((first.get(left, left), right if isinstance(right, str) else first.get(right, right), False))
        return variables, tests

    def _parts(self, variables: dict[int, int], outputs: set[int]) -> list[_Part]:
        """Return each source with its constants selected, and no variable twice."""
        found = [_Part(source, columns) for source, columns in self.sources]
        for part in found:
            held = {
                column: self._constants[self.root(column)] for column in part.columns if self.root(column) in self._constants
            }
            part.select(held, outputs)
            part.unify(variables)
        return found


def _groups(parts: Sequence[_Part], tests: Sequence[_Test]) -> list[list[_Part]]:
    """Return the parts in groups that share neither variables nor tests, in the order of their first parts."""
    groups = [(set(part.columns), [index]) for index, part in enumerate(parts)]
    links = [set(part.columns) for part in parts] + [{one, other} for one, other, _ in tests if isinstance(other, int)]
    for link in links:
        touching = [group for group in groups if group[0] & link]
        if len(touching) > 1:
            merged = set[int]().union(*(names for names, _ in touching)), sorted(n for _, some in touching for n in some)
            groups = [group for group in groups if group not in touching] + [merged]
    return [[parts[index] for index in indices] for _, indices in sorted(groups, key=lambda group: group[1][0])]


def _joined(group: Sequence[_Part], tests: list[_Test]) -> tuple[Expression, list[int]]:
    """Return the join of parts, and its variables.

    The parts come in an order in which each shares variables with one before it, if any does. A test is made where all that
    it needs is there, and then taken off the list.
    """
    waiting, ordered, seen = list(group), list[_Part](), set[int]()
    while waiting:
        part = next((part for part in waiting if seen.intersection(part.columns)), waiting[0])
        waiting.remove(part)
        ordered.append(part)
        seen.update(part.columns)
    tested = [_tested(part.found, part.columns, tests) for part in ordered]
    found, names = tested[0], ordered[0].columns
    for other, part in zip(tested[1:], ordered[1:], strict=True):
        shared = tuple((names.index(name), index) for index, name in enumerate(part.columns) if name in names)
        found = Join(found, other, shared) if shared else Product(found, other)
        names = names + [name for name in part.columns if name not in names]
        found = _tested(found, names, tests)
    return found, names


class _Part:
    """A source on its way into a join: the expression, and what its columns hold."""

    def __init__(self, source: Expression, columns: Sequence[int]) -> None:
        self.found, self.columns = source, list(columns)

    def select(self, constants: dict[int, str], outputs: set[int]) -> None:
        """Select by the constants of columns that are not put out; one column must stay."""
        dropped = [index for index, column in enumerate(self.columns) if column in constants and column not in outputs]
        if len(dropped) == len(self.columns):
            self.found = Filter(self.found, 0, constants[self.columns[0]], True)
            dropped = dropped[1:]
        for index in reversed(dropped):
            self.found = SelectConstant(self.found, index, constants[self.columns[index]])
            del self.columns[index]

    def unify(self, variables: dict[int, int]) -> None:
        """Name the columns by their variables, each of which stays once."""
        self.columns = [variables[column] for column in self.columns]
        for index in reversed(range(len(self.columns))):
            kept = self.columns.index(self.columns[index])
            if kept < index:
                self.found = SelectEqual(self.found, index, kept)
                del self.columns[index]


def _tested(found: Expression, names: Sequence[int], tests: list[_Test]) -> Expression:
    """Return an expression with the tests made that can be; they are done with, and taken off the list."""
    able = [test for test in tests if test[0] in names and (isinstance(test[1], str) or test[1] in names)]
    tests[:] = [test for test in tests if test not in able]
    located = set()
    for one, other, equal in able:
        position = names.index(one)
        if isinstance(other, str):
            located.add((position, 1, other, equal))
        else:
            low, high = sorted((position, names.index(other)))
            located.add((low, 0, str(high).zfill(6), equal))
    for position, is_entity, other, equal in sorted(located):
        found = Filter(found, position, other if is_entity else int(other), equal)
    return found
