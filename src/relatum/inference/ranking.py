"""Ranks of held-out facts among all entities, the metrics of ranks, and the interval around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import torch

from relatum.arrays import Bool, Float32, Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import EvidenceSource, count_better, naming, score
from relatum.inference.tiled_counts import count_in_tiles, tile_size
from relatum.kernels.filters import Bonus, Excluded, nothing_excluded
from relatum.models.base import Model, Parameters
from relatum.progress import progress

HITS = (1, 3, 10)


@dataclass(frozen=True, eq=False)
class Ranks:
    """One row per question: how its true answer fared, and what the question was.

    With b candidates that score above the true answer and e others that score exactly as much, the best rank that a sort
    could give it is 1 + b (optimistic), the worst 1 + b + e (pessimistic), and the mean over all orders of the equal ones
    1 + b + e / 2 (realistic).
    """

    better: Int64  # b
    equal: Int64  # e
    fact: Int64  # the number of the fact; the questions of one fact share the number
    relation: Int64  # the id of its relation
    arity: Int64
    position: Int64  # the open position
    unseen: Bool  # whether the fact holds an entity that never occurs in the training facts

    @property
    def optimistic(self) -> Float64:
        """Ranks with ties in favour of the true answer."""
        return (1 + self.better).astype(np.float64)

    @property
    def pessimistic(self) -> Float64:
        """Ranks with ties against the true answer."""
        return (1 + self.better + self.equal).astype(np.float64)

    @property
    def realistic(self) -> Float64:
        """Mean ranks over all orders of ties."""
        return 1 + self.better + self.equal / 2

    def __len__(self) -> int:
        return len(self.better)

    @property
    def metrics(self) -> Metrics:
        """What is reported of these questions."""
        return Metrics.of(self)

    def where(self, chosen: Bool) -> Ranks:
        """Return the chosen questions."""
        return Ranks(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    @staticmethod
    def join(parts: list[Ranks]) -> Ranks:
        """Return the questions of all parts, one part after the other."""
        return Ranks(
            **{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Ranks)}
        )


@dataclass(frozen=True)
class Metrics:
    """What is reported of some questions: by realistic ranks, and the MRR by the other two rules beside it."""

    questions: int
    mrr: float
    hits: dict[int, float]
    mean_rank: float
    mrr_optimistic: float
    mrr_pessimistic: float
    ties: int

    @classmethod
    def of(cls, ranks: Ranks) -> Metrics:
        """Return the metrics of some questions; all zero of none."""
        if not len(ranks):
            return cls(0, 0.0, dict.fromkeys(HITS, 0.0), 0.0, 0.0, 0.0, 0)
        rank = ranks.realistic
        return cls(
            questions=len(ranks),
            mrr=float(np.mean(1 / rank)),
            hits={k: float(np.mean(rank <= k)) for k in HITS},
            mean_rank=float(np.mean(rank)),
            mrr_optimistic=float(np.mean(1 / ranks.optimistic)),
            mrr_pessimistic=float(np.mean(1 / ranks.pessimistic)),
            ties=int(np.sum(ranks.equal > 0)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the metrics as plain data, hits as `hits@1`, `hits@3`, ..."""
        return {
            "mrr": self.mrr,
            **{f"hits@{k}": share for k, share in self.hits.items()},
            "mean_rank": self.mean_rank,
            "questions": self.questions,
            "ties": self.ties,
            "mrr_pessimistic": self.mrr_pessimistic,
            "mrr_optimistic": self.mrr_optimistic,
        }


class FactScorer(Protocol):
    """What scores facts of a relation, int32[arity, n], and counts what scores more."""

    def count_better(
        self, relation: int, columns: Ids, position: int, excluded: Excluded, bonus: Bonus | None
    ) -> tuple[Int64, Int64]:
        """Return how many entities at a position score above the one there, and how many as much, for each fact."""

    def score(self, relation: int, columns: Ids) -> Float32:
        """Return the score of each fact."""


