"""How good a model is on held-out facts: ranks, metrics, the interval around them and breakdowns, as one object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.data.derivations import ELEMENTARY, OPERATIONS, Derivation
from relatum.data.hypergraph import Hypergraph
from relatum.data.quality import InTrain
from relatum.data.schema import Schema
from relatum.errors import DataError, UnknownNameError
from relatum.inference.ranking import HITS, Metrics, Ranks, mrr_interval
from relatum.records import Records

KEYS = ("arity", "position", "relation", "seen")
SIZE = "size"  # of the relation, in training facts
DERIVATION_KEYS = ("operation", "depth")  # of datasets whose relations were derived by relational algebra

_SIZES = {"0": 0, "1-9": 1, "10-99": 10, "100-999": 100, "1000+": 1000}  # where each begins

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
        embedding: where evidence was weighed in, the ranks by the embedding alone;
        evidence: and by the evidence alone.
        in_train: how many of the facts stand in train as well; None for training facts.
    """

    part: str
    raw: bool
    ranks: Ranks
    schema: Schema
    derivations: Mapping[str, Derivation]
    train: Hypergraph
    embedding: Ranks | None = None
    evidence: Ranks | None = None
    in_train: InTrain | None = None

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
        """Return the metrics as plain data; where evidence was weighed in, also those of the embedding and of it alone."""
        apart = {"embedding": self.embedding, "evidence": self.evidence}
        alone = {name: ranks.metrics.to_json() for name, ranks in apart.items() if ranks is not None}
        in_train = None if self.in_train is None else self.in_train.to_json()
        return {**self.metrics.to_json(), "mrr_interval": list(self.interval), "in_train": in_train, **alone}

    @property
    def _table(self) -> Records[PartMetrics]:
        low, high = self.interval
        title = f"{self.part} facts, {'raw' if self.raw else 'filtered'}; 95 % interval of MRR {low:.4f} to {high:.4f}"
        if self.in_train is not None and self.in_train.facts:
            title += f"; {self.in_train}"
        return Records([PartMetrics("facts", "all", self.metrics)], {"facts": str, **_COLUMNS}, title)

    def __repr__(self) -> str:
        return repr(self._table)

    def _repr_html_(self) -> str:
        return self._table._repr_html_()


def breakdown(
    ranks: Ranks,
    key: str,
    schema: Schema,
    derivations: Mapping[str, Derivation] | None = None,
    train: Hypergraph | None = None,
) -> dict[str, Metrics]:
    """Return the metrics of each part of the questions, by name of the part, in order.

    The key is one of `KEYS`, or of `DERIVATION_KEYS` if derivations are given, by name: questions about other relations are
    left out; or `SIZE` if the training facts are, over the same schema.
    """
    labels, order = _labels(ranks, key, schema, derivations or {}, train)
    chosen = ((label, labels == label) for label in order)
    return {str(label): Metrics.of(ranks.where(mine)) for label, mine in chosen if mine.any()}


def _labels(
    ranks: Ranks, key: str, schema: Schema, derivations: Mapping[str, Derivation], train: Hypergraph | None
) -> tuple[npt.NDArray[Any], Iterable[Any]]:
    """Return the part of each question, and all parts in order."""
    if key in DERIVATION_KEYS:
        if not derivations:
            reason = f"this dataset has no derivations.json, so results cannot be broken down by {key}"
            raise DataError("no-such-breakdown", reason, place=f"by {key}")
        depths = sorted({one.depth for one in derivations.values()})
        origins = [getattr(derivations.get(relation.name), key, None) for relation in schema]
        return np.array(origins, object)[ranks.relation], (ELEMENTARY, *OPERATIONS) if key == "operation" else depths
    if key == SIZE:
        if train is None:
            reason = "breaking results down by the size of relations needs the training facts"
            raise DataError("no-such-breakdown", reason, place=f"by {SIZE}")
        facts = [len(train.table(relation.name)) for relation in schema]
        sizes = np.searchsorted(list(_SIZES.values()), facts, side="right") - 1
        return np.array(list(_SIZES))[sizes][ranks.relation], _SIZES
    if key not in KEYS:
        raise UnknownNameError("breakdown", key, (*KEYS, SIZE, *DERIVATION_KEYS))
    if key == "relation":
        return np.array(schema.names, object)[ranks.relation], schema.names
    if key == "seen":
        return np.where(ranks.unseen, "unseen", "seen"), ("unseen", "seen")
    labels = getattr(ranks, key)
    return labels, np.unique(labels).tolist()


def macro_mrr(parts: Mapping[str, Metrics]) -> float:
    """Return the mean of the parts' MRR, each part counting once however many questions it has."""
    return float(np.mean([metrics.mrr for metrics in parts.values()])) if parts else 0.0
