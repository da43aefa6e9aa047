"""The best candidates of questions, and which of them are right: what the chance of an answer is fitted on and judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import CandidateScorer
from relatum.inference.validation import sample

RIVALS = 32  # candidates of a question that an answer is compared with, the best ones

_HELD_OUT, _KNOWN = 1_500, 4_000  # facts whose questions are taken, at most; a known one stands for many more


class Rivals(NamedTuple):
    """What an answer to each of some questions competes with."""

    scores: Float64  # of the best candidates that are not known, [n, RIVALS], best first, minus infinity for none
    entities: Ids  # these candidates, -1 for none
    known: Int64  # how many answers are known


def rivals_of(scorer: CandidateScorer, position: int, questions: Ids) -> Rivals:
    """Return what answers to questions, int32[arity, n], at a position compete with."""
    entities, scores = scorer.top(position, questions, RIVALS)
    return Rivals(scores.astype(np.float64), entities, scorer.answers(position, questions).counts)


class Answered(NamedTuple):
    """The best candidates of some questions about one position."""

    relation: int  # what they are about
    position: int  # the open one
    questions: Ids  # int32[arity, n]
    rivals: Rivals  # the candidates
    right: Bool  # which of them are held-out answers, [n, RIVALS]
    weight: Float64  # how many questions each stands for


def answer_sample(
    scorer_of: Callable[[int, KnownAnswers], CandidateScorer],
    known: Hypergraph,
    held_out: Hypergraph,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Answered]:
    """Yield the best candidates of questions that held-out or known facts answer, by relation and position.

    A question that held-out facts answer stands for those of its kind, and so does one that only known facts answer: there
    are many more of these, and so each stands for more.

    `scorer_of` returns what scores the candidates of a relation, with known facts left out; `advance` is called with how
    many facts are done.
    """
    taken, around = sample(held_out, _HELD_OUT), sample(known, _KNOWN)
    answers, right = KnownAnswers(known), KnownAnswers(held_out)
    shares = len(held_out) / max(1, len(taken)), len(known) / max(1, len(around))
    for relation, schema in enumerate(known.schema):
        scorer = scorer_of(relation, answers)
        sides = [one.table(schema.name).columns for one in (taken, around)]
        columns = np.concatenate(sides, axis=1)
        sizes = [each.shape[1] for each in sides]
        share, of_held_out = np.repeat(shares, sizes), np.repeat([True, False], sizes)
        for position in range(schema.arity if len(of_held_out) else 0):
            truth = right.lookup(np.full(len(of_held_out), relation, np.int32), columns, position)
            kept = of_held_out | (truth.counts == 0)
            questions = columns[:, kept]
            rivals = rivals_of(scorer, position, questions)
            times = np.where(of_held_out[kept], truth.counts[kept], rivals.known)  # facts that ask the same
            weight = share[kept] / np.maximum(1, times)
            yield Answered(relation, position, questions, rivals, _right(rivals, truth, kept), weight)
        advance(len(of_held_out))


def sampled_facts(known: Hypergraph, held_out: Hypergraph) -> int:
    """Return of how many facts `answer_sample` takes the questions, about."""
    return min(_HELD_OUT, len(held_out)) + min(_KNOWN, len(known))


def _right(rivals: Rivals, truth: AnswerLists, kept: Bool) -> Bool:
    """Return which candidates of the questions that are kept are among the held-out answers."""
    rows, ids = truth.pairs()
    numbers, size = np.flatnonzero(kept), np.int64(1) << 32
    pairs = numbers[:, None] * size + rivals.entities
    return np.isin(pairs, rows * size + ids) & (rivals.entities >= 0)
