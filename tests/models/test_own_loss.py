"""The fused loss against replacements equals the plain one, gradients included."""

from __future__ import annotations

import pytest
import torch

from made_models import made_case


@pytest.mark.parametrize("window", [1, 2, 3, 12])
def test_the_fused_loss_equals_the_plain_one(window: int) -> None:
    case = made_case("reale", window=window, scale=5.0)
    for relations, columns in case.batches():
        replacements = torch.randint(0, 30, (*columns.shape, 4), generator=torch.Generator().manual_seed(len(columns)))
        results = []
        for dtype in (torch.float32, torch.float64):
            parameters = {name: tensor.requires_grad_() for name, tensor in case.parameters(dtype=dtype).items()}
            tables = case.model.encode(parameters)
            loss = case.model.own_loss(tables, relations, columns, replacements)
            if dtype == torch.float64:  # no kernel for it: written out
                assert loss is None
                scores = [case.model.score(tables, relations, columns)[:, None]]
                for position in range(len(columns)):
                    for number in range(4):
                        changed = columns.clone()
                        changed[position] = replacements[position, :, number]
                        scores.append(case.model.score(tables, relations, changed)[:, None])
                loss = torch.nn.functional.cross_entropy(torch.cat(scores, 1), torch.zeros_like(relations), reduction="sum")
            assert loss is not None
            loss.backward()
            results.append([loss.detach(), *(tensor.grad for tensor in parameters.values())])
        for found, expected in zip(*results, strict=True):
            assert torch.allclose(found.double(), expected, rtol=1e-4, atol=1e-4)


def test_parameters_of_any_size_give_a_finite_loss() -> None:
    case = made_case("reale", entity_map="none")
    parameters = {name: 1e3 * tensor for name, tensor in case.parameters().items()}
    relations, columns = case.batches()[2]
    loss = case.model.own_loss(case.model.encode(parameters), relations, columns, columns[..., None].flip(1))
    assert loss is not None
    assert torch.isfinite(loss)


def test_a_nan_is_an_error() -> None:
    case = made_case("reale")
    parameters = case.parameters()
    parameters["bias"][0, 0] = torch.nan
    relations, columns = case.batches()[2]
    with pytest.raises(FloatingPointError):
        case.model.own_loss(case.model.encode(parameters), relations, columns, columns[..., None])
