"""Scores of one relation's candidates: only allowed entities count, and known answers can be left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from relatum.arrays import Float32, Int64
from relatum.data.known_answers import AnswerLists, KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference import scoring
from relatum.kernels.filters import Excluded, excluded_pairs, nothing_excluded
from relatum.models.base import Model, Parameters

__all__ = ["CandidateScorer"]


class CandidateScorer:
    """Scores and ranks the candidates of questions about one relation; keeps the candidate side of the last position.

    Args:
        model: the model.
        tables: what `model.encode` gave.
        relation: the relation's id.
        known: the facts that are left out.
        allowed: for each position the allowed entities, ascending; None allows all.
    """

    def __init__(
        self,
        model: Model,
        tables: Parameters,
        relation: int,
        known: KnownAnswers | None = None,
        allowed: Sequence[Ids | None] | None = None,
    ) -> None:
        self.model, self.tables, self.relation, self.known = model, tables, relation, known
        self._allowed = allowed or [None] * model.schema[relation].arity
        self._position = -1

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

        Args:
            position: the open position.
            questions: int32[arity, n], the questions.
            k: how many answers.
            tables: where the given entities are looked up, if not among those of the model.
            known: whether known facts are left out.
        """
        excluded: Excluded = (
            self._excluded(position, self._answers(position, questions)) if known else nothing_excluded(questions.shape[1])
        )
        found, scores = scoring.top(
            self.model,
            self.tables if tables is None else tables,
            self.relation,
            torch.from_numpy(questions.astype(np.int64)),
            position,
            k,
            excluded,
            self._side(position),
        )
        indices, allowed = found.numpy(force=True), self._allowed[position]
        entities = indices if allowed is None else np.append(allowed, -1)[indices]  # where there is none it stays -1
        return entities.astype(np.int32), scores.numpy(force=True)

    @torch.no_grad()
    def count_better(self, position: int, facts: Ids) -> tuple[Int64, Int64, Int64]:
        """Return how many alternatives at a position score above each fact, how many equal, and how many there are.

        Alternatives are not known, and not the fact itself; the facts, int32[arity, n], hold only allowed entities.
        """
        answers, columns = self._answers(position, facts), facts.astype(np.int64)
        if (allowed := self._allowed[position]) is not None:
            columns[position] = np.searchsorted(allowed, facts[position])
        excluded, questions = self._excluded(position, answers), torch.from_numpy(columns)
        better, equal = scoring.count_better(
            self.model, self.tables, self.relation, questions, position, excluded, self._side(position)
        )
        return better, equal, self.count(position) - excluded.counts - ~answers.contain(facts[position])

    def _side(self, position: int) -> torch.Tensor:
        if position != self._position:
            allowed = self._allowed[position]
            ids = None if allowed is None else torch.from_numpy(allowed.astype(np.int64))
            self._candidates = self.model.candidates(self.tables, torch.tensor(self.relation), position, ids)
            self._position = position
        return self._candidates

    def _answers(self, position: int, questions: Ids) -> AnswerLists:
        count = questions.shape[1]
        if self.known is None:
            nothing = nothing_excluded(count)
            return AnswerLists(nothing.pool, nothing.starts, nothing.counts)
        return self.known.lookup(np.full(count, self.relation, np.int32), questions, position)

    def _excluded(self, position: int, answers: AnswerLists) -> Excluded:
        """Return known answers as indices among the allowed entities; others are no candidates."""
        allowed = self._allowed[position]
        if allowed is None:
            return answers
        questions, entities = answers.pairs()
        indices = np.searchsorted(allowed, entities)
        there = np.append(allowed, -1)[indices] == entities
        return excluded_pairs(questions[there], indices[there], len(answers))
