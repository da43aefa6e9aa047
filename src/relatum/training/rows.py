"""The rows of training, facts or questions with all their answers: batches of them, and their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.data.hypergraph import Hypergraph
from relatum.data.questions import Questions, questions_of
from relatum.errors import DataError
from relatum.models.base import Model, Parameters
from relatum.models.ops import softmax_loss_of_answers
from relatum.models.training_protocols import FusedQuestions, Gradient, Objective, Penalty
from relatum.training.batches import Batch, epoch_batches, step_rng
from relatum.training.negatives import NegativeSampler
from relatum.training.settings import TrainingSettings
from relatum.training.step import gradients
from relatum.training.step_view import StepView

__all__ = ["FactRows", "QuestionRows", "Rows", "rows_of"]

Ints = npt.NDArray[np.int64]


class Rows(Protocol):
    """The rows of training, in batches."""

    @property
    def weight(self) -> float:
        """How much all rows weigh together."""

    def start_epoch(self, epoch: int) -> int:
        """Cut the rows of an epoch into batches, and return how many batches there are."""

    def gradients(self, parameters: Parameters, number: int) -> tuple[float, float, list[Gradient]]:
        """Return the mean loss of a batch of the epoch, how much the batch weighs, and the gradients of what it touches."""


def rows_of(model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> Rows:
    """Return the rows that the settings ask for."""
    return (QuestionRows if settings.rows == "questions" else FactRows)(model, facts, settings, seed)


class FactRows:
    """A row is a fact; at each of its positions it is compared with other entities."""

    def __init__(self, model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> None:
        self.model, self.facts, self.settings, self.seed = model, facts, settings, seed
        self._sampler = NegativeSampler(facts, settings)
        self.weight: float = len(facts)
        self._epoch, self._batches = 0, list[Batch]()

    def start_epoch(self, epoch: int) -> int:
        """Cut the facts into batches."""
        mixed = self.settings.negative_sampling == "per-fact"
        self._epoch = epoch
        self._batches = epoch_batches(self.facts, self.settings.batch_size, self.seed, epoch, mixed=mixed)
        return len(self._batches)

    def gradients(self, parameters: Parameters, number: int) -> tuple[float, float, list[Gradient]]:
        """Return the mean loss per fact; a batch weighs as much as it has facts."""
        batch, rng = self._batches[number], step_rng(self.seed, self._epoch, number)
        loss, found = gradients(self.model, parameters, batch, self._sampler, self.settings, rng)
        return loss, sum(map(len, batch)), found


@dataclass(frozen=True, eq=False, slots=True)
class _Batch:
    """Some questions at one position of one relation."""

    questions: Questions
    chosen: Ints


class QuestionRows:
    """A row is a question with all its answers: what many facts ask is asked once."""

    def __init__(self, model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> None:
        self.model, self.settings, self.seed = model, settings, seed
        self.questions = questions_of(facts)
        self.objective = Objective(settings.objective == "KvsAll", settings.answer_damping, settings.label_smoothing)
        damped = [np.diff(each.starts) ** (1 - settings.answer_damping) for each in self.questions]
        self.weight = float(sum(each.sum() for each in damped))
        self._epoch, self._batches = 0, list[_Batch]()

    def start_epoch(self, epoch: int) -> int:
        """Cut the questions into batches, each of one position of one relation and of about as many answers as another.

        Were it as many questions, those that have many answers would be learned from in few steps.
        """
        if not self.questions:
            raise DataError("there are no facts to train on")
        rng = step_rng(self.seed, epoch)
        batches = []
        for questions in self.questions:
            order = rng.permutation(len(questions))
            ends = np.cumsum(np.diff(questions.starts)[order])
            parts = max(1, round(len(questions.answers) / self.settings.batch_size))
            cuts = np.searchsorted(ends, np.arange(1, parts) * (len(questions.answers) / parts))
            batches += [_Batch(questions, part) for part in np.split(order, cuts) if len(part)]
        self._epoch, self._batches = epoch, [batches[index] for index in rng.permutation(len(batches)).tolist()]
        return len(batches)

    def gradients(self, parameters: Parameters, number: int) -> tuple[float, float, list[Gradient]]:
        """Return the mean loss per answer; a batch weighs as much as its answers."""
        batch, rng = self._batches[number], step_rng(self.seed, self._epoch, number)
        pool = self._pool(batch.questions, rng)
        dropout_rng = torch.Generator().manual_seed(int(rng.integers(2**62)))
        if isinstance(self.model, FusedQuestions):
            which = (batch.questions, batch.chosen, pool)
            fused = self.model.question_gradients(parameters, *which, self.objective, dropout_rng)
            if fused is not None:
                return fused
        return _by_autograd(self.model, parameters, batch, pool, self.objective, dropout_rng)

    def _pool(self, questions: Questions, rng: np.random.Generator) -> Ints | None:
        """Return what questions are compared with beside their answers, in no order; None for every entity."""
        settings = self.settings
        if settings.negative_sampling == "all-entities":
            return None
        inside = questions.related.astype(np.int64)
        wanted = round(settings.in_relation_share * settings.num_negatives)
        if len(inside) > wanted:
            inside = inside[rng.integers(0, len(inside), wanted)]
        anywhere = rng.integers(0, self.model.num_entities, settings.num_negatives - len(inside))
        return np.concatenate([inside, anywhere])


def _by_autograd(
    model: Model, parameters: Parameters, batch: _Batch, pool: Ints | None, objective: Objective, rng: torch.Generator
) -> tuple[float, float, list[Gradient]]:
    """Return what `QuestionRows.gradients` returns, for any model, by its queries and candidates."""
    questions, chosen = batch.questions, batch.chosen
    given = questions.given[chosen].astype(np.int64)
    entities, compared, ids = None, None, np.arange(model.num_entities)
    if pool is not None:
        lists = [questions.answers[questions.starts[i] : questions.starts[i + 1]] for i in chosen.tolist()]
        ids = np.unique(np.concatenate([pool, *lists]))
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
    loss, weight = softmax_loss_of_answers(scores, ids, (questions.answers, questions.starts), chosen, objective)
    total: Tensor = loss
    if isinstance(view.model, Penalty):
        penalty = view.model.penalty(tables, relations, filled)
        total = loss if penalty is None else loss + penalty
    torch.autograd.backward(total)
    return float(total.detach()), weight, view.gradients(parts)
