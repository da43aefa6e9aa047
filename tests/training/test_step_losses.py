"""The loss equals plain loops over the candidates that count, and its gradients equal differences."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from relatum.training.step import loss_of

Mask = tuple[Tensor, Tensor] | None


@pytest.fixture(params=[0.0, 0.3])
def smoothing(request: pytest.FixtureRequest) -> float:
    return float(request.param)


def drawn(seed: int, dtype: torch.dtype = torch.float64, rows: int = 5, size: int = 8) -> tuple[Tensor, Tensor, Mask]:
    """Return scores, targets, and a mask that leaves every target, and in the first row nothing else."""
    rng = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(rows, size, generator=rng, dtype=torch.float64).to(dtype)
    targets = torch.randint(0, size, (rows,), generator=rng)
    hidden = torch.rand(rows, size, generator=rng) < 0.4
    hidden[0] = True
    hidden[torch.arange(rows), targets] = False
    places = hidden.nonzero()
    return scores, targets, (places[:, 0], places[:, 1])


def plain(scores: Tensor, targets: Tensor, masked: Mask, smoothing: float) -> float:
    """Return the loss by loops over Python numbers."""
    hidden = set() if masked is None else set(zip(*(part.tolist() for part in masked), strict=True))
    total = 0.0
    for row, target in enumerate(targets.tolist()):
        numbers = scores[row].tolist()
        true = numbers[target]
        counted = [score for column, score in enumerate(numbers) if (row, column) not in hidden]
        normal = math.log(sum(math.exp(score) for score in counted))
        total += (1 - smoothing) * (normal - true)
        total += sum(smoothing / len(counted) * (normal - score) for score in counted)
    return total


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_loss_equals_plain_loops(smoothing: float, masks: bool, dtype: torch.dtype) -> None:
    for seed in range(20):
        scores, targets, masked = drawn(seed, dtype)
        masked = masked if masks else None
        found = loss_of(scores, targets, masked, smoothing)
        assert found.dtype == dtype
        expected = plain(scores, targets, masked, smoothing)
        assert float(found) == pytest.approx(expected, rel=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("masks", [True, False])
def test_gradients_equal_differences(smoothing: float, masks: bool) -> None:
    step = 1e-6
    for seed in range(3):
        scores, targets, masked = drawn(seed, rows=3, size=6)
        masked = masked if masks else None
        scores.requires_grad_()
        (3 * loss_of(scores, targets, masked, smoothing)).backward()
        assert scores.grad is not None
        for row in range(3):
            for column in range(6):
                ahead, behind = scores.detach().clone(), scores.detach().clone()
                ahead[row, column] += step
                behind[row, column] -= step
                high, low = (float(loss_of(near, targets, masked, smoothing)) for near in (ahead, behind))
                assert float(scores.grad[row, column]) == pytest.approx(3 * (high - low) / (2 * step), rel=1e-5, abs=1e-7)


def test_large_scores_do_not_overflow(smoothing: float) -> None:
    scores, targets, masked = drawn(3, torch.float32)
    scores = (40 * scores).requires_grad_()
    loss = loss_of(scores + 1000, targets, masked, smoothing)
    loss.backward()
    assert torch.isfinite(loss)
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_not_finite_reaches_the_loss_unless_it_is_masked(smoothing: float, value: float) -> None:
    scores, targets, masked = drawn(5)
    assert masked is not None
    row, column = masked[0][-1], masked[1][-1]
    wrong = scores.clone()
    wrong[row, column] = value
    assert not torch.isfinite(loss_of(wrong, targets, None, smoothing))
    wrong.requires_grad_()
    loss = loss_of(wrong, targets, masked, smoothing)
    assert torch.equal(loss, loss_of(scores, targets, masked, smoothing))
    loss.backward()
    assert wrong.grad is not None
    assert torch.isfinite(wrong.grad).all()


def test_the_scores_are_read_not_changed(smoothing: float) -> None:
    scores, targets, masked = drawn(4)
    before = scores.clone()
    loss_of(scores, targets, masked, smoothing)
    assert torch.equal(scores, before)
