"""What validation facts are for: how good parameters are while training goes on, and the calibration of scores after it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.sorting import differs_from_previous
from relatum.inference.calibration import Calibration, draw_sample, fit_calibration
from relatum.inference.ranking import FactScorer, Metrics, Ranks, WholeScorer, rank
from relatum.models.base import Model, Parameters

ScorerOf = Callable[[Parameters], FactScorer]

_MOST = 4000  # facts that are ranked at most; the same ones each time


def validator(
    model: Model, split: Split, metric: str = "mrr", most: int = _MOST, scorer_of: ScorerOf | None = None
) -> Callable[[Parameters], dict[str, float]] | None:
    """Return a metric, and then the MRR, as a function of parameters, filtered by train and valid; None without valid facts.

    Where questions have many answers, some that nobody knows yet, those of test among them, rank above the right one and
    count as wrong. They were held out as the valid facts were, so about as many of them stand above an answer as other
    valid answers to the same question do: the metric `corrected-mrr` forgives so many better candidates.

    Where the valid facts are many, a sample of `most` is ranked, and the standard error of its MRR comes last. `scorer_of`
    returns what scores by given parameters, if these are not all here.
    """
    if not len(split.valid):
        return None
    chosen = _chosen(split.valid, most)
    facts = _taken(split.valid, chosen)
    known = KnownAnswers.about(facts, split.train, split.valid)

    def validate(parameters: Parameters) -> dict[str, float]:
        scorer = WholeScorer(model, parameters) if scorer_of is None else scorer_of(parameters)
        ranks = rank(model, parameters, facts, known, scorer=scorer)
        plain = {"mrr": Metrics.of(ranks).mrr}
        if len(facts) < len(split.valid):
            plain["mrr_error"] = _sampling_error(ranks, len(facts) / len(split.valid))
        if metric == "mrr":
            return plain
        above = _answers_above(scorer, split.valid, chosen)
        return {metric: float(np.mean(1 / (1 + np.maximum(ranks.realistic - 1 - above, 0)))), **plain}

    return validate


def _sampling_error(ranks: Ranks, share: float) -> float:
    """Return the standard error of the MRR of a sample, as an estimate of what all facts would give.

    The questions of one fact stand or fall together; and of a sample that is nearly everything little is unknown.
    """
    _, fact = np.unique(ranks.fact, return_inverse=True)
    counts = np.bincount(fact)
    if len(counts) < 2:
        return 0.0
    off = np.bincount(fact, 1 / ranks.realistic) - counts * np.mean(1 / ranks.realistic)
    return float(np.sqrt(np.sum(off**2) / (1 - 1 / len(counts)) * (1 - share)) / counts.sum())


def _answers_above(scorer: FactScorer, valid: Hypergraph, chosen: dict[int, Bool]) -> Int64:
    """Return, for each question of the chosen facts, how many other valid answers to it score above its own."""
    found = []
    for number, relation in enumerate(valid.schema):
        columns = valid.table(relation.name).columns
        if not columns.shape[1]:
            continue
        scores = scorer.score(number, columns)
        first = np.searchsorted(valid.blocks[relation.arity].relations, number)
        kept = chosen[relation.arity][first : first + len(scores)]
        for position in range(relation.arity):
            others = np.delete(columns, position, axis=0)
            order = np.lexsort((-scores, *others[::-1]))
            new = differs_from_previous([column[order] for column in others]) if len(others) else np.arange(len(order)) == 0
            start = np.flatnonzero(new)[np.cumsum(new) - 1]
            above = np.empty(len(order), np.int64)
            above[order] = np.arange(len(order)) - start
            found.append(above[kept])
    return np.concatenate(found)


def calibrate(model: Model, tables: Parameters, split: Split) -> Calibration | None:
    """Return what turns scores by encoded parameters into probabilities, fitted on validation facts; None without any."""
    if not len(split.valid):
        return None
    labelled = draw_sample(model, tables, sample(split.valid, _MOST), KnownAnswers(split.train, split.valid), split.train)
    return fit_calibration(labelled, len(model.schema))


def sample(graph: Hypergraph, most: int) -> Hypergraph:
    """Return about `most` facts of a hypergraph, always the same."""
    return _taken(graph, _chosen(graph, most))


def _chosen(graph: Hypergraph, most: int) -> dict[int, Bool]:
    """Return which facts of each arity are in a sample."""
    rng = np.random.default_rng(0)
    return {arity: rng.random(len(block)) < most / len(graph) for arity, block in graph.blocks.items()}


def _taken(graph: Hypergraph, chosen: dict[int, Bool]) -> Hypergraph:
    blocks = [(block.relations[chosen[arity]], block.columns[:, chosen[arity]]) for arity, block in graph.blocks.items()]
    return Hypergraph.sort(graph.entities, graph.schema, blocks)
