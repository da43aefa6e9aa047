"""Scores of a model: of facts, counts of better candidates and best answers, written once against the contract.

A `CandidateScorer` does so for the questions about one relation: only allowed entities count, and known answers can be left
out. A score that is not a finite number is an error that names the relation; it is never ranked. `CandidateSides` keeps
packed candidates between questions.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Bool, Float32, Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.known_answers import KnownAnswers
from relatum.data.schema import RelationSchema
from relatum.data.sorting import spread
from relatum.data.vocabulary import Ids
from relatum.errors import NumericError
from relatum.kernels.compact_side import CompactSide
from relatum.kernels.filters import Bonus, Excluded, bonus_part, excluded_pairs, excluded_part, nothing_excluded
from relatum.memory import budget, free
from relatum.models.base import Model, Parameters
from relatum.models.ops import one_torch_thread

_SHARE, _MOST = 16, 1 << 30  # of the memory that is free, and bytes at most

Key = tuple[int, int]  # relation, position


class CandidateSides:
    """Packed candidate sides by relation and position; where memory does not hold all, the least lately wanted go.

    A side is packed when it is wanted for the second time: a single question is answered sooner without.

    They take `most` bytes together; by default a sixteenth of what is free when the first one is packed, and a gigabyte at
    most.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._kept: OrderedDict[Key, CompactSide | None] = OrderedDict()
        self._wanted: set[Key] = set()
        self.nbytes = 0  # that they take
        self._lock = threading.Lock()

    def side(self, key: Key, pack: Callable[[], CompactSide | None]) -> CompactSide | None:
        """Return the packed side of a position; None the first time, and where there is none.

        `pack` makes the side, or returns None where it cannot be packed.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            if key not in self._wanted:
                self._wanted.add(key)
                return None
        side = pack()
        with self._lock:  # several threads packed it at once, perhaps: each gives the same, and one is kept
            if key not in self._kept:
                self._keep(key, side)
        return side

    def _keep(self, key: Key, side: CompactSide | None) -> None:
        if self.most is None:
            self.most = min(free() // _SHARE, _MOST)
        size = 0 if side is None else side.nbytes
        if size > self.most:
            return
        self._kept[key] = side
        self.nbytes += size
        while self.nbytes > self.most:
            _, dropped = self._kept.popitem(last=False)
            self.nbytes -= 0 if dropped is None else dropped.nbytes


Kept = TypeVar("Kept")

_FACTS = 1 << 12  # that are scored at once: memory is bounded
_SINGLE = 16  # questions that are asked one by one; more of them share the work of packing candidates


class EvidenceSource(Protocol):
    """What knows more about some candidates of a question than a model does."""

    def bonus(self, relation: int, position: int, questions: Ids) -> Bonus | None:
        """Return what is added to the scores of candidates at a position of questions, int32[arity, n]."""

    def supports(self, relation: int, facts: Ids) -> Bool:
        """Return which facts, int32[arity, n], it speaks for."""


@torch.no_grad()
def score(model: Model, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
    """Return the score of each fact, [n], for relations[n] and columns[arity, n]."""
    parts = zip(torch.split(relations, _FACTS), torch.split(columns, _FACTS, 1), strict=True)
    scores = torch.cat([model.score(tables, *part) for part in parts])
    wrong = ~torch.isfinite(scores)
    if wrong.any():
        raise _not_finite(model.schema[int(relations[wrong][0])])
    return scores


@torch.no_grad()
def count_better(
    model: Model,
    tables: Parameters,
    relation: int,
    columns: Tensor,
    position: int,
    excluded: Excluded,
    candidates: Tensor | None = None,
    bonus: Bonus | None = None,
) -> tuple[Int64, Int64]:
    """Return, for facts of one relation, how many entities at `position` score above the one there, and how many equal.

    `excluded` are not counted; a `bonus` is what some candidates score beyond what the model says. `candidates` is the
    candidate side, if not that of all entities: what stands at `position` and what is excluded are then indices among the
    candidates.
    """
    combine = model.combine(tables)
    counts = np.empty((2, columns.shape[1]), np.int64)
    with naming(model.schema[relation]):
        for part, queries, side in _sides(model, tables, relation, columns, position, candidates):
            targets = columns[position, part]
            counts[:, part] = combine.count_better(
                queries, side, targets, excluded_part(excluded, part), None if bonus is None else bonus_part(bonus, part)
            )
    return counts[0], counts[1]


@torch.no_grad()
def top(
    model: Model,
    tables: Parameters,
    relation: int,
    columns: Tensor,
    position: int,
    k: int,
    excluded: Excluded,
    candidates: Tensor | None = None,
    bonus: Bonus | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the k best entities at `position` and their scores, [n, k] both, best first; -1 where there are no more.

    `candidates` is the candidate side, if not that of all entities; the entities are then indices among them. `bonus` is
    what some of them score beyond what the model says.
    """
    if not columns.shape[1]:
        return columns.new_empty(0, k), torch.empty(0, k)
    combine = model.combine(tables)
    with naming(model.schema[relation]):
        found = [
            combine.top(
                queries, candidates, k, excluded_part(excluded, part), None if bonus is None else bonus_part(bonus, part)
            )
            for part, queries, candidates in _sides(model, tables, relation, columns, position, candidates)
        ]
    indices, scores = zip(*found, strict=True)
    return torch.cat(indices), torch.cat(scores)


