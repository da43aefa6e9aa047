"""How good a model is on held-out facts: ranks, metrics, the interval around them and breakdowns, as one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from relatum.data.derivations import Derivation
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import Schema
from relatum.inference.breakdown import breakdown, macro_mrr
from relatum.inference.ranking import HITS, Metrics, Ranks, mrr_interval
from relatum.records import Records

__all__ = ["Evaluation", "PartMetrics"]

_COLUMNS: dict[str, type] = {
    "questions": int,
    "mrr": float,
    **{f"hits@{k}": float for k in HITS},
    "mean_rank": float,
    "mrr_pessimistic": float,
}


@dataclass(frozen=True)
class PartMetrics:
    """The metrics of one part of the questions, such as those of arity 3."""

    key: str
    part: str
    metrics: Metrics

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the part under its key, and its metrics."""
        plain = self.metrics.to_json()
        return {self.key: self.part, **{name: plain[name] for name in _COLUMNS}}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How the facts of a split part rank among all entities; it shows itself as a table.

    Attributes:
        part: which facts: train, valid or test.
        raw: whether known answers count as competitors.
        ranks: one row per question.
        schema: the relations of the facts.
        derivations: how the relations of a synthetic dataset were derived.
        train: the training facts.
    """

    part: str
    raw: bool
    ranks: Ranks
    schema: Schema
    derivations: Mapping[str, Derivation]
    train: Hypergraph

    @cached_property
    def metrics(self) -> Metrics:
        """What is reported of all questions."""
        return self.ranks.metrics

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank, by realistic ranks."""
        return self.metrics.mrr

    @property
    def hits(self) -> dict[int, float]:
        """The share of questions whose answer is among the first 1, 3 and 10."""
        return self.metrics.hits

    @property
    def mean_rank(self) -> float:
        """The mean of realistic ranks."""
        return self.metrics.mean_rank

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The bounds between which 95 % of the MRRs of resampled facts lie."""
        return mrr_interval(self.ranks)

    def by(self, key: str) -> Records[PartMetrics]:
        """Return the metrics by arity, position, relation, seen, size, operation or depth."""
        found = breakdown(self.ranks, key, self.schema, self.derivations, self.train)
        rows = [PartMetrics(key, name, metrics) for name, metrics in found.items()]
        return Records(rows, {key: str, **_COLUMNS}, f"{self.part}, by {key}")

    def macro_mrr(self, key: str = "relation") -> float:
        """Return the mean of the MRRs of the parts by a key, each part counting once."""
        return macro_mrr({one.part: one.metrics for one in self.by(key)})

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as plain data."""
        return {**self.metrics.to_json(), "mrr_interval": list(self.interval)}

    @property
    def _table(self) -> Records[PartMetrics]:
        title = f"{self.part} facts, {'raw' if self.raw else 'filtered'}; 95 % interval of MRR {self._bounds}"
        return Records([PartMetrics("facts", "all", self.metrics)], {"facts": str, **_COLUMNS}, title)

    @property
    def _bounds(self) -> str:
        low, high = self.interval
        return f"{low:.4f} to {high:.4f}"

    def __repr__(self) -> str:
        return repr(self._table)

    def _repr_html_(self) -> str:
        return self._table._repr_html_()
