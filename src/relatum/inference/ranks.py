"""Ranks and the metrics that follow from them; plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["HITS", "Metrics", "Ranks"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HITS = (1, 3, 10)


@dataclass(frozen=True, eq=False)
class Ranks:
    """One row per question: how its true answer fared, and what the question was.

    With b candidates that score above the true answer and e others that score exactly as much, the best place that a sort
    could give it is 1 + b (optimistic), the worst 1 + b + e (pessimistic), and the mean over all orders of the equal ones
    1 + b + e / 2 (realistic).

    Attributes:
        better: b.
        equal: e.
        fact: which fact was asked about; the questions of one fact share the number.
        relation: the id of its relation.
        arity: its arity.
        position: the open position.
        unseen: whether the fact holds an entity that never occurs in the training facts.
    """

    better: Ints
    equal: Ints
    fact: Ints
    relation: Ints
    arity: Ints
    position: Ints
    unseen: npt.NDArray[np.bool_]

    @property
    def optimistic(self) -> Floats:
        """Ranks with ties in favour of the true answer."""
        return (1 + self.better).astype(np.float64)

    @property
    def pessimistic(self) -> Floats:
        """Ranks with ties against the true answer."""
        return (1 + self.better + self.equal).astype(np.float64)

    @property
    def realistic(self) -> Floats:
        """Mean ranks over all orders of ties."""
        return 1 + self.better + self.equal / 2

    def __len__(self) -> int:
        return len(self.better)

    @property
    def metrics(self) -> Metrics:
        """What is reported of these questions."""
        return Metrics.of(self)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Ranks:
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
