"""Small convex fits: logistic regression, Newton's method with lower bounds, L-BFGS, and a curve that never falls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from relatum.arrays import Bool, Float64

if TYPE_CHECKING:
    from torch import Tensor

# A cost at some weights, and what gives its slopes, float64[k], and its curvature, float64[k, k], there.
Cost = Callable[[Float64], tuple[float, Callable[[], tuple[Float64, Float64]]]]

_LEAST_DAMPING, _MOST_DAMPING = 1e-6, 1e6
_ROUNDING = 1e-9  # that a cost may rise by where it is as low as it gets
_STEPS, _CLOSE = 60, 1e-12  # of logistic regression


def sigmoid(logits: Float64) -> Float64:
    """Return the probabilities of logits, however large these are."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -700, 700))))


def never_certain(probabilities: Float64) -> Float64:
    """Return probabilities of what is not known, which are never 0 or 1, however large the logits that they come from."""
    return np.clip(probabilities, 1e-300, 1 - 2**-40)


def log_odds(shares: Float64) -> Float64:
    """Return the logits of probabilities, which are neither 0 nor 1."""
    return np.asarray(np.log(shares / (1 - shares)))


def newton(cost: Cost, start: Float64, *, steps: int, close: float, least: Float64 | float = -np.inf) -> Float64:
    """Return the weights at which a convex cost is lowest, by damped steps of Newton's method.

    There are so many steps at most, and none after one that gains less than `close`; no weight is below its least.
    """
    weights, damping = np.maximum(start, least), _LEAST_DAMPING
    value, derivatives = cost(weights)
    for _ in range(steps):
        slopes, curvature = derivatives()
        free = ~((weights <= least) & (slopes > 0))
        if not free.any():
            break
        while True:
            step = np.zeros(len(weights))
            part = curvature[np.ix_(free, free)] + damping * np.eye(int(free.sum()))
            step[free] = np.linalg.solve(part, slopes[free])
            trial = np.maximum(weights - step, least)
            new, found = cost(trial)
            if new <= value + _ROUNDING or damping > _MOST_DAMPING:
                break
            damping = max(damping * 10, 1e-3)
        damping = max(damping / 10, _LEAST_DAMPING)
        if new > value + _ROUNDING:
            break
        gained = value - new
        weights, value, derivatives = trial, new, found
        if gained < close:
            break
    return np.asarray(weights)


def logistic(features: Float64, right: Float64 | Bool, weight: Float64, prior: Float64, strength: float) -> Float64:
    """Return the weights, float64[k], by which the sigmoid of features[n, k] fits best what is right, from 0 to 1.

    They are drawn to `prior`, where the search begins, the more so the greater `strength` is: that keeps them finite even
    where what is right and what is not are apart.
    """

    def cost(at: Float64) -> tuple[float, Callable[[], tuple[Float64, Float64]]]:
        logits = features @ at
        value = weight @ (np.logaddexp(0, logits) - right * logits) + strength / 2 * ((at - prior) ** 2).sum()

        def derivatives() -> tuple[Float64, Float64]:
            likely = sigmoid(logits)
            slopes = features.T @ (weight * (likely - right)) + strength * (at - prior)
            curved = (features * (weight * likely * (1 - likely))[:, None]).T @ features
            return slopes, curved + strength * np.eye(len(at))

        return float(value), derivatives

    return newton(cost, prior, steps=_STEPS, close=_CLOSE)


def minimize(cost: Callable[[], Tensor], parameters: Sequence[Tensor], steps: int) -> None:
    """Move parameters to where a smooth cost of them is lowest, by L-BFGS in so many steps at most."""
    import torch

    optimizer = torch.optim.LBFGS(parameters, max_iter=steps, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = cost()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(closure)  # type: ignore[no-untyped-call]


def never_falling(values: Float64, weights: Float64) -> Float64:
    """Return the values nearest to some that never fall, by weighted squares: neighbours that do are put together."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (low, light, many), (high, heavy, more) = blocks.pop(-2), blocks.pop()
            blocks.append(((low * light + high * heavy) / (light + heavy), light + heavy, many + more))
    return np.repeat([value for value, _, _ in blocks], [count for _, _, count in blocks])
