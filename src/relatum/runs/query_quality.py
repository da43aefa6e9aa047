"""How well a run answers queries whose answers are known but held out from it, shape by shape.

Only facts of the parts before the held-out one count as known. Each hard answer is ranked among all tuples that are no
answer, ties at their mean rank; of a query the mean over its hard answers counts, of a shape that over its queries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relatum.data.hypergraph import Hypergraph
from relatum.errors import DataError
from relatum.joins.answering import ranked_answers
from relatum.joins.truths import Truths
from relatum.progress import progress
from relatum.querysets.query_set import GradedQuery, QuerySet
from relatum.records import Record, Records, columns_of
from relatum.runs.join_truths import RunTruths
from relatum.runs.trained import Trained
from relatum.time_limit import Deadline

_DEEPEST = 1000  # answers that are looked at; those further down share the ranks that are left
RANKED_FLOOR = 0.0  # facts below the usual floor count here: an unlikely answer can still be likelier than all others
_SECONDS = 20.0

Ranking = Callable[[GradedQuery], list[tuple[tuple[int, ...], float]]]  # the best answers to a query, and their values


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """The ranks of the hard answers to a query of a shape, and of the full-hard ones among them; and how it was answered.

    `proven` says whether the answers were proven to be the best.
    """

    shape: str
    hard: tuple[float, ...]
    full_hard: tuple[float, ...]
    seconds: float
    proven: bool


@dataclass(frozen=True, slots=True)
class ShapeQuality(Record):
    """How well queries of a shape are answered."""

    shape: str  # the shape; `all` is the mean over shapes
    queries: int
    mrr: float  # the mean reciprocal rank of hard answers
    hit10: float  # how many of them are among the first 10
    full_hard_queries: int  # how many queries have full-hard answers
    full_hard_mrr: float | None  # the mean reciprocal rank of these; None if there are none
    seconds: float  # the median time of a query
    proven: float  # the share of queries whose answers were proven to be the best in time


QUALITY_COLUMNS = columns_of(ShapeQuality)


def evaluate_queries(
    run: Trained,
    queries: QuerySet,
    *,
    conjunction: str = "product",
    seconds: float | None = _SECONDS,
    predicted_alone: bool = False,
) -> Records[ShapeQuality]:
    """Return how well a run answers queries, shape by shape, and on the whole.

    The queries are over the facts that the run was trained on. What was found after `seconds` counts; with `predicted_alone`
    known facts count nothing: what rests on one is then not in the way of full-hard answers.
    """
    truths = RunTruths(run, known_before(run, queries), floor=RANKED_FLOOR)
    with progress("queries", len(queries)) as advance:
        ranked = []
        for query in queries:
            ranked.append(rank_query(truths, query, conjunction, seconds, predicted_alone))
            advance(1)
    return summed_up(ranked, f"{queries.part} queries")


def known_before(run: Trained, queries: QuerySet) -> Hypergraph:
    """Return the facts that count as known for queries; they must be about the data of the run."""
    split = run.split
    if queries.checksums != dict(split.checksums):
        raise DataError(
            "other-queries",
            f"the queries are about other data than the run was trained on ({queries.data})",
            place=run.name,
            remedy="make them with relatum queries from the same files",
        )
    parts = [split.train] if queries.part == "valid" else [split.train, split.valid]
    return Hypergraph.union(parts)


def rank_query(
    truths: Truths,
    query: GradedQuery,
    conjunction: str = "product",
    seconds: float | None = None,
    predicted_alone: bool = False,
) -> RankedQuery:
    """Return the ranks of the hard answers to a query by the best answers to it, arguments as of `evaluate_queries`."""
    began, limit = time.perf_counter(), Deadline(seconds)
    easy, hard = ({tuple(map(truths.entity, one)) for one in part} for part in (query.easy, query.hard))
    listed, waiting, wrong, least = [], set(hard), 0, 0.0
    new = truths.without_known() if predicted_alone and isinstance(truths, RunTruths) else truths
    for entities, value in ranked_answers(query.expression, new, conjunction, limit, negated=truths):
        listed.append((entities, value))
        if entities in waiting:
            waiting.discard(entities)
            least = value  # answers come best first; others may have the same value
        wrong += entities not in easy and entities not in hard
        if wrong > _DEEPEST or (not waiting and value < least):
            break
    return ranks_of(truths, query, listed, time.perf_counter() - began, not limit.stopped)


def ranks_of(
    truths: Truths, query: GradedQuery, listed: Sequence[tuple[tuple[int, ...], float]], seconds: float, proven: bool
) -> RankedQuery:
    """Return the ranks of hard answers among answers that are listed, best first, and all that are not."""
    easy, hard, full = (
        {tuple(map(truths.entity, one)) for one in part} for part in (query.easy, query.hard, query.full_hard)
    )
    right = easy | hard
    values = dict(listed)
    wrong = np.sort([value for entities, value in listed if entities not in right])
    left = float(truths.size) ** query.expression.arity - len(right) - len(wrong)

    def rank(entities: tuple[int, ...]) -> float:
        if entities not in values:
            return 1 + len(wrong) + left / 2
        above = len(wrong) - int(np.searchsorted(wrong, values[entities], "right"))
        equal = len(wrong) - int(np.searchsorted(wrong, values[entities], "left")) - above
        return 1 + above + equal / 2

    ranks = {entities: rank(entities) for entities in sorted(hard)}
    return RankedQuery(query.shape, tuple(ranks.values()), tuple(ranks[one] for one in sorted(full)), seconds, proven)


def summed_up(ranked: Sequence[RankedQuery], title: str) -> Records[ShapeQuality]:
    """Return the quality of each shape, in the order in which they come, and of all on the mean over shapes."""
    found = [
        _quality(shape, [one for one in ranked if one.shape == shape]) for shape in dict.fromkeys(o.shape for o in ranked)
    ]
    if len(found) > 1:
        full = [one.full_hard_mrr for one in found if one.full_hard_mrr is not None]
        mrr, hit10 = (float(np.mean([getattr(one, name) for one in found])) for name in ("mrr", "hit10"))
        full_mrr = float(np.mean(full)) if full else None
        found.append(replace(_quality("all", ranked), mrr=mrr, hit10=hit10, full_hard_mrr=full_mrr))
    return Records(found, QUALITY_COLUMNS, title)


def _quality(shape: str, ranked: Sequence[RankedQuery]) -> ShapeQuality:
    full = [np.mean(1 / np.array(one.full_hard)) for one in ranked if one.full_hard]
    return ShapeQuality(
        shape,
        len(ranked),
        float(np.mean([np.mean(1 / np.array(one.hard)) for one in ranked])),
        float(np.mean([np.mean(np.array(one.hard) <= 10) for one in ranked])),
        len(full),
        float(np.mean(full)) if full else None,
        float(np.median([one.seconds for one in ranked])),
        float(np.mean([one.proven for one in ranked])),
    )
