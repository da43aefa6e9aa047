"""How far a trained model supports a rule: whether it gives tuples the same probability by the head and by the body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from relatum.algebra import Relation
from relatum.arrays import Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.reasoning.reasoner import Reasoner
from relatum.rules.rule import Rule
from relatum.rules.views import TupleKeys, found_in


@dataclass(frozen=True)
class ModelEvidence:
    """How far a model agrees with a rule, on known tuples of its head and on tuples that are not known."""

    facts: int  # how many known tuples of the head were compared
    negatives: int  # how many others: known ones with one entity replaced by another of the relation at that position
    on_facts: float  # the mean absolute difference between the probabilities that head and body give to the facts
    on_negatives: float  # the same of the others
    # the rank correlation of the two probabilities over all of them; None where either is constant
    correlation: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def model_evidence(reasoner: Reasoner, rule: Rule, *, most: int = 200, seed: int = 0) -> ModelEvidence:
    """Return how far a calibrated model agrees with a rule; both sides by exact values, not by their closed forms.

    As many known tuples as `most` are compared, and as many others.
    """
    rng = np.random.default_rng(seed)
    known = reasoner.facts.distinct().table(rule.head.name).columns
    if not known.shape[1]:
        raise DataError("unusable-rule", "no known facts, so the rule cannot be checked on the model", place=rule.head.name)
    facts = known[:, np.sort(rng.permutation(known.shape[1])[:most])]
    others = _negatives(known, facts, reasoner.facts, rng)
    tuples = torch.from_numpy(np.concatenate([facts, others], axis=1).astype(np.int64))
    head = Relation(RelationSchema(rule.head.name, rule.head.arity))
    found = [reasoner.probability(expression, tuples) for expression in (head, rule.body)]
    if found[0] is None or found[1] is None:
        raise DataError(
            "no-probabilities", "the run has no calibration, so scores of different relations cannot be compared"
        )
    apart = np.abs(found[0] - found[1])
    count = facts.shape[1]
    return ModelEvidence(
        count,
        others.shape[1],
        float(apart[:count].mean()),
        float(apart[count:].mean()) if others.size else 0.0,
        _rank_correlation(found[0], found[1]),
    )


def _negatives(known: Ids, facts: Ids, graph: Hypergraph, rng: np.random.Generator) -> Ids:
    """Return facts of which one entity is replaced, at a random position, as far as they are not known to be true."""
    corrupted = facts.copy()
    rows = np.arange(facts.shape[1])
    positions = rng.integers(0, len(facts), len(rows))
    drawn = known[:, rng.integers(0, known.shape[1], len(rows))]
    corrupted[positions, rows] = drawn[positions, rows]
    keys = TupleKeys(len(graph.entities), len(facts))
    return corrupted[:, ~found_in(keys.of(corrupted), np.sort(keys.of(known)))[0]]


def _rank_correlation(one: Float64, other: Float64) -> float | None:
    ranks = np.array([_ranks(one), _ranks(other)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    size = float(np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    return float(ranks[0] @ ranks[1]) / size if size else None


def _ranks(values: Float64) -> Float64:
    """Return the rank of each value; equal ones share their mean rank."""
    _, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    shared: Float64 = (ends - (counts + 1) / 2)[indices]
    return shared
