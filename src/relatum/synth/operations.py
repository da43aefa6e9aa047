"""One random application of each operation of relational algebra, to operands from a pool.

A proposal is an expression of the wanted depth, or a `Refusal` that says why what was drawn would not do.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from relatum.algebra import Expression, Project, Rename, evaluate
from relatum.algebra.node import post_order
from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.synth.settings import SynthSettings


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


class Pool:
    """Relations in the order in which they were derived, found by depth and by kin; no two have the same tuples."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.known: dict[Expression, Ids] = {}  # what `evaluate` need not work out again
        self._by_depth: dict[int, list[Member]] = {}
        self._by_family: dict[tuple[int, int], list[Member]] = {}
        self._contents: set[tuple[int, bytes]] = set()

    def add(self, member: Member) -> None:
        """Take a relation in."""
        self.members.append(member)
        self.known[member.expression] = member.columns
        self._by_depth.setdefault(member.expression.depth, []).append(member)
        for family in member.families:
            self._by_family.setdefault((member.arity, family), []).append(member)
        self._contents.add(_content(member.columns))

    def at_depth(self, depth: int, least_arity: int) -> list[Member]:
        """Return the relations of one depth that have at least so many positions."""
        return [member for member in self._by_depth.get(depth, ()) if member.arity >= least_arity]

    def kin(self, member: Member) -> list[Member]:
        """Return the others of the same arity, no deeper, that have an ancestor in common with `member`."""
        found = {
            other.name: other
            for family in sorted(member.families)
            for other in self._by_family[member.arity, family]
            if other is not member and other.expression.depth <= member.expression.depth
        }
        return list(found.values())

    def holds(self, columns: Ids) -> bool:
        """Return whether some relation has exactly these tuples already."""
        return _content(columns) in self._contents


def _content(columns: Ids) -> tuple[int, bytes]:
    return len(columns), hashlib.sha256(columns.tobytes()).digest()


class Refusal(StrEnum):
    """Why a drawn operation is drawn again."""

    NO_OPERAND = "no operand"  # nothing in the pool can take this operation at this depth
    SMALL = "too few tuples"  # empty, or below the least number of tuples
    TRIVIAL = "trivial"  # it has the tuples of a relation that is there, or two operations that are one
    OVERLAP = "overlap"  # the two sides share too little or too much


@dataclass(frozen=True)
class Proposal:
    """An expression, and the relations of the pool that it is applied to."""

    expression: Expression
    operands: tuple[Member, ...]


@dataclass(frozen=True)
class Drawer:
    """What drawing needs: the pool, the elementary facts, the settings and the generator."""

    pool: Pool
    graph: Hypergraph
    settings: SynthSettings
    rng: np.random.Generator

    def operand(self, depth: int, least_arity: int) -> Member | None:
        """Return a random relation one operation short of `depth`.

        Large ones are likelier, as in the paper, which draws a tuple to apply an operation to and so, in effect, its
        relation; but only by the root of their size, lest the descendants of a few make up most of the data.
        """
        found = self.pool.at_depth(depth - 1, least_arity)
        if not found:
            return None
        weights = np.sqrt([len(member) for member in found])
        return found[int(self.rng.choice(len(found), p=weights / weights.sum()))]


def _rename(drawer: Drawer, depth: int) -> Proposal | Refusal:
    member = drawer.operand(depth, 2)
    if member is None:
        return Refusal.NO_OPERAND
    if isinstance(member.expression, Rename):
        return Refusal.TRIVIAL  # two renamings are one
    same = list(range(member.arity))
    while (order := drawer.rng.permutation(member.arity).tolist()) == same:
        pass
    return Proposal(member.expression.permute(*order), (member,))


def _project(drawer: Drawer, depth: int) -> Proposal | Refusal:
    least = drawer.settings.least_arity
    member = drawer.operand(depth, least + 1)
    if member is None:
        return Refusal.NO_OPERAND
    if isinstance(member.expression, Project):
        return Refusal.TRIVIAL  # two projections are one
    size = int(drawer.rng.integers(least, member.arity))
    # In the order in which they stand: a projection that also renames would be two operations.
    kept = np.sort(drawer.rng.permutation(member.arity)[:size]).tolist()
    return Proposal(member.expression.project(*kept), (member,))


