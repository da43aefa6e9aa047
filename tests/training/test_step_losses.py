"""Losses equal plain loops over the candidates that count, and their gradients equal differences."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from relatum.training.losses import loss_of
from relatum.training.settings import LOSSES, TrainingSettings

SETTINGS = {
    "softmax": TrainingSettings(),
    "softmax, smoothed": TrainingSettings(label_smoothing=0.3),
    "margin": TrainingSettings(loss="margin", margin=0.7),
    "margin 0": TrainingSettings(loss="margin", margin=0.0),
    "softplus": TrainingSettings(loss="softplus"),
}

Mask = tuple[Tensor, Tensor] | None


@pytest.fixture(params=SETTINGS)
def settings(request: pytest.FixtureRequest) -> TrainingSettings:
    return SETTINGS[request.param]


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


def plain(scores: Tensor, targets: Tensor, masked: Mask, settings: TrainingSettings) -> float:
    """Return the loss by loops over Python numbers."""
    hidden = set() if masked is None else set(zip(*(part.tolist() for part in masked), strict=True))
    total = 0.0
    for row, target in enumerate(targets.tolist()):
        numbers = scores[row].tolist()
        true = numbers[target]
        counted = [score for column, score in enumerate(numbers) if (row, column) not in hidden]
        false = [score for column, score in enumerate(numbers) if (row, column) not in hidden and column != target]
        if settings.loss == "softmax":
            normal = math.log(sum(math.exp(score) for score in counted))
            share = settings.label_smoothing
            total += (1 - share) * (normal - true) + sum(share / len(counted) * (normal - score) for score in counted)
        elif settings.loss == "margin":
            total += sum(max(0.0, settings.margin - true + score) for score in false) / max(1, len(false))
        else:
            total += math.log1p(math.exp(-true))
            total += sum(math.log1p(math.exp(score)) for score in false) / max(1, len(false))
    return total


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_loss_equals_plain_loops(settings: TrainingSettings, masks: bool, dtype: torch.dtype) -> None:
    for seed in range(20):
        scores, targets, masked = drawn(seed, dtype)
        masked = masked if masks else None
        found = loss_of(scores, targets, masked, settings)
        assert found.dtype == dtype
        expected = plain(scores, targets, masked, settings)
        assert float(found) == pytest.approx(expected, rel=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("masks", [True, False])
def test_gradients_equal_differences(settings: TrainingSettings, masks: bool) -> None:
    step = 1e-6
    for seed in range(3):
        scores, targets, masked = drawn(seed, rows=3, size=6)
        masked = masked if masks else None
        scores.requires_grad_()
        (3 * loss_of(scores, targets, masked, settings)).backward()
        assert scores.grad is not None
        for row in range(3):
            for column in range(6):
                ahead, behind = scores.detach().clone(), scores.detach().clone()
                ahead[row, column] += step
                behind[row, column] -= step
                rise = sum(way * float(loss_of(near, targets, masked, settings)) for way, near in ((3, ahead), (-3, behind)))
                assert float(scores.grad[row, column]) == pytest.approx(rise / (2 * step), rel=1e-5, abs=1e-7)


def test_what_is_masked_gets_no_gradient_and_its_score_makes_no_difference(settings: TrainingSettings) -> None:
    scores, targets, masked = drawn(1)
    assert masked is not None
    scores.requires_grad_()
    loss = loss_of(scores, targets, masked, settings)
    loss.backward()
    assert scores.grad is not None
    assert not scores.grad[masked].any()
    other = scores.detach().clone()
    other[masked] = 50.0
    assert float(loss_of(other, targets, masked, settings)) == pytest.approx(float(loss.detach()))


def test_nothing_to_compare_with_is_no_loss() -> None:
    scores, targets, masked = drawn(0)
    assert masked is not None
    alone = scores[:1], targets[:1], (masked[0][masked[0] == 0], masked[1][masked[0] == 0])
    for name in ("softmax", "softmax, smoothed", "margin"):
        assert float(loss_of(*alone, SETTINGS[name])) == pytest.approx(0, abs=1e-12)
    assert float(loss_of(*alone, SETTINGS["softplus"])) == pytest.approx(math.log1p(math.exp(-float(scores[0, targets[0]]))))


def test_a_better_true_score_is_a_smaller_loss(settings: TrainingSettings) -> None:
    scores, targets, masked = drawn(2)
    better = scores.scatter_add(1, targets[:, None], torch.full((len(scores), 1), 0.1, dtype=scores.dtype))
    assert float(loss_of(better, targets, masked, settings)) < float(loss_of(scores, targets, masked, settings))


def test_large_scores_do_not_overflow(settings: TrainingSettings) -> None:
    scores, targets, masked = drawn(3, torch.float32)
    scores = (40 * scores).requires_grad_()
    loss = loss_of(scores + 1000, targets, masked, settings)
    loss.backward()
    assert torch.isfinite(loss)
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_not_finite_reaches_the_loss_unless_it_is_masked(settings: TrainingSettings, value: float) -> None:
    scores, targets, masked = drawn(5)
    assert masked is not None
    row, column = masked[0][-1], masked[1][-1]
    wrong = scores.clone()
    wrong[row, column] = value
    assert not torch.isfinite(loss_of(wrong, targets, None, settings))
    wrong.requires_grad_()
    loss = loss_of(wrong, targets, masked, settings)
    assert torch.equal(loss, loss_of(scores, targets, masked, settings))
    loss.backward()
    assert wrong.grad is not None
    assert torch.isfinite(wrong.grad).all()


def test_the_scores_are_read_not_changed(settings: TrainingSettings) -> None:
    scores, targets, masked = drawn(4)
    before = scores.clone()
    loss_of(scores, targets, masked, settings)
    assert torch.equal(scores, before)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_binary_term_is_the_cross_entropy_around_the_midpoint(loss: str) -> None:
    scores = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    targets = torch.tensor([4, 0, 2])
    masked = (torch.tensor([0, 2]), torch.tensor([1, 0]))
    plain, both = (
        loss_of(scores, targets, masked, TrainingSettings(loss=loss, bce_weight=weight), midpoint=0.3)
        for weight in (0.0, 0.7)
    )
    expected = 0.0
    for row, target in enumerate(targets.tolist()):
        hidden = [int(column) for which, column in zip(*masked, strict=True) if which == row]
        false = [float(scores[row, column]) for column in range(5) if column not in (target, *hidden)]
        rng = [1 / (1 + math.exp(0.3 - score)) for score in false]
        expected -= math.log(1 / (1 + math.exp(0.3 - float(scores[row, target]))))
        expected -= sum(math.log(1 - p) for p in rng) / len(rng)
    assert float(both - plain) == pytest.approx(0.7 * expected)
