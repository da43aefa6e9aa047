"""What a model may add to its own steps of training, beside the contract: it inherits from the class that says so.

A step asks each of these with `isinstance`. A model that has none of them is trained by its queries, candidates and combine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.questions import Questions
from relatum.kernels.filters import Excluded
from relatum.models.base import Parameters


@dataclass(frozen=True, eq=False, slots=True)
class Gradient:
    """The gradient of some rows, ascending, and columns of a parameter; of all of them if None."""

    name: str
    rows: Int64 | None
    columns: Int64 | None
    values: Tensor


class FusedLoss(ABC):
    """The softmax loss and its gradient from one kernel, which keeps no matrix of scores."""

    @abstractmethod
    def fused_loss_per_fact(
        self, tables: Parameters, relations: Tensor, columns: Tensor, replacements: Tensor
    ) -> Tensor | None:
        """Return Eq. 3 summed over facts, each against its replacements [arity, n, K]; None where no kernel fits."""

    @abstractmethod
    def fused_loss_shared(
        self, tables: Parameters, relation: Tensor, columns: Tensor, excluded: list[Excluded]
    ) -> Tensor | None:
        """Return the loss summed over facts of one relation and positions, each against all entities of the tables.

        `excluded` holds, per position, the candidates that a fact is not compared with. None where no kernel fits.
        """


class Objective(NamedTuple):
    """What is asked of the scores of a question's candidates."""

    joint: bool = False  # all answers are targets of one softmax (KvsAll), or each beside what is no answer (1vsAll)
    damping: float = 0.0  # a question with n answers weighs n ** (1 - damping)
    smoothing: float = 0.0  # the share of the target that is spread over all candidates


@dataclass(frozen=True, eq=False, slots=True)
class QuestionBatch:
    """Some questions at one position of one relation, and what is asked of them."""

    questions: Questions
    chosen: Int64  # which of the questions
    pool: Int64 | None  # what they are compared with beside their answers; None for every entity
    objective: Objective


class FusedQuestions(ABC):
    """The softmax loss of questions and its gradient from one kernel, from the parameters to the rows that are touched."""

    @abstractmethod
    def question_gradients(
        self, parameters: Parameters, batch: QuestionBatch, rng: torch.Generator
    ) -> tuple[float, float, list[Gradient]] | None:
        """Return the mean loss per answer of a batch, its weight, and gradients; None where no kernel fits.

        `rng` is that of dropout.
        """


class ColumnDropout(ABC):
    """Columns of the parameters that a step leaves out: they cost nothing, and the step does not touch them."""

    @abstractmethod
    def kept_columns(self, rng: torch.Generator) -> dict[str, Tensor]:
        """Return the columns that a step keeps of each parameter, ascending; one that is not named keeps all.

        All other methods of the model take tables with the kept columns as they are.
        """


@dataclass(frozen=True, eq=False, slots=True)
class Neighbourhood:
    """What some entities are encoded from: rows of the entity tables, ascending, and `encode` for such parameters.

    The tables that `encode` returns have one row for each of the entities.
    """

    rows: Tensor
    encode: Callable[[Parameters, torch.Generator | None], Parameters]


class NeighbourSampling(ABC):
    """Encoding of some entities from their own rows and those of their neighbours in the facts."""

    @abstractmethod
    def neighbourhood(self, entities: Tensor, rng: torch.Generator) -> Neighbourhood:
        """Return what a step reads that needs the given entities, ascending and distinct."""


class Penalty(ABC):
    """A loss of the model's own, added to that of every fact of a batch."""

    @abstractmethod
    def penalty(self, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor | None:
        """Return the mean over facts of the model's own loss, or None where a batch has none."""