def _select_constant(drawer: Drawer, depth: int) -> Proposal | Refusal:
    member = drawer.operand(depth, drawer.settings.least_arity + 1)
    if member is None:
        return Refusal.NO_OPERAND
    positions, values, counts = _frequencies(member.columns)
    enough = np.flatnonzero((counts >= drawer.settings.least_tuples) & (counts < len(member)))
    if not enough.size:
        return Refusal.SMALL
    # A constant is as likely as it is frequent, at whatever position, so that results are not all as small as may be.
    chosen = int(drawer.rng.choice(enough, p=counts[enough] / counts[enough].sum()))
    entity = drawer.graph.entities[int(values[chosen])]
    return Proposal(member.expression.select(int(positions[chosen]), entity), (member,))


def _frequencies(columns: Ids) -> tuple[Int64, Ids, Int64]:
    """Return position, entity and count of every entity at every position of a relation."""
    found = [np.unique(column, return_counts=True) for column in columns]
    positions = np.repeat(np.arange(len(found)), [len(values) for values, _ in found])
    return positions, np.concatenate([values for values, _ in found]), np.concatenate([counts for _, counts in found])


def _select_equal(drawer: Drawer, depth: int) -> Proposal | Refusal:
    member = drawer.operand(depth, drawer.settings.least_arity + 1)
    if member is None:
        return Refusal.NO_OPERAND
    fitting = [
        (dropped, kept)
        for dropped, kept in itertools.permutations(range(member.arity), 2)
        if drawer.settings.least_tuples <= np.count_nonzero(member.columns[dropped] == member.columns[kept]) < len(member)
    ]
    if not fitting:
        return Refusal.SMALL
    return Proposal(member.expression.select_equal(*fitting[drawer.rng.integers(len(fitting))]), (member,))


def _two_sides(drawer: Drawer, depth: int) -> tuple[Member, Member] | None:
    """Return two relations of one arity with an ancestor in common, the deeper one short of `depth`, in random order."""
    member = drawer.operand(depth, drawer.settings.least_arity)
    if member is None:
        return None
    other = _mirrored(drawer, member) if drawer.rng.random() < 0.5 else None
    if other is None:
        others = drawer.pool.kin(member)
        if not others:
            return None
        other = others[drawer.rng.integers(len(others))]
    return (member, other) if drawer.rng.random() < 0.5 else (other, member)


def _mirrored(drawer: Drawer, member: Member) -> Member | None:
    """Return the same operations on another relation of the elementary one's family, or None.

    Among stored relations the like of it is rare, and unions below the first depth would hardly be found. Only for a chain
    of operations on one relation: replacing a relation by its sibling could make both sides equal.
    """
    chain = post_order(member.expression, lambda node: node.children)
    if len(chain) == 1 or any(len(node.children) > 1 for node in chain):
        return None
    (leaf,) = (found for found in drawer.pool.at_depth(0, 1) if found.expression == chain[0])
    siblings = [other for other in drawer.pool.kin(leaf) if other.expression.depth == 0]
    if not siblings:
        return None
    expression = siblings[drawer.rng.integers(len(siblings))].expression
    for node in chain[1:]:
        expression = dataclasses.replace(node, child=expression)  # type: ignore[type-var]
    columns = evaluate(expression, drawer.graph, known=drawer.pool.known).columns
    return Member("", expression, columns, member.families) if columns.size else None


def _union(drawer: Drawer, depth: int) -> Proposal | Refusal:
    sides = _two_sides(drawer, depth)
    return Proposal(sides[0].expression | sides[1].expression, sides) if sides else Refusal.NO_OPERAND


def _difference(drawer: Drawer, depth: int) -> Proposal | Refusal:
    sides = _two_sides(drawer, depth)
    return Proposal(sides[0].expression - sides[1].expression, sides) if sides else Refusal.NO_OPERAND


# The two selections of the paper are planned apart: one by equality is harder to find, and would else be crowded out.
PROPOSALS: dict[str, Callable[[Drawer, int], Proposal | Refusal]] = {
    "rename": _rename,
    "project": _project,
    "select by equality": _select_equal,
    "select by constant": _select_constant,
    "union": _union,
    "difference": _difference,
}
