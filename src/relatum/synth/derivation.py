"""Algorithm 3 of the paper, on relations: each derived one applies an operation to relations that are there already.

How many of each operation and depth there are to be is planned beforehand, and derived from the shallowest up, so that every
operation and every depth has its share. What an operation is applied to is drawn, and drawn again, a bounded number of
times, when the result would be empty, small or trivial.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from relatum.algebra import Difference, Expression, Project, Relation, Rename, Union, evaluate
from relatum.algebra.node import post_order
from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.synth.erdos_renyi import numbered_names
from relatum.synth.sampling import apportion
from relatum.synth.settings import SynthSettings

_LEAST_ARITY = 2  # of a derived relation
_EQUAL = 0.3  # of selections are by equality of two positions; the others are by a constant
# A difference takes at least and at most this share of its left side away, and a union's smaller side shares as much.
OVERLAP = (0.1, 0.9)

# Why a drawn operation is drawn again.
_NO_OPERAND = "no operand"  # no relation can take this operation at this depth
_SMALL = "too few tuples"  # empty, or below the least number of tuples
_TRIVIAL = "trivial"  # it has the tuples of a relation that is there, or two operations that are one
_OVERLAP = "overlap"  # the two sides share too little or too much


class _RefusalError(Exception):
    """What was drawn will not do; the only argument says why."""


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A relation of the ground truth: all its tuples, int32[arity, n], sorted, and the families it descends from."""

    name: str
    expression: Expression
    columns: Ids
    families: frozenset[int]

    @property
    def arity(self) -> int:
        """The number of entities in each tuple."""
        return len(self.columns)

    def __len__(self) -> int:
        return int(self.columns.shape[1])


_Proposal = tuple[Expression, tuple[Member, ...]]  # an expression, and the relations that it is applied to


class _Deriver:
    """Draws derived relations, and keeps all in the order in which they were made; no two have the same tuples."""

    def __init__(self, graph: Hypergraph, settings: SynthSettings, rng: np.random.Generator) -> None:
        self.graph, self.settings, self.rng = graph, settings, rng
        self.members: list[Member] = []
        self._known: dict[Expression, Ids] = {}  # what `evaluate` need not work out again
        self._by_depth = defaultdict[int, list[Member]](list)
        self._by_family = defaultdict[tuple[int, int], list[Member]](list)
        self._contents: set[tuple[int, bytes]] = set()

    def add(self, member: Member) -> None:
        """Take a relation in."""
        self.members.append(member)
        self._known[member.expression] = member.columns
        self._by_depth[member.expression.depth].append(member)
        for family in member.families:
            self._by_family[member.arity, family].append(member)
        self._contents.add(_content(member.columns))

    def draw(self, operation: str, depth: int, name: str) -> Member:
        """Return a relation that is new, from an operation on a random relation one operation short of `depth`.

        Large relations are likelier, as in the paper, which draws a tuple to apply an operation to and so, in effect, its
        relation; but only by the root of their size, lest the descendants of a few make up most of the data.
        """
        keeps_arity = operation in ("rename", "union", "difference")
        least_arity = _LEAST_ARITY if keeps_arity else _LEAST_ARITY + 1
        found = [member for member in self._by_depth[depth - 1] if member.arity >= least_arity]
        if not found:
            raise _RefusalError(_NO_OPERAND)
        weights = np.sqrt([len(member) for member in found])
        member = found[int(self.rng.choice(len(found), p=weights / weights.sum()))]
        expression, operands = _PROPOSALS[operation](self, member)
        columns = self._evaluated(expression)
        self._check(expression, operands, columns)
        return Member(name, expression, columns, frozenset().union(*(operand.families for operand in operands)))

    def _evaluated(self, expression: Expression) -> Ids:
        return evaluate(expression, self.graph, known=self._known).columns

    def _check(self, expression: Expression, operands: tuple[Member, ...], columns: Ids) -> None:
        size = columns.shape[1]
        if isinstance(expression, Union | Difference):
            left, right = map(len, operands)
            is_difference = isinstance(expression, Difference)
            taken = (left - size) / left if is_difference else (left + right - size) / min(left, right)
            if not OVERLAP[0] <= taken <= OVERLAP[1]:
                raise _RefusalError(_OVERLAP)
        if size < self.settings.least_tuples:
            raise _RefusalError(_SMALL)
        if _content(columns) in self._contents:
            raise _RefusalError(_TRIVIAL)

    def rename(self, member: Member) -> _Proposal:
        """Return a relation with its positions in another order."""
        if isinstance(member.expression, Rename):
            raise _RefusalError(_TRIVIAL)  # two renamings are one
        same = list(range(member.arity))
        while (order := self.rng.permutation(member.arity).tolist()) == same:
            pass
        return member.expression.permute(*order), (member,)

    def project(self, member: Member) -> _Proposal:
        """Return some positions of a relation."""
        if isinstance(member.expression, Project):
            raise _RefusalError(_TRIVIAL)  # two projections are one
        size = int(self.rng.integers(_LEAST_ARITY, member.arity))
        # In the order in which they stand: a projection that also renames would be two operations.
        kept = np.sort(self.rng.permutation(member.arity)[:size]).tolist()
        return member.expression.project(*kept), (member,)

    def select_constant(self, member: Member) -> _Proposal:
        """Return the tuples of a relation that hold an entity at a position."""
        positions, values, counts = _frequencies(member.columns)
        enough = np.flatnonzero((counts >= self.settings.least_tuples) & (counts < len(member)))
        if not enough.size:
            raise _RefusalError(_SMALL)
        # A constant is as likely as it is frequent, at whatever position, so that results are not all as small as may be.
        chosen = int(self.rng.choice(enough, p=counts[enough] / counts[enough].sum()))
        entity = self.graph.entities[int(values[chosen])]
        return member.expression.select(int(positions[chosen]), entity), (member,)

    def select_equal(self, member: Member) -> _Proposal:
        """Return the tuples of a relation that hold the same entity at two positions."""
        fitting = [
            (dropped, kept)
            for dropped, kept in itertools.permutations(range(member.arity), 2)
            if self.settings.least_tuples <= np.count_nonzero(member.columns[dropped] == member.columns[kept]) < len(member)
        ]
        if not fitting:
            raise _RefusalError(_SMALL)
        return member.expression.select_equal(*fitting[self.rng.integers(len(fitting))]), (member,)

    def combine(self, member: Member, operation: Callable[[Expression, Expression], Expression]) -> _Proposal:
        """Return a union or difference of a relation and its like, in random order."""
        other = self._mirrored(member) if self.rng.random() < 0.5 else None
        if other is None:
            others = self._kin(member)
            if not others:
                raise _RefusalError(_NO_OPERAND)
            other = others[self.rng.integers(len(others))]
        sides = (member, other) if self.rng.random() < 0.5 else (other, member)
        return operation(sides[0].expression, sides[1].expression), sides

    def _kin(self, member: Member) -> list[Member]:
        """Return the others of the same arity, no deeper, that have an ancestor in common with `member`."""
        found = {
            other.name: other
            for family in sorted(member.families)
            for other in self._by_family[member.arity, family]
            if other is not member and other.expression.depth <= member.expression.depth
        }
        return list(found.values())

    def _mirrored(self, member: Member) -> Member | None:
        """Return the same operations on another relation of the elementary one's family, or None.

        Among stored relations the like of it is rare, and unions below the first depth would hardly be found. Only for a
        chain of operations on one relation: replacing a relation by its sibling could make both sides equal.
        """
        chain = post_order(member.expression, lambda node: node.children)
        if len(chain) == 1 or any(len(node.children) > 1 for node in chain):
            return None
        (leaf,) = (found for found in self._by_depth[0] if found.expression == chain[0])
        siblings = [other for other in self._kin(leaf) if other.expression.depth == 0]
        if not siblings:
            return None
        expression = siblings[self.rng.integers(len(siblings))].expression
        for node in chain[1:]:
            expression = dataclasses.replace(node, child=expression)  # type: ignore[type-var]
        columns = self._evaluated(expression)
        return Member("", expression, columns, member.families) if columns.size else None


