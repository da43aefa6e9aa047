"""Counting and picking in a matrix of scores, [queries, candidates], on any device.

On the CPU the compiled kernels do it in one pass; elsewhere tensor operations do.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.kernels.filters import Known
from relatum.models.backend import as_array, backend_for

__all__ = ["count_better", "top"]

Ints = npt.NDArray[np.int64]


def count_better(scores: Tensor, targets: Tensor, known: Known) -> tuple[Ints, Ints]:
    """Return, per row, how many scores are above that of the target, and how many equal it; known answers do not count."""
    if backend_for(scores) == "numba":
        from relatum.kernels import ranking

        return ranking.count_better(as_array(scores), as_array(targets), known)
    _check_finite(scores)
    bars = scores.gather(1, targets[:, None])
    above, level = scores > bars, scores == bars
    rows, answers = _pairs(known)
    other = answers != targets.cpu()[rows]
    for marks in (above, level):
        marks[rows[other], answers[other]] = False
    return above.sum(1).numpy(force=True), level.sum(1).numpy(force=True) - 1  # the target equals itself


def top(scores: Tensor, k: int, excluded: Known) -> tuple[Tensor, Tensor]:
    """Return places and scores of the k best of each row, [Q, k] both, smaller place first on ties; else -1 and -inf."""
    if backend_for(scores) == "numba":
        from relatum.kernels import ranking

        found = ranking.top(as_array(scores), k, excluded)
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])
    _check_finite(scores)
    scores = scores.clone()
    scores[_pairs(excluded)] = -torch.inf
    if (short := k - scores.shape[1]) > 0:
        scores = torch.nn.functional.pad(scores, (0, short), value=-torch.inf)
    order = scores.sort(dim=1, descending=True, stable=True)
    values, places = order.values[:, :k], order.indices[:, :k]
    return places.masked_fill(values == -torch.inf, -1), values


def _pairs(known: Known) -> tuple[Tensor, Tensor]:
    """Return (row, candidate) of all that is known."""
    ends = np.cumsum(known.counts)
    rows = np.repeat(np.arange(len(known.counts)), known.counts)
    places = np.repeat(known.starts - (ends - known.counts), known.counts) + np.arange(len(rows))
    return torch.from_numpy(rows), torch.from_numpy(known.pool[places].astype(np.int64))


def _check_finite(scores: Tensor) -> None:
    if not torch.isfinite(scores).all():
        raise FloatingPointError("a score is not a finite number")
