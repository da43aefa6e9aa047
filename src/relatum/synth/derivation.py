"""Algorithm 3 of the paper, on relations: each derived one applies an operation to relations that are there already.

How many of each operation and depth there are to be is planned beforehand, and derived from the shallowest up, so that every
operation and every depth has its share. What an operation is applied to is drawn, and drawn again, a bounded number of
times, when the result would be empty, small or trivial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from relatum.algebra import Difference, Relation, Union, evaluate
from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.synth.elementary import numbered_names
from relatum.synth.operations import PROPOSALS, Drawer, Member, Pool, Proposal, Refusal
from relatum.synth.sampling import apportion
from relatum.synth.settings import SynthSettings


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
    weights |= {"select by equality": select * settings.equal, "select by constant": select * (1 - settings.equal)}
    cells = [(depth, operation) for depth in range(1, len(settings.depths) + 1) for operation in PROPOSALS]
    counts = apportion(settings.derived, [settings.depths[depth - 1] * weights[operation] for depth, operation in cells])
    planned = [cell for cell, count in zip(cells, counts.tolist(), strict=True) for _ in range(count)]
    # Within a depth in random order: the numbers of derived relations should say nothing about their operations.
    keys = rng.random(len(planned))
    for index in sorted(range(len(planned)), key=lambda index: (planned[index][0], keys[index])):
        yield planned[index]


def _attempt(drawer: Drawer, operation: str, depth: int) -> tuple[Proposal, Ids] | Refusal:
    """Return a drawn relation and its tuples, or why it will not do."""
    proposal = PROPOSALS[operation](drawer, depth)
    if isinstance(proposal, Refusal):
        return proposal
    columns = evaluate(proposal.expression, drawer.graph, known=drawer.pool.known).columns
    size = columns.shape[1]
    if isinstance(proposal.expression, Union | Difference):
        left, right = map(len, proposal.operands)
        taken = (
            (left - size) / left if isinstance(proposal.expression, Difference) else (left + right - size) / min(left, right)
        )
        least, most = drawer.settings.overlap
        if not least <= taken <= most:
            return Refusal.OVERLAP
    if size < drawer.settings.least_tuples:
        return Refusal.SMALL
    if drawer.pool.holds(columns):
        return Refusal.TRIVIAL
    return proposal, columns
