"""The fused losses equal the plain ones, gradients included."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from relatum.kernels.filters import Excluded, excluded_pairs
from relatum.kernels.jit import TILE
from relatum.models.ops import softmax_loss_of_answers
from support import reference_kernels as reference
from support.made_models import made_case, made_graph


@pytest.mark.parametrize("window", [1, 2, 3, 12])
def test_the_fused_loss_equals_the_plain_one(window: int) -> None:
    case = made_case("reale", window=window, scale=5.0)
    for relations, columns in case.batches():
        count = 4 * (len(columns) != 2)  # or none at all
        replacements = torch.randint(0, 30, (*columns.shape, count), generator=torch.Generator().manual_seed(len(columns)))
        results = []
        for dtype in (torch.float32, torch.float64):
            parameters = {name: tensor.requires_grad_() for name, tensor in case.parameters(dtype=dtype).items()}
            tables = case.model.encode(parameters)
            loss = case.model.fused_loss_per_fact(tables, relations, columns, replacements)
            if dtype == torch.float64:  # no kernel for it: written out
                assert loss is None
                scores = [case.model.score(tables, relations, columns)[:, None]]
                for position in range(len(columns)):
                    for number in range(count):
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
    loss = case.model.fused_loss_per_fact(case.model.encode(parameters), relations, columns, columns[..., None].flip(1))
    assert loss is not None
    assert torch.isfinite(loss)


@pytest.mark.parametrize(("window", "entities"), [(1, TILE - 1), (2, TILE), (3, 30), (12, TILE + 1)])
@pytest.mark.parametrize("spread", [1.0, 40.0])
def test_the_fused_loss_against_shared_candidates_equals_the_plain_one(window: int, entities: int, spread: float) -> None:
    case = made_case("reale", made_graph(entities, 3), window=window, scale=5.0, entity_map="none")
    for relations, columns in case.batches():
        columns = columns[:, relations == relations[0]]
        excluded = [_excluded(columns[position], case.model.num_entities) for position in range(len(columns))]
        results = []
        for dtype in (torch.float32, torch.float64):
            made = case.parameters(dtype=dtype)
            made["relations"] = made["relations"] * spread
            parameters = {name: tensor.requires_grad_() for name, tensor in made.items()}
            tables = case.model.encode(parameters)
            loss = case.model.fused_loss_shared(tables, relations[0], columns, excluded)
            if dtype == torch.float64:  # no kernel for it: written out
                assert loss is None
                loss = torch.zeros((), dtype=dtype)
                for position, known in enumerate(excluded):
                    for fact in range(columns.shape[1]):
                        changed = columns[:, fact, None].repeat(1, case.model.num_entities)
                        changed[position] = torch.arange(case.model.num_entities)
                        scores = case.model.score(tables, relations[:1].expand(case.model.num_entities), changed)
                        start = known.starts[fact]
                        kept = torch.ones(len(scores), dtype=torch.bool)
                        kept[known.pool[start : start + known.counts[fact]]] = False
                        loss = loss + torch.logsumexp(scores[kept], 0) - scores[columns[position, fact]]
            assert loss is not None
            loss.backward()
            results.append([loss.detach(), *(tensor.grad for tensor in parameters.values())])
        for found, expected in zip(*results, strict=True):
            assert torch.allclose(found.double(), expected, rtol=1e-4, atol=1e-4 * spread)


def _excluded(own: Tensor, candidates: int) -> Excluded:
    """Return for fact i the first i candidates that are not its own."""
    pairs = [(i, c) for i, true in enumerate(own.tolist()) for c in range(min(i, candidates)) if c != true]
    queries, places = np.array(pairs, np.int64).reshape(-1, 2).T
    return excluded_pairs(queries, places, len(own))


@pytest.mark.parametrize("backend", ["numba", "eager"])
@pytest.mark.parametrize(("joint", "damping", "smoothing"), [(False, 0.0, 0.0), (False, 0.5, 0.1), (True, 0.0, 0.2)])
def test_the_loss_of_answers_is_that_of_numpy_by_every_backend(
    backend: str, joint: bool, damping: float, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    candidates = np.array([2, 3, 5, 7, 11])
    lists = [np.array(each, np.int32) for each in ([3], [2, 11], [5, 7, 11], [2, 3, 5, 7, 11])]  # the last: all there are
    answers, chosen = (np.concatenate(lists), np.cumsum([0, *map(len, lists)])), np.array([3, 1, 2])
    scores = 3 * torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    scores.requires_grad_()
    found, weight = softmax_loss_of_answers(scores, candidates, answers, chosen, (joint, damping, smoothing))
    (2 * found).backward()
    columns = [np.searchsorted(candidates, lists[i]) for i in chosen]
    expected = reference.answer_loss(scores.detach().numpy(), columns, joint, damping, smoothing)
    assert (float(found.detach()), weight) == pytest.approx(expected[:2], rel=1e-5)
    assert scores.grad is not None
    assert np.allclose(scores.grad.numpy(), 2 * expected[2], atol=1e-6)
