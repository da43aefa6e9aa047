"""Losses over a matrix of scores: row i compares the fact in column target[i] with all others that are not masked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from relatum.training.settings import TrainingSettings

__all__ = ["loss_of"]


def loss_of(
    scores: Tensor,
    targets: Tensor,
    masked: tuple[Tensor, Tensor] | None,
    settings: TrainingSettings,
    midpoint: float = 0.0,
) -> Tensor:
    """Return the sum over rows of the loss of scores [n, candidates].

    Args:
        scores: the scores.
        targets: int64[n], the column of the true fact.
        masked: (rows, columns) that do not count.
        settings: which loss, its margin and label smoothing, and the weight of the binary term.
        midpoint: the score of a fact that is as likely as not, for the binary term.
    """
    loss = _comparison(scores, targets, masked, settings)
    if settings.bce_weight:
        alone = replace(settings, loss="softplus")
        loss = loss + settings.bce_weight * _comparison(scores - midpoint, targets, masked, alone)
    return loss


def _comparison(scores: Tensor, targets: Tensor, masked: tuple[Tensor, Tensor] | None, settings: TrainingSettings) -> Tensor:
    if settings.loss == "softmax":
        loss: Tensor = _Softmax.apply(scores, targets, masked, settings.label_smoothing)  # type: ignore[no-untyped-call]
        return loss
    true = scores.gather(1, targets[:, None])
    other = torch.ones(scores.shape, dtype=torch.bool, device=scores.device)
    if masked is not None:
        other[masked] = False
    other.scatter_(1, targets[:, None], False)
    scores = scores.masked_fill(~other, 0.0)  # the rest stay as they are: a NaN among them must reach the loss
    if settings.loss == "margin":  # the mean over the false facts of max(0, margin - true + false)
        each = torch.relu(settings.margin - true + scores) * other
        return (each.sum(1) / other.sum(1).clamp(min=1)).sum()
    each = functional.softplus(scores) * other  # log(1 + exp(-true)) + the mean of log(1 + exp(false))
    return functional.softplus(-true).sum() + (each.sum(1) / other.sum(1).clamp(min=1)).sum()


class _Softmax(torch.autograd.Function):
    """Eq. 3 summed over rows. Value and gradient come out of the same exponentials, so both are taken at once, in place.

    With label smoothing s, the target is 1 - s on the true fact and s spread evenly over all candidates that count.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, targets: Tensor, masked: tuple[Tensor, Tensor] | None, smoothing: float) -> Tensor:
        count = torch.full((len(scores),), scores.shape[1], dtype=scores.dtype, device=scores.device)
        true = scores.gather(1, targets[:, None])
        work = scores.detach().clone()
        if masked is not None:
            work[masked] = -torch.inf
            count -= torch.bincount(masked[0], minlength=len(scores))
        largest = work.amax(1, keepdim=True)
        mean = (torch.nan_to_num(work, neginf=0.0).sum(1) / count) if smoothing else 0.0
        work.sub_(largest).exp_()
        sums = work.sum(1, keepdim=True)
        loss = (sums.log() + largest - true)[:, 0] + smoothing * (true[:, 0] - mean)
        work.div_(sums)  # the probabilities: the gradient, less the target
        if smoothing:
            counted = torch.ones_like(work)
            if masked is not None:
                counted[masked] = 0
            work.sub_(counted * (smoothing / count)[:, None])
        work.scatter_add_(1, targets[:, None], torch.full_like(true, smoothing - 1))
        ctx.save_for_backward(work)
        return loss.sum()

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * upstream[0], None, None, None