class WholeScorer:
    """Scores by parameters that are all here."""

    def __init__(self, model: Model, parameters: Parameters) -> None:
        self._model, self._device = model, parameters["entities"].device
        with torch.no_grad():
            self._tables = model.encode(parameters)

    def count_better(
        self, relation: int, columns: Ids, position: int, excluded: Excluded, bonus: Bonus | None
    ) -> tuple[Int64, Int64]:
        """Return the counts among all entities; tile by tile where memory is short."""
        size = tile_size(self._model, self._tables, relation, position)
        if size is not None:
            with naming(self._model.schema[relation]):
                return count_in_tiles(self._model, self._tables, relation, columns, position, excluded, bonus, size)
        questions = torch.from_numpy(columns.astype(np.int64)).to(self._device)
        return count_better(self._model, self._tables, relation, questions, position, excluded, bonus=bonus)

    def score(self, relation: int, columns: Ids) -> Float32:
        """Return the scores by the model."""
        ids = torch.full((columns.shape[1],), relation)
        found: Float32 = score(self._model, self._tables, ids, torch.from_numpy(columns.astype(np.int64))).numpy(force=True)
        return found


def rank(
    model: Model,
    parameters: Parameters,
    facts: Hypergraph,
    known: KnownAnswers | None,
    train: Hypergraph | None = None,
    evidence: EvidenceSource | None = None,
    scorer: FactScorer | None = None,
) -> Ranks:
    """Return how every position of every fact ranks among all entities.

    Repeated facts count as often as they occur. Known answers do not count as better, other than the right one; None ranks
    raw. `train` tells which questions hold an entity that was never seen, `evidence` is added to scores, and a `scorer`
    counts better candidates, if not by these parameters.
    """
    counting = WholeScorer(model, parameters) if scorer is None else scorer

    def count(relation: int, position: int, columns: Ids) -> tuple[Int64, Int64]:
        size = columns.shape[1]
        relations = np.full(size, relation, np.int32)
        answers = known.lookup(relations, columns, position) if known is not None else nothing_excluded(size)
        bonus = None if evidence is None else evidence.bonus(relation, position, columns)
        return counting.count_better(relation, columns, position, answers, bonus)

    return ranks_by(count, facts, train)


@torch.no_grad()
def ranks_by(
    count: Callable[[int, int, Ids], tuple[Int64, Int64]], facts: Hypergraph, train: Hypergraph | None = None
) -> Ranks:
    """Return the ranks of facts by a count of better and of equal candidates for a relation, a position and facts."""
    seen = train.degrees() > 0 if train is not None else np.ones(len(facts.entities), np.bool_)
    parts: list[Ranks] = []
    done = 0
    with progress("ranking", len(facts)) as advance:
        for number, schema in enumerate(facts.schema):
            columns = facts.table(schema.name).columns
            size = columns.shape[1]
            if not size:
                continue
            fact, relation, arity = np.arange(done, done + size), np.full(size, number), np.full(size, schema.arity)
            unseen: Bool = np.logical_not(seen[columns].all(axis=0))
            for position in range(schema.arity):
                better, equal = count(number, position, columns)
                parts.append(Ranks(better, equal, fact, relation, arity, np.full(size, position), unseen))
            done += size
            advance(size)
    empty = np.empty(0, np.int64)
    return Ranks.join(parts) if parts else Ranks(empty, empty, empty, empty, empty, empty, np.empty(0, np.bool_))


def mrr_interval(ranks: Ranks, share: float = 0.95, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Return the bounds that hold `share` of the MRRs of resampled facts; the questions of one fact stay together.

    There is at least one question; `resamples` is how many times as many facts are drawn, with replacement.
    """
    _, fact = np.unique(ranks.fact, return_inverse=True)
    gains = np.bincount(fact, 1 / ranks.realistic)
    counts = np.bincount(fact)
    rng = np.random.default_rng(seed)
    found = np.empty(resamples)
    for number in range(resamples):
        drawn = rng.integers(0, len(gains), len(gains))
        found[number] = gains[drawn].sum() / counts[drawn].sum()
    low, high = np.quantile(found, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)
