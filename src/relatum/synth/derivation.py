"""Algorithm 3 of the paper, on relations: each derived one applies an operation to relations that are there already.

How many of each operation and depth there are to be is planned beforehand, and derived from the shallowest up, so that every
operation and every depth has its share. What an operation is applied to is drawn, and drawn again, a bounded number of
times, when the result would be empty, small or trivial.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True)
class DerivedRelations:
    """The ground truth: all relations with all their tuples, elementary ones first.

    Attributes:
        members: the relations.
        redrawn: how often something was drawn again, by reason.
        given_up: how many planned relations could not be made in the given number of tries, by operation.
    """

    members: tuple[Member, ...]
    redrawn: Mapping[str, int]
    given_up: Mapping[str, int]


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


def _rename(drawer: Drawer, member: Member) -> Proposal | Refusal:
    if isinstance(member.expression, Rename):
        return Refusal.TRIVIAL  # two renamings are one
    same = list(range(member.arity))
    while (order := drawer.rng.permutation(member.arity).tolist()) == same:
        pass
    return Proposal(member.expression.permute(*order), (member,))


def _project(drawer: Drawer, member: Member) -> Proposal | Refusal:
    if isinstance(member.expression, Project):
        return Refusal.TRIVIAL  # two projections are one
    size = int(drawer.rng.integers(_LEAST_ARITY, member.arity))
    # In the order in which they stand: a projection that also renames would be two operations.
    kept = np.sort(drawer.rng.permutation(member.arity)[:size]).tolist()
    return Proposal(member.expression.project(*kept), (member,))


def _select_constant(drawer: Drawer, member: Member) -> Proposal | Refusal:
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


def _select_equal(drawer: Drawer, member: Member) -> Proposal | Refusal:
    fitting = [
        (dropped, kept)
        for dropped, kept in itertools.permutations(range(member.arity), 2)
        if drawer.settings.least_tuples <= np.count_nonzero(member.columns[dropped] == member.columns[kept]) < len(member)
    ]
    if not fitting:
        return Refusal.SMALL
    return Proposal(member.expression.select_equal(*fitting[drawer.rng.integers(len(fitting))]), (member,))


def _two_sides(drawer: Drawer, member: Member) -> tuple[Member, Member] | None:
    """Return a relation and another of its arity with an ancestor in common, no deeper, in random order."""
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


def _union(drawer: Drawer, member: Member) -> Proposal | Refusal:
    sides = _two_sides(drawer, member)
    return Proposal(sides[0].expression | sides[1].expression, sides) if sides else Refusal.NO_OPERAND


def _difference(drawer: Drawer, member: Member) -> Proposal | Refusal:
    sides = _two_sides(drawer, member)
    return Proposal(sides[0].expression - sides[1].expression, sides) if sides else Refusal.NO_OPERAND


# The two selections of the paper are planned apart: one by equality is harder to find, and would else be crowded out.
_PROPOSALS: dict[str, Callable[[Drawer, Member], Proposal | Refusal]] = {
    "rename": _rename,
    "project": _project,
    "select by equality": _select_equal,
    "select by constant": _select_constant,
    "union": _union,
    "difference": _difference,
}


def _propose(drawer: Drawer, operation: str, depth: int) -> Proposal | Refusal:
    """Return a random application of an operation to a random relation one operation short of `depth`, or why not.

    Large relations are likelier, as in the paper, which draws a tuple to apply an operation to and so, in effect, its
    relation; but only by the root of their size, lest the descendants of a few make up most of the data.
    """
    keeps_arity = operation in ("rename", "union", "difference")
    found = drawer.pool.at_depth(depth - 1, _LEAST_ARITY if keeps_arity else _LEAST_ARITY + 1)
    if not found:
        return Refusal.NO_OPERAND
    weights = np.sqrt([len(member) for member in found])
    member = found[int(drawer.rng.choice(len(found), p=weights / weights.sum()))]
    return _PROPOSALS[operation](drawer, member)


def derive(
    graph: Hypergraph,
    family_of: Mapping[str, int],
    settings: SynthSettings,
    rng: np.random.Generator,
    advance: Callable[[int], None] = lambda _: None,
) -> DerivedRelations:
    """Return the elementary relations of `graph` and the relations derived from them; `advance` counts them."""
    pool = Pool()
    for schema in graph.schema:
        elementary = Relation(schema)
        columns = evaluate(elementary, graph).columns
        pool.add(Member(schema.name, elementary, columns, frozenset([family_of[schema.name]])))
    drawer = Drawer(pool, graph, settings, rng)
    names = iter(numbered_names("d", settings.derived))
    redrawn: Counter[str] = Counter()
    given_up: Counter[str] = Counter()
    for depth, operation in _plan(settings, rng):
        for _ in range(settings.tries):
            found = _attempt(drawer, operation, depth)
            if not isinstance(found, Refusal):
                proposal, columns = found
                families = frozenset().union(*(operand.families for operand in proposal.operands))
                pool.add(Member(next(names), proposal.expression, columns, families))
                break
            redrawn[found.value] += 1
        else:
            given_up[operation] += 1
        advance(1)
    return DerivedRelations(tuple(pool.members), dict(sorted(redrawn.items())), dict(sorted(given_up.items())))


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


def _attempt(drawer: Drawer, operation: str, depth: int) -> tuple[Proposal, Ids] | Refusal:
    """Return a drawn relation and its tuples, or why it will not do."""
    proposal = _propose(drawer, operation, depth)
    if isinstance(proposal, Refusal):
        return proposal
    columns = evaluate(proposal.expression, drawer.graph, known=drawer.pool.known).columns
    size = columns.shape[1]
    if isinstance(proposal.expression, Union | Difference):
        left, right = map(len, proposal.operands)
        taken = (
            (left - size) / left if isinstance(proposal.expression, Difference) else (left + right - size) / min(left, right)
        )
        if not OVERLAP[0] <= taken <= OVERLAP[1]:
            return Refusal.OVERLAP
    if size < drawer.settings.least_tuples:
        return Refusal.SMALL
    if drawer.pool.holds(columns):
        return Refusal.TRIVIAL
    return proposal, columns
