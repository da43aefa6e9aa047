"""Scores of a model: of facts, counts of better candidates and best answers, written once against the contract.

A score that is not a finite number is an error that names the relation; it is never ranked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Int64
from relatum.data.schema import RelationSchema
from relatum.errors import NumericError
from relatum.kernels.filters import Excluded, excluded_part
from relatum.memory import budget
from relatum.models.base import Model, Parameters

__all__ = ["count_better", "score", "top"]

_FACTS = 1 << 12  # that are scored at once: memory is bounded


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
) -> tuple[Int64, Int64]:
    """Return, for facts of one relation, how many entities at `position` score above the one there, and how many equal.

    Args:
        model: the model.
        tables: what `model.encode` gave.
        relation: the relation's id.
        columns: int64[arity, n], the facts; the questions are what they are with `position` open.
        position: the open position.
        excluded: entities that are not counted, for each question.
        candidates: the candidate side, if not that of all entities; what stands at `position` and what is excluded are
            indices among the candidates.
    """
    combine = model.combine(tables)
    counts = np.empty((2, columns.shape[1]), np.int64)
    with _naming(model.schema[relation]):
        for part, queries, side in _sides(model, tables, relation, columns, position, candidates):
            targets = columns[position, part]
            counts[:, part] = combine.count_better(queries, side, targets, excluded_part(excluded, part))
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
) -> tuple[Tensor, Tensor]:
    """Return the k best entities at `position` and their scores, [n, k] both, best first; -1 where there are no more.

    `candidates` is the candidate side, if not that of all entities; the entities are then indices among them.
    """
    if not columns.shape[1]:
        return columns.new_empty(0, k), torch.empty(0, k)
    combine = model.combine(tables)
    with _naming(model.schema[relation]):
        found = [
            combine.top(queries, candidates, k, excluded_part(excluded, part))
            for part, queries, candidates in _sides(model, tables, relation, columns, position, candidates)
        ]
    indices, scores = zip(*found, strict=True)
    return torch.cat(indices), torch.cat(scores)


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
def _naming(relation: RelationSchema) -> Iterator[None]:
    """Turn a number that is not finite into an error that names the relation."""
    try:
        yield
    except FloatingPointError:
        raise _not_finite(relation) from None


def _not_finite(relation: RelationSchema) -> NumericError:
    return NumericError(
        f"a score of relation {relation.name!r} is not a finite number: the parameters have grown too large, or hold a NaN"
    )