def _content(columns: Ids) -> tuple[int, bytes]:
    return len(columns), hashlib.sha256(columns.tobytes()).digest()


def _frequencies(columns: Ids) -> tuple[Int64, Ids, Int64]:
    """Return position, entity and count of every entity at every position of a relation."""
    found = [np.unique(column, return_counts=True) for column in columns]
    positions = np.repeat(np.arange(len(found)), [len(values) for values, _ in found])
    return positions, np.concatenate([values for values, _ in found]), np.concatenate([counts for _, counts in found])


# The two selections of the paper are planned apart: one by equality is harder to find, and would else be crowded out.
_PROPOSALS: dict[str, Callable[[_Deriver, Member], _Proposal]] = {
    "rename": _Deriver.rename,
    "project": _Deriver.project,
    "select by equality": _Deriver.select_equal,
    "select by constant": _Deriver.select_constant,
    "union": lambda deriver, member: deriver.combine(member, operator.or_),
    "difference": lambda deriver, member: deriver.combine(member, operator.sub),
}


def derive(
    graph: Hypergraph,
    family_of: Mapping[str, int],
    settings: SynthSettings,
    rng: np.random.Generator,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[list[Member], dict[str, int], dict[str, int]]:
    """Return the elementary relations of `graph` and the relations derived from them; `advance` counts the latter.

    Beside them it says how often something was drawn again, by reason, and how many planned relations could not be made in
    the given number of tries, by operation.
    """
    deriver = _Deriver(graph, settings, rng)
    for schema in graph.schema:
        elementary = Relation(schema)
        columns = evaluate(elementary, graph).columns
        deriver.add(Member(schema.name, elementary, columns, frozenset([family_of[schema.name]])))
    names = numbered_names("d", settings.derived)
    redrawn: Counter[str] = Counter()
    given_up: Counter[str] = Counter()
    for depth, operation in _plan(settings, rng):
        for _ in range(settings.tries):
            try:
                deriver.add(deriver.draw(operation, depth, names[len(deriver.members) - len(graph.schema)]))
                break
            except _RefusalError as reason:
                redrawn[str(reason)] += 1
        else:
            given_up[operation] += 1
        advance(1)
    return deriver.members, dict(sorted(redrawn.items())), dict(sorted(given_up.items()))


def _plan(settings: SynthSettings, rng: np.random.Generator) -> Iterator[tuple[int, str]]:
    """Yield the depth and operation of each relation to be derived, the shallowest first."""
    weights = {**settings.operations}
    select = weights.pop("select")
    weights |= {"select by equality": select * _EQUAL, "select by constant": select * (1 - _EQUAL)}
    cells = [(depth, operation) for depth in range(1, len(settings.depths) + 1) for operation in _PROPOSALS]
    counts = apportion(settings.derived, [settings.depths[depth - 1] * weights[operation] for depth, operation in cells])
    planned = [cell for cell, count in zip(cells, counts.tolist(), strict=True) for _ in range(count)]
    # Within a depth in random order: the numbers of derived relations should say nothing about their operations.
    keys = rng.random(len(planned))
    for index in sorted(range(len(planned)), key=lambda index: (planned[index][0], keys[index])):
        yield planned[index]
