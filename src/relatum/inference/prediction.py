"""The best facts that are not known: with some positions open, or around known ones, or among all.

With several open positions all facts are tried, or where there are too many a beam is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Float32, Int64
from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids
from relatum.inference.scoring import CandidateScorer
from relatum.models.base import Parameters, rows

EXHAUSTIVE_LIMIT = 2_000_000_000  # facts that may be tried: seconds to a minute

_QUERIES = 1024  # met with all entities at once
_ROUNDS = 5  # in which a beam is improved


@torch.no_grad()
def best_facts(
    scorer: CandidateScorer, columns: Tensor, positions: list[int], k: int, beam: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the best facts, int64[arity, found], and their scores, best first, at most k.

    The scorer leaves known facts out. `columns`, int64[arity, 1], has the given entities; what stands at the open positions
    is ignored. A `beam` is how many partial facts are kept at each step; None tries all facts.
    """
    search = _Search(scorer, k)
    return search.exhaustive(columns, positions) if beam is None else search.by_beam(columns, positions, max(beam, k))


class _Search:
    def __init__(self, scorer: CandidateScorer, k: int) -> None:
        self.scorer, self.k = scorer, k

    def exhaustive(self, columns: Tensor, positions: list[int]) -> tuple[Tensor, Tensor]:
        """Meet every filling of all open positions but the last with all entities."""
        *first, last = positions
        best, scores = columns[:, :0], torch.empty(0)
        fillings = itertools.product(*(self.scorer.entities(position).tolist() for position in first))
        while part := list(itertools.islice(fillings, _QUERIES)):
            questions = columns.repeat(1, len(part))
            questions[first] = torch.tensor(part, dtype=torch.int64).T
            found = self._filled(questions, last, self.k)
            best, scores = _good(torch.cat([best, found[0]], 1), torch.cat([scores, found[1]]), self.k)
            best, scores = _best(best, scores, self.k)
        return best, scores

    def by_beam(self, columns: Tensor, positions: list[int], beam: int) -> tuple[Tensor, Tensor]:
        """Fill one position after the other, the rest held by a mean entity, then each again for as long as that helps."""
        tables, held = self._with_means(positions)
        found = columns.clone()
        found[positions] = held[:, None]
        scores = torch.empty(0)
        for position in positions:
            whole = position == positions[-1]
            found, scores = _best(*self._filled(found, position, beam, tables=tables, known=whole), beam)
        for _ in range(_ROUNDS):
            before = found
            for position in positions:
                more, more_scores = self._filled(found, position, self.k)
                found, scores = _best(torch.cat([found, more], 1), torch.cat([scores, more_scores]), beam)
            if found.shape == before.shape and torch.equal(found, before):
                break
        return found[:, : self.k], scores[: self.k]

    def _filled(
        self, questions: Tensor, position: int, k: int, *, tables: Parameters | None = None, known: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Return the facts that the k best entities at a position make of each partial fact, and their scores."""
        most = max(1, min(k, self.scorer.count(position)))
        entities, scores = self.scorer.top(position, questions.numpy().astype(np.int32), most, tables=tables, known=known)
        filled = np.repeat(questions.numpy(), most, axis=1)
        filled[position] = entities.ravel()
        there = filled[position] >= 0
        return torch.from_numpy(filled[:, there]), torch.from_numpy(scores.ravel()[there])

    def _with_means(self, positions: list[int]) -> tuple[Parameters, Tensor]:
        """Return tables with an entity more for each position, the mean of those known there, and the ids of these."""
        model, tables = self.scorer.model, dict(self.scorer.tables)
        facts = model.graph.table(model.schema[self.scorer.relation].name).columns
        for name in model.entity_tables:
            table = tables[name]
            means = []
            for position in positions:
                there = torch.from_numpy(np.unique(facts[position]).astype(np.int64))
                means.append((rows(table, there) if len(there) else table).mean(0, keepdim=True))
            tables[name] = torch.cat([table, *means])
        return tables, model.num_entities + torch.arange(len(positions))


def _best(facts: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best distinct facts, smaller ids first on ties."""
    columns = facts.numpy()
    order = np.lexsort(columns[::-1])
    order = order[differs_from_previous([column[order] for column in columns])]
    order = order[np.argsort(-scores.numpy()[order], kind="stable")[:k]]
    return torch.from_numpy(columns[:, order]), scores[torch.from_numpy(order)]


def _good(facts: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return those of distinct facts that are as good as the k-th best."""
    if len(scores) <= k:
        return facts, scores
    good = scores >= float(np.partition(scores.numpy(), -k)[-k])
    return facts[:, good], scores[good]


Part = tuple[int, Ids]  # an open position, and questions int32[arity, n]


class Questions(Protocol):
    """Questions about one relation, each with one open position; the entity there is ignored."""

    def __len__(self) -> int: ...

    def parts(self, size: int) -> Iterator[Part]:
        """Yield them in parts of at most `size` that have one open position."""


@dataclass(frozen=True, eq=False)
class ListedQuestions:
    """Questions by open position, int32[arity, n] each."""

    by_position: Sequence[Ids]

    def __len__(self) -> int:
        return sum(columns.shape[1] for columns in self.by_position)

    def parts(self, size: int) -> Iterator[Part]:
        """Yield them position by position."""
        return cut(enumerate(self.by_position), size)


@dataclass(frozen=True, eq=False)
class AllQuestions:
    """Every question that leaves the last position open; `allowed` has the entities of each position."""

    allowed: Sequence[Ids]

    def __len__(self) -> int:
        return math.prod(len(ids) for ids in self.allowed[:-1])

    def parts(self, size: int) -> Iterator[Part]:
        """Yield them in the order of their entities; each is built when it is needed."""
        *given, _ = self.allowed
        for start in range(0, len(self), size):
            numbers = np.arange(start, min(start + size, len(self)))
            indices = np.unravel_index(numbers, [len(ids) for ids in given]) if given else ()
            rows = [ids[index] for ids, index in zip(given, indices, strict=True)]
            yield len(given), np.stack([*rows, np.zeros(len(numbers), np.int32)])


def questions_around(facts: Ids, positions: Sequence[int] | None = None) -> ListedQuestions:
    """Return every distinct question that facts, int32[arity, n], answer: those that opening one position of each gives.

    `positions` are those that are opened; by default all.
    """
    by_position = []
    for position in range(len(facts)):
        if positions is not None and position not in positions:
            by_position.append(facts[:, :0])
            continue
        opened = facts.copy()
        opened[position] = 0
        order = np.lexsort(opened[::-1])
        distinct = differs_from_previous([column[order] for column in opened])
        by_position.append(opened[:, order[distinct]])
    return ListedQuestions(by_position)


def cut(parts: Iterable[Part], size: int) -> Iterator[Part]:
    """Yield parts that have at most `size` questions each."""
    for position, columns in parts:
        for start in range(0, columns.shape[1], size):
            yield position, columns[:, start : start + size]


_WIDTH = 16  # answers that every question is given; if the last may not be the last that counts, times as many more
_ANSWERS = 1 << 15  # to all questions of a part


@dataclass(frozen=True, eq=False)
class NewFacts:
    """Facts, int32[arity, n], best first; of each the position whose entity was found, and the score."""

    columns: Ids
    positions: Int64
    scores: Float32


@torch.no_grad()
def best_new_facts(
    scorer: CandidateScorer,
    questions: Questions,
    most: int,
    *,
    answers: int | None = None,
    least: float = -math.inf,
    advance: Callable[[int], object] = lambda _: None,
) -> NewFacts:
    """Return the best facts among the answers to questions, at most `most` and all distinct, smaller ids first on ties.

    The score of a fact that answers several questions is the best that it was found with; without evidence these differ by
    rounding alone.
    First every question gets a few answers. Only one whose last answer could still be among the best is answered again
    with more, and there are few of these: each has as many answers among the best already.

    So many `answers` to a question count, by default as many as there are, and a fact has a score of `least` at least.
    `advance` is called with how many questions are done.
    """
    model = scorer.model
    limit = min(most if answers is None else answers, model.num_entities)
    width = min(_WIDTH, limit)
    best = _Best(model.schema[scorer.relation].arity, most, least)
    parts = questions.parts(_ANSWERS // width)
    while True:
        again = _answer_once(scorer, best, parts, width, advance, final=width == limit)
        if not again:
            return best.facts
        width = min(width * _WIDTH, limit)
        parts = cut(_joined(again), max(1, _ANSWERS // width))


def _answer_once(
    scorer: CandidateScorer, best: _Best, parts: Iterator[Part], width: int, advance: Callable[[int], object], *, final: bool
) -> list[Part]:
    """Offer the best answers to every question, so many each, and return the questions that need more."""
    waiting: list[tuple[int, Ids, Float32]] = []
    for position, questions in parts:
        found, scores = scorer.top(position, questions, width)
        best.offer(position, questions, found, scores)
        last = scores[:, -1]  # minus infinity if the question has no more answers
        unsettled = np.isfinite(last) & (last >= best.bar) & (not final)
        waiting.append((position, questions[:, unsettled], last[unsettled]))
        advance(int(np.count_nonzero(~unsettled)))
    best.settle()
    again = [(position, questions[:, last >= best.bar]) for position, questions, last in waiting]
    advance(sum(questions.shape[1] for _, questions, _ in waiting) - sum(questions.shape[1] for _, questions in again))
    return [(position, questions) for position, questions in again if questions.shape[1]]


class _Best:
    """The best distinct facts of all that were offered, at most `most`; memory does not grow with what is offered."""

    def __init__(self, arity: int, most: int, least: float) -> None:
        self._most = most
        self.bar = np.float64(least)  # a plain float would be rounded to the type of the scores that are compared with it
        self.facts = NewFacts(np.empty((arity, 0), np.int32), np.empty(0, np.int64), np.empty(0, np.float32))
        self._pending: list[NewFacts] = []
        self._waiting = 0

    def offer(self, position: int, questions: Ids, found: Ids, scores: Float32) -> None:
        """Take the answers `found` to questions, [n, k], that are good enough to be among the best so far."""
        question, rank = np.nonzero((found >= 0) & (scores >= self.bar))
        columns = questions[:, question]
        columns[position] = found[question, rank]
        self._pending.append(NewFacts(columns, np.full(len(question), position), scores[question, rank]))
        self._waiting += len(question)
        if self._waiting >= self._most:
            self.settle()

    def settle(self) -> None:
        """Choose the best of what there is, and raise the bar to the last of them."""
        every = [self.facts, *self._pending]
        columns = np.concatenate([facts.columns for facts in every], axis=1)
        positions = np.concatenate([facts.positions for facts in every])
        scores = np.concatenate([facts.scores for facts in every])
        # Sorted by entities equal facts are neighbours, the best of them first; a stable sort leaves ties in that order.
        order = np.lexsort((positions, -scores, *columns[::-1]))
        order = order[differs_from_previous([column[order] for column in columns])]
        order = order[np.argsort(-scores[order], kind="stable")][: self._most]
        self.facts = NewFacts(columns[:, order], positions[order], scores[order])
        self._pending, self._waiting = [], 0
        if len(order) == self._most:
            self.bar = max(self.bar, np.float64(self.facts.scores[-1]))


def _joined(parts: list[Part]) -> Iterator[Part]:
    """Yield the questions of neighbouring parts that have one open position together."""
    for position, group in itertools.groupby(parts, key=lambda part: part[0]):
        yield position, np.concatenate([columns for _, columns in group], axis=1)