class CandidateScorer:
    """Scores and ranks the candidates of questions about one relation; keeps the candidate side of the last position.

    `tables` are what `model.encode` gave. Known facts are left out; `allowed` has the entities of each position, ascending,
    where None allows all; evidence is added to scores; `sides` were kept from earlier questions about these very candidates.
    """

    def __init__(
        self,
        model: Model,
        tables: Parameters,
        relation: int,
        known: KnownAnswers | None = None,
        allowed: Sequence[Ids | None] | None = None,
        evidence: EvidenceSource | None = None,
        sides: CandidateSides | None = None,
    ) -> None:
        self._kept_sides = sides
        self.model, self.tables, self.relation, self.known, self.evidence = model, tables, relation, known, evidence
        self._allowed = allowed or [None] * model.schema[relation].arity
        self._side_of_last: tuple[int, Tensor] | None = None
        self._last: dict[str, tuple[tuple[int, bytes], object]] = {}

    def entities(self, position: int) -> Ids:
        """Return the allowed entities of a position, ascending."""
        allowed = self._allowed[position]
        return np.arange(self.model.num_entities, dtype=np.int32) if allowed is None else allowed

    def count(self, position: int) -> int:
        """Return how many entities a position allows."""
        allowed = self._allowed[position]
        return self.model.num_entities if allowed is None else len(allowed)

    @torch.no_grad()
    def top(
        self, position: int, questions: Ids, k: int, *, tables: Parameters | None = None, known: bool = True
    ) -> tuple[Ids, Float32]:
        """Return the k best answers to each question and their scores, [n, k] both; -1 and minus infinity for none.

        Given entities are looked up in `tables`, by default those of the model; known facts are left out unless `known` is
        false.
        """
        excluded: Excluded = (
            self._excluded(position, self.answers(position, questions)) if known else nothing_excluded(questions.shape[1])
        )
        given, bonus = torch.from_numpy(questions.astype(np.int64)), self._bonus(position, questions)
        packed = self._packed(position) if tables is None and 0 < questions.shape[1] <= _SINGLE else None
        if packed is not None:
            found, scores = self._top_of_packed(packed, position, given, k, excluded, bonus)
        else:
            own = self.tables if tables is None else tables
            found, scores = top(self.model, own, self.relation, given, position, k, excluded, self._side(position), bonus)
        indices, allowed = found.numpy(force=True), self._allowed[position]
        entities = indices if allowed is None else np.append(allowed, -1)[indices]  # where there is none it stays -1
        return entities.astype(np.int32), scores.numpy(force=True)

    @torch.no_grad()
    def count_better(self, position: int, facts: Ids) -> tuple[Int64, Int64, Int64]:
        """Return how many alternatives at a position score above each fact, how many equal, and how many there are.

        Alternatives are not known, and not the fact itself; the facts, int32[arity, n], hold only allowed entities.
        """
        answers, columns = self.answers(position, facts), facts.astype(np.int64)
        if (allowed := self._allowed[position]) is not None:
            columns[position] = np.searchsorted(allowed, facts[position])
        excluded, bonus = self._excluded(position, answers), self._bonus(position, facts)
        questions, side = torch.from_numpy(columns), self._side(position)
        better, equal = count_better(self.model, self.tables, self.relation, questions, position, excluded, side, bonus)
        return better, equal, self.count(position) - excluded.counts - ~answers.contain(facts[position])

    def scores(self, position: int, facts: Ids) -> Float32:
        """Return the scores of facts, int32[arity, n], as answers at a position: what the model says, and evidence."""
        return self.answer_scores(position, facts, np.arange(facts.shape[1]), facts[position])

    def answer_scores(self, position: int, questions: Ids, rows: Int64, entities: Ids) -> Float32:
        """Return the scores of answers at a position: what the model says, and evidence, which is read once a question.

        `rows` says which question, int32[arity, n], each of the entities is an answer to.
        """
        columns = torch.from_numpy(questions.astype(np.int64))[:, torch.from_numpy(rows)]
        columns[position] = torch.from_numpy(entities.astype(np.int64))
        found = score(self.model, self.tables, torch.full((len(rows),), self.relation), columns).numpy(force=True)
        bonus = self._evidence(position, questions)
        if bonus is None or not len(bonus.pool):
            return found
        named_in, named = AnswerLists(bonus.pool, bonus.starts, bonus.counts).pairs()
        size = np.int64(self.model.num_entities)
        pairs, wanted = named_in * size + named, rows * size + entities  # the first ascend: by question, then by entity
        where = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        return found + np.where(pairs[where] == wanted, bonus.values[where], np.float32(0))

    def forget(self) -> None:
        """Forget the candidate side of the last position, which takes much memory in a scorer that is kept."""
        self._side_of_last = None

    def _side(self, position: int) -> Tensor:
        last = self._side_of_last
        if last is None or last[0] != position:
            allowed = self._allowed[position]
            ids = None if allowed is None else torch.from_numpy(allowed.astype(np.int64))
            side = self.model.candidates(self.tables, torch.tensor(self.relation), position, ids)
            last = self._side_of_last = position, side
        return last[1]

    def _packed(self, position: int) -> CompactSide | None:
        """Return the candidate side of a position as it was kept, packed, or None."""
        if self._kept_sides is None:
            return None
        combine, key = self.model.combine(self.tables), (self.relation, position)
        with naming(self.model.schema[self.relation]):
            return self._kept_sides.side(key, lambda: combine.compact(self._side(position)))

    def _top_of_packed(
        self, side: CompactSide, position: int, questions: Tensor, k: int, excluded: Excluded, bonus: Bonus | None
    ) -> tuple[Tensor, Tensor]:
        allowed, relation = self._allowed[position], torch.tensor(self.relation)

        def rows(indices: Int64) -> Tensor:
            ids = torch.from_numpy(indices if allowed is None else allowed[indices].astype(np.int64))
            with one_torch_thread():  # so few that waking others takes longer
                return self.model.candidates(self.tables, relation, position, ids)

        queries = self.model.queries(self.tables, relation.expand(questions.shape[1]), questions, position)
        with naming(self.model.schema[self.relation]):
            return self.model.combine(self.tables).top_of_compact(queries, side, rows, k, excluded, bonus)

    def answers(self, position: int, questions: Ids) -> AnswerLists:
        """Return the known answers to questions, int32[arity, n]."""
        count, known = questions.shape[1], self.known
        if known is None:
            nothing = nothing_excluded(count)
            return AnswerLists(nothing.pool, nothing.starts, nothing.counts)
        relations = np.full(count, self.relation, np.int32)
        return self._of_last("known", position, questions, lambda: known.lookup(relations, questions, position))

    def _excluded(self, position: int, answers: AnswerLists) -> Excluded:
        """Return known answers as indices among the allowed entities; others are no candidates."""
        if self._allowed[position] is None:
            return answers
        return among(answers, lambda entities: self._indices(position, entities))

    def _bonus(self, position: int, questions: Ids) -> Bonus | None:
        """Return what evidence adds to the scores of candidates, by their indices among the allowed entities."""
        bonus = self._evidence(position, questions)
        if bonus is None or self._allowed[position] is None:
            return bonus
        return bonus_among(bonus, lambda entities: self._indices(position, entities))

    def _evidence(self, position: int, questions: Ids) -> Bonus | None:
        """Return what evidence adds to the scores of entities."""
        if self.evidence is None:
            return None
        evidence = self.evidence
        return self._of_last("bonus", position, questions, lambda: evidence.bonus(self.relation, position, questions))

    def _of_last(self, name: str, position: int, questions: Ids, read: Callable[[], Kept]) -> Kept:
        """Return what is read about questions; where the same few are asked about several times in a row, once."""
        if questions.shape[1] > _SINGLE:
            return read()
        given, last = (position, questions.tobytes()), self._last.get(name)
        if last is None or last[0] != given:
            last = self._last[name] = given, read()
        return cast(Kept, last[1])

    def _indices(self, position: int, entities: Ids) -> Int64:
        """Return the indices of entities among those that are allowed; -1 for others."""
        allowed = self.entities(position)
        indices = np.searchsorted(allowed, entities)
        return np.where(np.append(allowed, -1)[indices] == entities, indices, -1)


