"""Adagrad and Adam take the steps that torch.optim takes, and touch only the rows that they are given."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from relatum.training.optimizer import Adam, Gradient, Optimizer

SHAPES = {"entities": (9, 4), "filters": (3, 2, 5), "weights": (6,), "offset": ()}
KINDS = pytest.mark.parametrize("kind", [Optimizer, Adam])
RATE = 0.3


def drawn(seed: int, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype) for name, shape in SHAPES.items()}


def reference(parameters: dict[str, Tensor], kind: type[Optimizer], decay: float) -> torch.optim.Optimizer:
    theirs = torch.optim.Adam if kind is Adam else torch.optim.Adagrad
    return theirs(list(parameters.values()), lr=RATE, weight_decay=decay)


@KINDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_dense_steps_are_those_of_torch(kind: type[Optimizer], dtype: torch.dtype, decay: float) -> None:
    mine, theirs = drawn(0, dtype), drawn(0, dtype)
    optimizer, torch_optimizer = kind(mine, decay), reference(theirs, kind, decay)
    for step in range(1, 8):
        slopes = drawn(step, dtype)
        for name, slope in slopes.items():
            optimizer.step(name, None, slope, RATE)
            theirs[name].grad = slope.clone()
        torch_optimizer.step()
        for name, tensor in mine.items():
            assert tensor.dtype == dtype
            close = 1e-4 if dtype == torch.float32 else 1e-11
            assert torch.allclose(tensor, theirs[name].detach(), rtol=close, atol=close), (name, step)


@KINDS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_row_fares_as_if_it_were_alone(kind: type[Optimizer], dtype: torch.dtype) -> None:
    """What a row has been through counts, not how many steps others have taken: Adam's correction included."""
    together = drawn(0, dtype)
    alone = {row: {"entities": together["entities"][row : row + 1].clone()} for row in range(9)}
    theirs = {row: reference(tables, kind, 0.05) for row, tables in alone.items()}
    optimizer = kind(together, 0.05)
    rng = np.random.default_rng(0)
    for step in range(12):
        rows = np.flatnonzero(rng.random(9) < 0.4)
        slopes = drawn(step, dtype)["entities"][: len(rows)]
        optimizer.step("entities", rows, slopes, RATE)
        for row, slope in zip(rows.tolist(), slopes, strict=True):
            alone[row]["entities"].grad = slope[None].clone()
            theirs[row].step()
    expected = torch.cat([alone[row]["entities"] for row in range(9)])
    assert torch.allclose(together["entities"], expected, rtol=1e-4, atol=1e-4 if dtype == torch.float32 else 1e-10)


@KINDS
def test_a_history_handed_over_goes_on_where_it_was(kind: type[Optimizer]) -> None:
    straight, broken = drawn(0), drawn(0)
    first, second = kind(straight), kind(broken)
    for step in range(1, 5):
        if step == 3:
            second = kind(broken, 0.0, {name: tensor.clone() for name, tensor in second.history.items()})
        for name, slope in drawn(step).items():
            first.step(name, None, slope, 0.3)
            second.step(name, None, slope, 0.3)
    assert all(torch.equal(straight[name], broken[name]) for name in SHAPES)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_under_a_constant_slope_adam_moves_by_the_rate_at_every_step(dtype: torch.dtype) -> None:
    """Both means are then the slope's, once what they lack at the start is made up for: to the last digits."""
    parameters = {"entities": torch.zeros(3, 2, dtype=dtype)}
    optimizer = Adam(parameters)
    for _ in range(50):
        before = parameters["entities"].clone()
        optimizer.step("entities", None, torch.full((3, 2), 7.0, dtype=dtype), 1.0)
        moved = before - parameters["entities"]
        parameters["entities"].zero_()  # or its size would hide the last digits of the next step
        assert torch.allclose(moved, torch.ones_like(moved), rtol=0, atol=2e-6 if dtype == torch.float32 else 1e-8)


@KINDS
def test_a_table_without_rows_is_taken(kind: type[Optimizer]) -> None:
    parameters = {"entities": torch.empty(0, 4), "bias": torch.empty(0)}
    optimizer = kind(parameters)
    for name, tensor in parameters.items():
        optimizer.step(name, None, torch.empty_like(tensor), 0.3)
    assert all(len(tensor) == 0 for tensor in optimizer.history.values())


@KINDS
def test_no_rows_is_no_step(kind: type[Optimizer]) -> None:
    parameters = drawn(0)
    optimizer = kind(parameters)
    optimizer.step("entities", np.empty(0, np.int64), torch.empty(0, 4), 0.3)
    assert torch.equal(parameters["entities"], drawn(0)["entities"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@KINDS
def test_a_step_on_some_columns_is_that_on_a_table_of_these_columns(kind: type[Optimizer], dtype: torch.dtype) -> None:
    rng = torch.Generator().manual_seed(0)
    table = torch.randn(6, 8, generator=rng, dtype=dtype)
    rows, columns = np.array([4, 0, 3]), np.array([1, 2, 7])
    whole, part = table.clone(), table[:, columns].clone()
    on_whole, on_part = (kind({"entities": each}, 0.01) for each in (whole, part))
    for _ in range(3):
        slope = torch.randn(3, 3, generator=rng, dtype=dtype)
        on_whole.step("entities", rows, slope, 0.3, columns)
        on_part.step("entities", rows, slope, 0.3)
    assert torch.equal(whole[:, columns], part)
    others = [0, 3, 4, 5, 6]
    assert torch.equal(whole[:, others], table[:, others])


@KINDS
def test_many_gradients_at_once_are_steps_one_after_the_other(kind: type[Optimizer]) -> None:
    rng = torch.Generator().manual_seed(0)
    parameters = {"entities": torch.randn(5000, 6, generator=rng), "bias": torch.randn(3, 2, generator=rng)}
    found = []
    for number in range(4):
        rows = np.unique(np.random.default_rng(number).integers(0, 5000, 700))
        columns = np.array([0, 2, 5])
        found.append(Gradient("entities", rows, columns, torch.randn(len(rows), 3, generator=rng)))
        found.append(Gradient("bias", None, None, torch.randn(3, 2, generator=rng)))
    together, alone = ({name: tensor.clone() for name, tensor in parameters.items()} for _ in range(2))
    kind(together, 0.01).apply(found, 0.3)
    stepper = kind(alone, 0.01)
    for gradient in found:
        stepper.step(gradient.name, gradient.rows, gradient.values, 0.3, gradient.columns)
    assert all(torch.equal(together[name], alone[name]) for name in parameters)
