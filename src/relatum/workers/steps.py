"""A step of several workers: rows are fetched from who has them, batches shared out, and gradients returned.

The batches of a step are dealt out in turn, each is computed from the same parameters as one process would, and whoever
has a row takes the optimizer's steps on it in the order of the batches: the bits are those of one process, whatever the
number of workers. What the next step needs is known before its parameters are, so its questions go with the gradients of
this one, and a step has two exchanges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.questions import map_questions, questions_of, save_questions
from relatum.kernels.rows import block
from relatum.models.base import Model, Parameters
from relatum.models.ops import as_array
from relatum.models.training_protocols import Gradient
from relatum.training.loop import Steps
from relatum.training.optimizer import Optimizer
from relatum.training.rows import Needs, QuestionRows, Result, Rows, rows_of
from relatum.training.settings import TrainingSettings
from relatum.workers.group import Group, Shares, packed, packed_size, unpacked
from relatum.workers.states import scratch_folder

Array = npt.NDArray[Any]

_NONE = np.empty(0, np.int64)
_FLOAT = 4  # bytes of a number of the entity tables


def shared_rows(folder: Path, group: Group, model: Model, facts: Hypergraph, settings: TrainingSettings, seed: int) -> Rows:
    """Return the rows that the settings ask for; questions are made by the first worker, and mapped by all from one file."""
    if settings.rows != "questions":
        return rows_of(model, facts.distinct(), settings, seed)
    path, found = scratch_folder(folder) / "questions.safetensors", list[Rows]()
    group.first_alone(lambda: save_questions(path, questions_of(facts)), "questions")
    group.together(lambda: found.append(QuestionRows(model, map_questions(path), settings, seed)))
    return found[0]


@dataclass
class _Questions:
    """What the batches of a step need of each worker."""

    numbers: list[int]  # of all batches of the step
    mine: list[int]  # those of this worker
    needs: list[Needs]  # of each of its batches
    cuts: list[list[slice]]  # which of the entities that a batch needs each worker has
    received: list[list[Array]]  # what the others need of this worker, once they have said it


class SharedSteps(Steps):
    """The steps of one worker of a group.

    The first worker asks all for what is `wanted`, with the next step, or 0 for nothing; `agreed` came with the last one.
    """

    def __init__(self, group: Group, shares: Shares, model: Model, rows: Rows, optimizer: Optimizer, pool: Executor) -> None:
        super().__init__(rows, optimizer, pool)
        self._group, self._shares = group, shares
        self._names, self._all_names = model.entity_tables, sorted(optimizer.parameters)
        self._batches, self._next = 0, _Questions([], [], [], [], [])
        self.wanted = self.agreed = 0

    def start_epoch(self, epoch: int) -> int:
        """Cut the rows into batches; what was asked for a step of another epoch counts no more."""
        self._batches, self._next = self._rows.start_epoch(epoch), self._questions([])
        return self._batches

    def gradients(self, numbers: Sequence[int]) -> list[tuple[float, float]]:
        """Compute the gradients of this worker's batches, and exchange them for those of its own entities."""
        now = self._next
        if now.numbers != list(numbers):
            now = self._questions(numbers)
            now.received = [unpacked(one) for one in self._group.exchange([packed(each) for each in self._requests(now)])]
        tables = self._fetched(now)
        results = list(self._pool.map(self._of_batch, now.mine, tables, now.needs))
        behind = numbers[-1] + 1
        self._next = self._questions(range(behind, min(behind + len(numbers), self._batches)))
        return self._returned(numbers, results)

    def _needs(self, number: int) -> Needs:
        needs = self._rows.needs(number)
        return needs if needs.entities is not None else needs._replace(entities=np.arange(self._shares.entities))

    def _of_batch(self, number: int, tables: Parameters, needs: Needs) -> Result:
        loss, weight, found = self._work({**self._optimizer.parameters, **tables}, number, needs.entities)
        return loss, weight, [self._by_id(gradient, needs) for gradient in found]

    def _by_id(self, gradient: Gradient, needs: Needs) -> Gradient:
        """Return a gradient whose rows are entities, where they were indices among those that a batch needs."""
        if gradient.name not in self._names:
            return gradient
        return replace(gradient, rows=_ids(needs) if gradient.rows is None else _ids(needs)[gradient.rows])

    def _questions(self, numbers: Sequence[int]) -> _Questions:
        """Return what some batches need; nobody has been asked for it yet."""
        mine = list(numbers)[self._group.number :: self._group.count]
        needs = list(self._pool.map(self._needs, mine))
        return _Questions(list(numbers), mine, needs, [self._shares.cut(_ids(one)) for one in needs], [])

    def _requests(self, questions: _Questions) -> list[list[Array]]:
        """Return what each worker is asked: for each batch some of its entities, and the columns of each table."""
        requests: list[list[Array]] = [[] for _ in range(self._group.count)]
        for one, parts in zip(questions.needs, questions.cuts, strict=True):
            kept = [one.columns.get(name, _NONE) for name in self._names]
            for worker, part in enumerate(parts):
                requests[worker] += [_ids(one)[part], *kept]
        return requests

    def _fetched(self, now: _Questions) -> list[Parameters]:
        """Return for each batch the rows of the entity tables that it needs; columns that it does not need hold anything."""
        expected = [packed_size(self._shapes(now, worker), _FLOAT) for worker in range(self._group.count)]
        answers = self._group.exchange([packed(self._answer(arrays)) for arrays in now.received], expected)
        replies = [iter(unpacked(message)) for message in answers]
        return [self._assembled(one, parts, replies) for one, parts in zip(now.needs, now.cuts, strict=True)]

    def _shapes(self, now: _Questions, worker: int) -> list[tuple[int, int]]:
        """Return the shapes of the arrays that a worker answers with."""
        widths = {name: math.prod(self._optimizer.parameters[name].shape[1:]) for name in self._names}
        return [
            (parts[worker].stop - parts[worker].start, len(one.columns.get(name, _NONE)) or widths[name])
            for one, parts in zip(now.needs, now.cuts, strict=True)
            for name in self._names
        ]

    def _answer(self, arrays: list[Array]) -> list[Array]:
        """Return the rows and columns that another worker needs for its batches."""
        found = []
        width = 1 + len(self._names)
        for start in range(0, len(arrays), width):
            rows = arrays[start] - self._shares.first
            for name, columns in zip(self._names, arrays[start + 1 : start + width], strict=True):
                found.append(_block(self._optimizer.parameters[name], rows, columns))
        return found

    def _assembled(self, needs: Needs, parts: list[slice], replies: list[Any]) -> Parameters:
        """Return the tables of one batch from what each worker has sent of it."""
        tables = {}
        for name in self._names:
            own = self._optimizer.parameters[name]
            columns = needs.columns.get(name)
            table = np.empty((len(_ids(needs)), math.prod(own.shape[1:])), np.float32)
            for part, reply in zip(parts, replies, strict=True):
                if columns is None:
                    table[part] = next(reply)
                else:
                    table[part, columns] = next(reply)
            tables[name] = torch.from_numpy(table).view(len(table), *own.shape[1:])
        return tables

    def _returned(self, numbers: Sequence[int], results: list[Result]) -> list[tuple[float, float]]:
        """Send gradients to who has the rows, keep those of this worker's rows, and return losses and weights.

        What the next step needs goes along.
        """
        losses = np.array([[loss, weight] for loss, weight, _ in results], np.float64).reshape(-1, 2)
        head: list[Array] = [np.array([self.wanted], np.int64), losses]
        messages = []
        cuts = [[self._cut(gradient) for gradient in found] for _, _, found in results]
        for worker, requests in enumerate(self._requests(self._next)):
            arrays = list(head)
            for (_, _, found), parts in zip(results, cuts, strict=True):
                arrays.append(np.array([len(found)], np.int64))
                for gradient, part in zip(found, parts, strict=True):
                    arrays += self._sent(gradient, slice(None) if part is None else part[worker])
            messages.append(packed(arrays + requests))
        received = [iter(unpacked(message)) for message in self._group.exchange(messages)]
        wanted, all_losses = [next(reply) for reply in received], [next(reply) for reply in received]
        self.agreed, self.wanted = int(wanted[0][0]), 0
        self._found = []
        for index in range(len(numbers)):  # in the order of the batches
            reply = received[index % self._group.count]
            self._found += [self._taken(reply) for _ in range(int(next(reply)[0]))]
        self._next.received = [list(reply) for reply in received]
        self._found = [gradient for gradient in self._found if gradient.rows is None or len(gradient.rows)]
        count = self._group.count
        return [tuple(all_losses[index % count][index // count].tolist()) for index in range(len(numbers))]

    def _cut(self, gradient: Gradient) -> list[slice] | None:
        """Return which rows of a gradient each worker has; None where all have all."""
        if gradient.name not in self._names or gradient.rows is None:
            return None
        return self._shares.cut(gradient.rows)

    def _sent(self, gradient: Gradient, part: slice) -> list[Array]:
        """Return a gradient, or the part of it that goes to one worker, as arrays: a name, rows, columns and values."""
        name = self._all_names.index(gradient.name)
        rows = _NONE if gradient.rows is None else gradient.rows[part]
        columns = _NONE if gradient.columns is None else gradient.columns
        whole = np.array([name, gradient.rows is None, gradient.columns is None], np.int64)
        return [whole, rows, columns, as_array(gradient.values)[part] if gradient.values.ndim else as_array(gradient.values)]

    def _taken(self, reply: Any) -> Gradient:
        """Return the next gradient of a message, with rows as this worker counts them."""
        (number, all_rows, all_columns), rows, columns, values = next(reply), next(reply), next(reply), next(reply)
        name = self._all_names[int(number)]
        if name in self._names:
            rows = rows - self._shares.first
        own: Tensor = torch.from_numpy(values)
        return Gradient(name, None if all_rows else rows, None if all_columns else columns, own)


def _ids(needs: Needs) -> Int64:
    return _NONE if needs.entities is None else needs.entities


def _block(table: Tensor, rows: Int64, columns: Int64) -> Array:
    """Return some rows, and if any are named some columns, of a table."""
    if len(columns) and len(rows):
        return block(as_array(table), rows, columns)
    taken = as_array(table.index_select(0, torch.from_numpy(rows)).view(len(rows), math.prod(table.shape[1:])))
    return taken[:, columns] if len(columns) else taken
