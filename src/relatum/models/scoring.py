"""Asking a model: scores, counts of better candidates and best answers, written once against the contract.

A score that is not a finite number is an error that names the relation; it is never ranked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.data.schema import RelationSchema
from relatum.errors import NumericError
from relatum.kernels.known import Known
from relatum.models.base import Model, Parameters

__all__ = ["count_better", "score", "top"]


@torch.no_grad()
def score(model: Model, tables: Parameters, relations: Tensor, columns: Tensor) -> Tensor:
    """Return the score of each fact, [n], for relations[n] and columns[arity, n]."""
    scores = model.score(tables, relations, columns)
    wrong = ~torch.isfinite(scores)
    if wrong.any():
        raise _not_finite(model.schema[int(relations[wrong][0])])
    return scores


@torch.no_grad()
def count_better(
    model: Model, tables: Parameters, relation: int, columns: Tensor, position: int, known: Known
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return, for facts of one relation, how many entities at `position` score above the one there, and how many equal.

    Args:
        model: the model.
        tables: what `model.encode` gave.
        relation: the relation's id.
        columns: int64[arity, n], the facts; the questions are what they are with `position` open.
        position: the open position.
        known: entities that are not counted, for each question.
    """
    with _naming(model.schema[relation]):
        queries, candidates = _sides(model, tables, relation, columns, position)
        return model.combine(tables).count_better(queries, candidates, columns[position], known)


@torch.no_grad()
def top(
    model: Model, tables: Parameters, relation: int, columns: Tensor, position: int, k: int, excluded: Known
) -> tuple[Tensor, Tensor]:
    """Return the k best entities at `position` and their scores, [n, k] both, best first; -1 where there are no more."""
    with _naming(model.schema[relation]):
        queries, candidates = _sides(model, tables, relation, columns, position)
        return model.combine(tables).top(queries, candidates, k, excluded)


def _sides(model: Model, tables: Parameters, relation: int, columns: Tensor, position: int) -> tuple[Tensor, Tensor]:
    one = torch.tensor(relation, device=columns.device)
    queries = model.queries(tables, one.expand(columns.shape[1]), columns, position)
    return queries, model.candidates(tables, one, position, None)


@contextmanager
def _naming(relation: RelationSchema) -> Iterator[None]:
    try:
        yield
    except FloatingPointError:
        raise _not_finite(relation) from None


def _not_finite(relation: RelationSchema) -> NumericError:
    return NumericError(
        f"a score of relation {relation.name!r} is not a finite number: the parameters have grown too large, or hold a NaN"
    )