def among(lists: Excluded, indices_of: Callable[[Ids], Int64]) -> Excluded:
    """Return lists with the entities among some candidates alone, by their indices, -1 for others."""
    return excluded_pairs(*_pairs_among(lists, indices_of)[:2], len(lists.counts))


def bonus_among(bonus: Bonus, indices_of: Callable[[Ids], Int64]) -> Bonus:
    """Return a bonus for some candidates alone, by their indices, -1 for others."""
    rows, indices, there = _pairs_among(bonus, indices_of)
    kept = excluded_pairs(rows, indices, len(bonus.counts))
    return Bonus(kept.pool, kept.starts, kept.counts, bonus.values[spread(bonus.starts, bonus.counts)][there])


def _pairs_among(lists: Excluded, indices_of: Callable[[Ids], Int64]) -> tuple[Int64, Int64, Bool]:
    rows, entities = AnswerLists(lists.pool, lists.starts, lists.counts).pairs()
    indices = indices_of(entities)
    return rows[indices >= 0], indices[indices >= 0], indices >= 0


def _sides(
    model: Model, tables: Parameters, relation: int, columns: Tensor, position: int, candidates: Tensor | None = None
) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Yield the questions in parts whose query sides fit in memory, with the query side and the candidate side."""
    one = torch.tensor(relation, device=columns.device)
    if candidates is None:
        candidates = model.candidates(tables, one, position, None)
    row = len(columns) * candidates[:1].numel() * candidates.element_size()  # given entities are looked up on the way
    size = max(1, budget() // max(1, row))
    for start in range(0, columns.shape[1], size):
        part = slice(start, start + size)
        questions = columns[:, part]
        yield part, model.queries(tables, one.expand(questions.shape[1]), questions, position), candidates


@contextmanager
def naming(relation: RelationSchema) -> Iterator[None]:
    """Turn a number that is not finite into an error that names the relation."""
    try:
        yield
    except FloatingPointError:
        raise _not_finite(relation) from None


def _not_finite(relation: RelationSchema) -> NumericError:
    why = "the parameters have grown too large, or hold a NaN"
    return NumericError("not-finite", f"a score of relation {relation.name!r} is not a finite number: {why}")
