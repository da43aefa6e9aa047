"""What soft rules say about questions, and what that adds to the scores of an embedding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np

from relatum.arrays import Bool, Float32, Float64, Int64
from relatum.artefacts import Count, Declared, Known, Named, Score
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import WIDEST, FactStore, other_answers
from relatum.evidence.neighbours import Neighbourhood, Neighbours
from relatum.evidence.soft_rule import SoftRule
from relatum.inference.ranking import Ranks, ranks_by
from relatum.kernels.filters import Bonus
from relatum.kernels.soft_rules import RuleProgram, RuleScratch, fire

FEATURES = 7
_TOGETHER = 5  # rules whose confidences are put together
_SMALL, _LARGE = 0.003, 0.03  # confidences below which evidence counts in proportion, above which by its logarithm
_AS_GOOD = 0.5  # of the best confidence about a position: where facts are missing, good rules look wrong
_TINY = 0.0003  # share of what neighbours say, below which it counts in proportion
_SURE = 0.999  # no evidence counts for more


@dataclass(frozen=True, eq=False)
class Fired:
    """The candidates that rules name for some questions, ordered by question and candidate.

    Attributes:
        rows: the question of each.
        entities: the candidate.
        best: the confidence of the best rule that reads it from facts; 0 if none does.
        together: that of the best few of these rules, as if they were independent.
        counted: the same, by how many facts name the candidate.
        value: the confidence of the best rule that names it as a value, such as one that is frequent; 0 if none does.
        others: the share of what neighbours say that is for it.
        repeats: the logarithm of how many facts say that the relation never has the candidate twice, which a fact with it
            would; 0 where none would.
    """

    rows: Int64
    entities: Ids
    best: Float32
    together: Float32
    counted: Float32
    value: Float32
    others: Float32
    repeats: Float32

    @property
    def strength(self) -> Float32:
        """How likely each is right by all rules together, as if values were independent of what is read from facts."""
        return 1 - (1 - self.together) * (1 - self.value)

    @property
    def features(self) -> Float64:
        """What weights are for, [n, FEATURES]; what speaks against a candidate is below 0."""
        strength = self.strength
        shares = (self.best / _SMALL, strength / _SMALL, strength / _LARGE, self.counted / _SMALL)
        doubt = 1 - np.minimum(strength, _SURE)
        logs = [*map(np.log1p, shares), -np.log(doubt), np.log1p(self.others / _TINY)]
        return np.stack([*logs, -self.repeats], 1).astype(np.float64)

    def with_neighbours(self, rows: Int64, entities: Ids, others: Float64, num_entities: int) -> Fired:
        """Return the same with what neighbours name, ascending, and the share of each."""
        found, where = self._among(rows * num_entities + entities, num_entities)
        found.others[where] = others
        return found

    def with_repeats(self, rows: Int64, entities: Ids, weight: float, num_entities: int) -> Fired:
        """Return the same with candidates of questions against which so much speaks, whether rules name them or not."""
        found, where = self._among(np.unique(rows * num_entities + entities), num_entities)
        found.repeats[where] = weight
        return found

    def _among(self, more: Int64, num_entities: int) -> tuple[Fired, Int64]:
        """Return the same with more candidates, ascending pairs, about which nothing is known, and where they stand."""
        pairs = self.rows * num_entities + self.entities
        whole = np.union1d(pairs, more)
        names = [one.name for one in fields(self)][2:]
        found = np.zeros((len(names), len(whole)), np.float32)
        found[:, np.searchsorted(whole, pairs)] = [getattr(self, name) for name in names]
        rows, entities = whole // num_entities, (whole % num_entities).astype(np.int32)
        return Fired(rows, entities, *found), np.searchsorted(whole, more)


Weights = Annotated[Float64, replace(Score, shape=(FEATURES,))]


@dataclass(frozen=True)
class _Weighed(Declared):
    """The weights of a position of a relation, as files hold them."""

    relation: Annotated[int, Named("schema")]
    position: Count
    weights: Weights

    def check(self, known: Known) -> None:
        """Refuse a position that the relation does not have."""
        known["schema"][self.relation].position(self.position)


@dataclass(frozen=True)
class EvidenceFile(Declared):
    """Rules and weights as files hold them."""

    rules: tuple[SoftRule, ...]
    neighbourhoods: tuple[Neighbourhood, ...]
    weights: tuple[_Weighed, ...]
    common: Weights


@dataclass(eq=False)
class Evidence:
    """Soft rules, the facts that they read, and how much what they say weighs beside the scores of a model.

    Args:
        facts: the training facts.
        rules: by relation and open position, the most confident first.
        weights: of the features, by relation and open position, in units of the model's score; without any, rules say
            something, but nothing is added.
        common: the weights of what has none of its own.
        neighbourhoods: by whom answers are shared, at most one for each relation and open position.
    """

    facts: Hypergraph
    rules: Iterable[SoftRule]
    weights: Mapping[tuple[int, int], Float64] = field(default_factory=dict)
    common: Float64 = field(default_factory=lambda: np.zeros(FEATURES))
    neighbourhoods: Iterable[Neighbourhood] = ()

    def __post_init__(self) -> None:
        self.store = FactStore(self.facts)
        self._rules: dict[tuple[int, int], list[SoftRule]] = {}
        for rule in self.rules:
            self._rules.setdefault((rule.relation, rule.position), []).append(rule)
        self.neighbours = {(one.relation, one.position): Neighbours(self.store, one) for one in self.neighbourhoods}
        self._programs: dict[tuple[int, int], RuleProgram] = {}
        self._scratches: list[RuleScratch] = []

    def __iter__(self) -> Iterator[SoftRule]:
        return (rule for rules in self._rules.values() for rule in rules)

    def about(self, relation: int, position: int) -> list[SoftRule]:
        """Return the rules for a position of a relation."""
        return self._rules.get((relation, position), [])

    def fired(self, relation: int, position: int, questions: Ids) -> Fired:
        """Return what rules say about questions, int32[arity, n]; known answers are among it.

        Where a position never has the entity of another one, what the others hold is among it too: a club does not play
        against itself.
        """
        program, size = self._program(relation, position), len(self.facts.entities)
        found_by_rules = fire(program, self.store.pool.arrays, questions, size, _TOGETHER, WIDEST, self._scratches)
        rows, entities, *strengths = found_by_rules
        found = Fired(rows, entities, *strengths, *np.zeros((2, len(rows)), np.float32))
        apart = self.store.never_equal(relation, position)
        if (neighbours := self.neighbours.get((relation, position))) is not None:
            found = found.with_neighbours(*neighbours.named(questions), size)
        given = questions[apart]
        numbers = np.broadcast_to(np.arange(questions.shape[1]), given.shape)
        there = (given >= 0) & (given < size)
        seen = float(np.log1p(self.store.columns[relation].shape[1]))
        return found.with_repeats(numbers[there], given[there], seen, size)

    def supports(self, relation: int, facts: Ids) -> Bool:
        """Return of which facts, int32[arity, n], a rule names one of the entities that is about as good as any there is."""
        size, named = len(self.facts.entities), np.zeros(facts.shape[1], np.bool_)
        for position in range(len(facts)):
            fired = self.fired(relation, position, facts)
            good = max((rule.confidence for rule in self.about(relation, position)), default=0.0)
            likely = np.maximum(fired.best, fired.value) >= max(_AS_GOOD * good, _SMALL)
            named |= np.isin(np.arange(len(named)) * size + facts[position], (fired.rows * size + fired.entities)[likely])
        return named

    def bonus(self, relation: int, position: int, questions: Ids) -> Bonus | None:
        """Return what evidence adds to the scores of candidates; None where it weighs nothing."""
        weights = self.weights.get((relation, position), self.common)
        if not weights.any():
            return None
        fired = self.fired(relation, position, questions)
        counts = np.bincount(fired.rows, minlength=questions.shape[1])
        values = (fired.features @ weights).astype(np.float32)
        return Bonus(fired.entities, np.cumsum(counts) - counts, counts, values)

    def ranks(self, facts: Hypergraph, known: KnownAnswers | None) -> Ranks:
        """Return how held-out facts rank by rules alone; candidates that none names stand together behind the others.

        Known answers do not count as better, other than the right one; with None the ranks are raw.
        """

        def count(relation: int, position: int, columns: Ids) -> tuple[Int64, Int64]:
            size, entities = columns.shape[1], len(self.facts.entities)
            truth, hidden = other_answers(known, relation, position, columns, entities)
            fired = self.fired(relation, position, columns)
            pairs = fired.rows * entities + fired.entities
            free = ~np.isin(pairs, hidden)
            pairs, strength, rows = pairs[free], fired.strength[free], fired.rows[free]
            where = np.minimum(np.searchsorted(pairs, truth), max(0, len(pairs) - 1))
            named = pairs[where] == truth if len(pairs) else np.zeros(size, np.bool_)
            bar = np.zeros(size, np.float32)
            bar[named] = strength[where[named]]
            better = np.bincount(rows, strength > bar[rows], minlength=size).astype(np.int64)
            level = np.bincount(rows, strength == bar[rows], minlength=size).astype(np.int64) - named
            total = np.bincount(rows, minlength=size)
            others = entities - np.bincount(hidden // entities, minlength=size) - total  # that no rule names
            return better, np.where(named, level, others - 1)

        return ranks_by(count, facts, self.facts)

    def to_json(self) -> dict[str, Any]:
        """Return rules and weights as plain data."""
        weights = tuple(_Weighed(*group, each) for group, each in self.weights.items())
        shared = tuple(one.neighbourhood for one in self.neighbours.values())
        file = EvidenceFile(tuple(self), shared, weights, self.common)
        return file.to_json(schema=self.facts.schema, entities=self.facts.entities)

    @classmethod
    def from_json(cls, data: Any, **known: Any) -> Evidence:
        """Return the evidence that plain data says, with the `facts` that it reads."""
        facts: Hypergraph = known["facts"]
        file = EvidenceFile.from_json(data, schema=facts.schema, entities=facts.entities)
        weights = {(one.relation, one.position): one.weights for one in file.weights}
        return cls(facts, file.rules, weights, file.common, file.neighbourhoods)

    @classmethod
    def joined(cls, several: Sequence[Evidence]) -> Evidence:
        """Return what adds to a sum of scores what each of several adds to its own; all read the same facts.

        The rules are those of the first: with other seeds one finds nearly the same. Weights are in units of a score.
        """
        first, groups = several[0], sorted({group for one in several for group in one.weights})
        weights = {group: np.sum([one.weights.get(group, one.common) for one in several], axis=0) for group in groups}
        common = np.sum([one.common for one in several], axis=0)
        return cls(first.facts, list(first), weights, common, [one.neighbourhood for one in first.neighbours.values()])

    def with_facts(self, facts: Hypergraph) -> Evidence:
        """Return the same rules and weights, which read other facts: with more relations and entities, or in other order."""
        return Evidence.from_json(self.to_json(), facts=facts)

    def _program(self, relation: int, position: int) -> RuleProgram:
        """Return the rules for a position of a relation as compiled loops read them."""
        if (relation, position) not in self._programs:
            self._programs[relation, position] = self.store.program(self.about(relation, position))
        return self._programs[relation, position]
