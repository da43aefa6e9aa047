"""What m-TransH and RAE (Lemma 2.1), and models whose score is a product, can never separate, whatever their parameters.

The proof, for squared distances f(x, y) = || r + a P x + b P y ||^2 of a binary relation:

1. Expanded, f(x, y) = g(x) + h(y) + 2ab <P x, P y>, and the last term is the same for (x, y) and (y, x).
2. So f(x, y) - f(y, x) = (g - h)(x) - (g - h)(y), a difference of potentials, which adds up to 0 around any cycle.
3. Around a cycle of true tuples whose reverses are false, true and false distances thus have the same sum, and no threshold
   has all true ones on one side and all false ones on the other.

With three entities it reads f12 - f21 + f23 - f32 + f31 - f13 = 0; two are no cycle, as their reverses are themselves. For
relations of higher arity take any two positions and keep the entities at the others: their part joins the translation r,
and every step stands. RAE ranks by the score of m-TransH, and inherits it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import combinations

import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph, TupleTable
from relatum.models.base import Model, Parameters
from relatum.models.translations import MTransH

Fact = tuple[str, ...]


@dataclass(frozen=True)
class Cycle:
    """Entities that follow each other in a circle at two positions of a relation, the other positions kept.

    If all of `forward` is true and all of `backward` false, it certifies that no parameters of m-TransH or RAE and no
    threshold separate that truth: the two have the same sum of scores under all parameters.

    Attributes:
        relation: the relation's name.
        entities: three or more names; after the last comes the first.
        positions: the positions, ascending, of an entity and of the one after it.
        others: the entities at the remaining positions, in their order.
    """

    relation: str
    entities: tuple[str, ...]
    positions: tuple[int, int] = (0, 1)
    others: tuple[str, ...] = ()

    @property
    def forward(self) -> tuple[Fact, ...]:
        """The tuples (relation, ...) with each entity followed by the next."""
        return tuple(self._fact(one, other) for one, other in self._steps())

    @property
    def backward(self) -> tuple[Fact, ...]:
        """The same tuples with the two entities exchanged."""
        return tuple(self._fact(other, one) for one, other in self._steps())

    def _steps(self) -> Iterator[tuple[str, str]]:
        return zip(self.entities, self.entities[1:] + self.entities[:1], strict=True)

    def _fact(self, one: str, other: str) -> Fact:
        names = list(self.others)
        names.insert(self.positions[0], one)
        names.insert(self.positions[1], other)
        return (self.relation, *names)

    def __str__(self) -> str:
        true, false = (
            " + ".join(f"{name}({', '.join(names)})" for name, *names in side) for side in (self.forward, self.backward)
        )
        return f"{true} = {false}, for all parameters: not all true ones can score above all false ones"


def residual(model: MTransH, parameters: Parameters, cycle: Cycle) -> float:
    """Return the sum of the scores forward minus that backward: 0, but for rounding, whatever the parameters."""
    return float(scores(model, parameters, cycle.forward).sum() - scores(model, parameters, cycle.backward).sum())


def scores(model: Model, parameters: Parameters, facts: Iterable[Fact]) -> Tensor:
    """Return the scores of facts (relation, ...) of one arity."""
    relations, *columns = zip(*facts, strict=True)
    ids = torch.tensor(model.schema.names.ids(relations)).long()
    given = torch.tensor([model.graph.entities.ids(column).tolist() for column in columns])
    return model.score(model.encode(parameters), ids, given)


def find_cycle(truth: Hypergraph) -> Cycle | None:
    """Return a cycle of true tuples whose reverses are false, or None; without one, the truth may be separable or not."""
    for relation in truth.schema:
        table = truth.table(relation.name)
        facts = set(table)
        for positions in combinations(range(relation.arity), 2):
            for others, before in _one_way(table, facts, positions).items():
                try:
                    TopologicalSorter(before).prepare()
                except CycleError as error:
                    return Cycle(relation.name, tuple(error.args[1][:-1]), positions, others)
    return None


def _one_way(table: TupleTable, facts: set[Fact], positions: tuple[int, int]) -> dict[Fact, dict[str, list[str]]]:
    """Return, for the entities at the other positions, each entity's predecessors in facts whose reverse is false."""
    found: dict[Fact, dict[str, list[str]]] = {}
    first, second = positions
    for fact in table:
        turned = list(fact)
        turned[first], turned[second] = fact[second], fact[first]
        if tuple(turned) not in facts:
            others = tuple(name for position, name in enumerate(fact) if position not in positions)
            found.setdefault(others, {}).setdefault(fact[second], []).append(fact[first])
    return found


@dataclass(frozen=True)
class OneWay:
    """A true tuple (relation, ...) and the same entities in an order that is false: G-MPNN scores both alike."""

    true: Fact
    false: Fact


def find_one_way(truth: Hypergraph) -> OneWay | None:
    """Return a true tuple with a false order of its entities, or None where all orders of every true tuple are true."""
    for relation in truth.schema:
        facts = set(truth.table(relation.name))
        for fact in sorted(facts):
            # Exchanges of neighbours lead to every order: if none leaves the truth, no order does.
            for first in range(relation.arity - 1):
                turned = (*fact[:first], fact[first + 1], fact[first], *fact[first + 2 :])
                if turned not in facts:
                    return OneWay((relation.name, *fact), (relation.name, *turned))
    return None


def order_residual(model: Model, parameters: Parameters, pair: OneWay) -> float:
    """Return the score of the true tuple less that of the false one: 0, but for rounding, for G-MPNN and m-DistMult."""
    return float(scores(model, parameters, [pair.true]) - scores(model, parameters, [pair.false]))
