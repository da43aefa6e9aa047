"""The rows of training, facts or questions with all their answers: batches of them, and their gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.questions import Questions, questions_of
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.models.base import Model, Parameters
from relatum.models.ops import softmax_loss_of_answers
from relatum.models.training_protocols import ColumnDropout, FusedQuestions, Gradient, Objective, Penalty, QuestionBatch
from relatum.training.batches import Batch, NegativeSampler, draw_pool, epoch_batches, step_rng
from relatum.training.settings import TrainingSettings
from relatum.training.step import StepView, entities_of, gradients


class Needs(NamedTuple):
    """The part of the entity tables that a batch reads: it follows from seed, epoch and number, as all that is drawn."""

    entities: Int64 | None  # whose rows, ascending; None for all
    columns: dict[str, Int64]  # that are kept of each table, ascending; a table that is not named is read whole


Result = tuple[float, float, list[Gradient]]  # of a batch: the mean loss, how much it weighs, and the gradients


class Rows(ABC):
    """The rows of training, in batches; `weight` is how much all of them weigh together."""

    weight: float

    def __init__(self, model: Model, settings: TrainingSettings, seed: int) -> None:
        self.model, self.settings, self.seed, self._epoch = model, settings, seed, 0

    @abstractmethod
    def start_epoch(self, epoch: int) -> int:
        """Cut the rows of an epoch into batches, and return how many batches there are."""

    @abstractmethod
    def needs(self, number: int) -> Needs:
        """Return which part of the entity tables a batch of the epoch reads."""

    @abstractmethod
    def gradients(self, parameters: Parameters, number: int, among: Int64 | None = None) -> Result:
        """Return the mean loss of a batch of the epoch, how much the batch weighs, and the gradients of what it touches.

        `among` are the entities that the parameters have rows of, ascending; None for all. Gradients have indices among
        them. Only the rows and columns that the batch `needs` are read.
        """


def rows_of(model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> Rows:
    """Return the rows that the settings ask for."""
    if settings.rows == "questions":
        return QuestionRows(model, questions_of(facts), settings, seed)
    return FactRows(model, facts, settings, seed)


class FactRows(Rows):
    """A row is a fact; at each of its positions it is compared with other entities."""

    def __init__(self, model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> None:
        super().__init__(model, settings, seed)
        self.facts, self.weight, self._sampler = facts, len(facts), NegativeSampler(facts, settings)
        self._batches = list[Batch]()

    def start_epoch(self, epoch: int) -> int:
        """Cut the facts into batches."""
        mixed = self.settings.negative_sampling == "per-fact"
        self._epoch = epoch
        self._batches = epoch_batches(self.facts, self.settings.batch_size, self.seed, epoch, mixed=mixed)
        return len(self._batches)

    def needs(self, number: int) -> Needs:
        """Return the entities of the facts and of what they are compared with."""
        batch, rng = self._batches[number], step_rng(self.seed, self._epoch, number)
        drawn = self._sampler.draw(batch, rng)
        return Needs(entities_of(batch, drawn, self.settings), _kept_columns(self.model, int(rng.integers(2**62))))

    def gradients(self, parameters: Parameters, number: int, among: Int64 | None = None) -> Result:
        """Return the mean loss per fact; a batch weighs as much as it has facts."""
        batch, rng = self._batches[number], step_rng(self.seed, self._epoch, number)
        loss, found = gradients(self.model, parameters, batch, self._sampler, self.settings, rng, among)
        return loss, sum(map(len, batch)), found


class QuestionRows(Rows):
    """A row is a question with all its answers: what many facts ask is asked once."""

    def __init__(self, model: Model, questions: list[Questions], settings: TrainingSettings, seed: int) -> None:
        super().__init__(model, settings, seed)
        self.questions, self._batches = questions, list[tuple[Questions, Ids]]()
        self.objective = Objective(settings.objective == "KvsAll", settings.answer_damping, settings.label_smoothing)
        self.weight = float(sum((np.diff(each.starts) ** (1 - settings.answer_damping)).sum() for each in questions))

    def start_epoch(self, epoch: int) -> int:
        """Cut the questions into batches, each of one position of one relation and of about as many answers as another.

        Were it as many questions, those that have many answers would be learned from in few steps.
        """
        if not self.questions:
            raise DataError("no-facts", "there are no facts to train on")
        rng = step_rng(self.seed, epoch)
        batches = []
        for questions in self.questions:
            order = rng.permutation(np.arange(len(questions), dtype=np.int32))  # the order of int64, in half the memory
            ends = np.cumsum(np.diff(questions.starts)[order])
            parts = max(1, round(len(questions.answers) / self.settings.batch_size))
            cuts = np.searchsorted(ends, np.arange(1, parts) * (len(questions.answers) / parts))
            batches += [(questions, part) for part in np.split(order, cuts) if len(part)]
        self._epoch, self._batches = epoch, [batches[index] for index in rng.permutation(len(batches)).tolist()]
        return len(batches)

    def needs(self, number: int) -> Needs:
        """Return the entities of the questions, their answers, and what these are compared with."""
        batch, dropout_seed = self._batch(number)
        columns = _kept_columns(self.model, dropout_seed)
        if batch.pool is None:
            return Needs(None, columns)
        given = batch.questions.given[batch.chosen].ravel()
        return Needs(np.unique(np.concatenate([batch.pool, *_answers(batch), given])), columns)

    def gradients(self, parameters: Parameters, number: int, among: Int64 | None = None) -> Result:
        """Return the mean loss per answer; a batch weighs as much as its answers."""
        batch, dropout_seed = self._batch(number)
        dropout_rng = torch.Generator().manual_seed(dropout_seed)
        if among is not None:  # in order, so sums are taken in the order that they have with all entities
            batch = _among(batch, among)
        if isinstance(self.model, FusedQuestions):
            fused = self.model.question_gradients(parameters, batch, dropout_rng)
            if fused is not None:
                return fused
        return _by_autograd(self.model, parameters, batch, dropout_rng)

    def _batch(self, number: int) -> tuple[QuestionBatch, int]:
        """Return a batch of the epoch, with what it is compared with, and the seed of its dropout."""
        (questions, chosen), rng = self._batches[number], step_rng(self.seed, self._epoch, number)
        pool = None
        if self.settings.negative_sampling != "all-entities":
            pool = draw_pool(questions.related.astype(np.int64), self.model.num_entities, self.settings, rng)
        batch = QuestionBatch(questions, chosen.astype(np.int64), pool, self.objective)
        return batch, int(rng.integers(2**62))


def _kept_columns(model: Model, seed: int) -> dict[str, Int64]:
    """Return the columns of the entity tables that a batch keeps whose dropout has this seed."""
    if not isinstance(model, ColumnDropout):
        return {}
    kept = model.kept_columns(torch.Generator().manual_seed(seed))  # the first that a batch draws of its dropout
    return {name: kept[name].numpy() for name in model.entity_tables if name in kept}


def _answers(batch: QuestionBatch) -> list[Ids]:
    """Return the answers to each of the questions."""
    questions = batch.questions
    return [questions.answers[questions.starts[i] : questions.starts[i + 1]] for i in batch.chosen.tolist()]


def _among(batch: QuestionBatch, among: Int64) -> QuestionBatch:
    """Return a batch whose entities are indices among some, ascending, that hold all of them; it has no other questions."""
    questions, lists = batch.questions, _answers(batch)
    found = replace(
        questions,
        given=np.searchsorted(among, questions.given[batch.chosen]).astype(np.int32),
        answers=np.searchsorted(among, np.concatenate(lists)).astype(np.int32),
        starts=np.cumsum([0, *map(len, lists)]),
        related=questions.related[:0],  # what is drawn from these is drawn already
    )
    pool = None if batch.pool is None else np.searchsorted(among, batch.pool)
    return replace(batch, questions=found, chosen=np.arange(len(lists)), pool=pool)


def _by_autograd(model: Model, parameters: Parameters, batch: QuestionBatch, rng: torch.Generator) -> Result:
    """Return what `QuestionRows.gradients` returns, for any model, by its queries and candidates."""
    questions, chosen = batch.questions, batch.chosen
    given = questions.given[chosen].astype(np.int64)
    entities, compared, ids = None, None, np.arange(len(parameters["entities"]))
    if batch.pool is not None:
        ids = np.unique(np.concatenate([batch.pool, *_answers(batch)]))
        entities = np.union1d(ids, given)
        compared = torch.from_numpy(np.searchsorted(entities, ids))
    view = StepView.of(model, entities, np.array([questions.relation]), rng)
    parts = view.parts(parameters)
    tables = view.encode(parts, rng)
    answered = np.insert(given.T, questions.position, questions.answers[questions.starts[chosen]], axis=0)
    columns = view.entity_indices(answered)
    relation = torch.from_numpy(view.relation_indices(np.array([questions.relation])))
    relations, filled = relation.expand(len(chosen)), torch.from_numpy(np.ascontiguousarray(columns))
    queries = view.model.queries(tables, relations, filled, questions.position)
    candidates = view.model.candidates(tables, relation[0], questions.position, compared)
    scores = view.model.combine(tables).matrix(queries, candidates)
    loss, weight = softmax_loss_of_answers(scores, ids, (questions.answers, questions.starts), chosen, batch.objective)
    total: Tensor = loss
    if isinstance(view.model, Penalty):
        penalty = view.model.penalty(tables, relations, filled)
        total = loss if penalty is None else loss + penalty
    torch.autograd.backward(total)
    return float(total.detach()), weight, view.gradients(parts)
