"""The combines of HINGE and NeuInfer on every backend: values, gradients, bounded memory, exact ties."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from relatum.models import ops
from relatum.models.combine import Combine
from relatum.models.minima import MeanLogOdds, MinimumOfSums, log_odds_of_mean
from support import reference_kernels as reference
from support.kernels_known import known_of

WIDTH = 6


class Form(NamedTuple):
    """How wide the sides of a question are, and which features of a query are infinite."""

    is_mean: bool
    queries: int
    candidates: int
    endless: tuple[slice, ...] = ()


FORMS = {
    "hinge, open value": Form(False, 2 * WIDTH, WIDTH),
    "hinge, open head": Form(False, 2 * WIDTH, 2 * WIDTH),
    "hinge, no qualifier": Form(False, 2 * WIDTH, WIDTH, (slice(0, WIDTH),)),
    "neuinfer, open value": Form(True, 2 * WIDTH + 1, WIDTH),
    "neuinfer, the only value": Form(True, 2 * WIDTH + 1, WIDTH, (slice(0, WIDTH),)),
    "neuinfer, open head": Form(True, 4 * WIDTH, 2 * WIDTH, (slice(0, WIDTH), slice(2 * WIDTH, 3 * WIDTH))),
    "neuinfer, no qualifier": Form(True, 2 * WIDTH, WIDTH, (slice(0, WIDTH),)),
}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


def parameters(dtype: torch.dtype = torch.float32) -> list[Tensor]:
    rng = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=rng).to(dtype).requires_grad_() for shape in ((WIDTH,), (), (WIDTH,), ())]


def combine_of(form: Form, numbers: list[Tensor]) -> Combine:
    first, second = MinimumOfSums(*numbers[:2]), MinimumOfSums(*numbers[2:])
    return MeanLogOdds(first, second, 0.3) if form.is_mean else first


def sides(form: Form, queries: int, candidates: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    q, c = torch.randn(queries, form.queries, generator=rng), torch.randn(candidates, form.candidates, generator=rng)
    for features in form.endless:
        q[:, features] = torch.inf
    return q, c


def expected(form: Form, numbers: list[Tensor], queries: Tensor, candidates: Tensor) -> np.ndarray:
    """Return all scores by the twin in numpy."""
    v, c, w, d = (each.detach().double().numpy() for each in numbers)
    q, k = queries.double().numpy(), candidates.double().numpy()
    if q.shape[1] == 2 * WIDTH:
        return reference.qualifier_scores(q, k, v) + c
    if q.shape[1] == 2 * WIDTH + 1:
        compatibility = reference.qualifier_scores(q[:, :-1], k, w) + d
        return reference.mean_log_odds(np.broadcast_to(q[:, -1:], compatibility.shape), compatibility, 0.3)
    validity = reference.qualifier_scores(q[:, : 2 * WIDTH], k[:, :WIDTH], v) + c
    return reference.mean_log_odds(validity, reference.qualifier_scores(q[:, 2 * WIDTH :], k[:, WIDTH:], w) + d, 0.3)


@pytest.mark.parametrize("backend", ["numba", "eager"])
def test_all_pairs_equal_single_pairs_and_the_twin_with_their_gradients(
    form: Form, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    monkeypatch.setattr(ops, "CHUNK", 300)  # several chunks
    upstream = torch.randn(5, 140, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    results = []
    for dtype, way in ((torch.float32, "matrix"), (torch.float32, "pairs"), (torch.float64, "pairs")):
        numbers = parameters(dtype)
        queries, candidates = (each.to(dtype).requires_grad_() for each in sides(form, 5, 140))
        combine = combine_of(form, numbers)
        scores = combine.matrix(queries, candidates) if way == "matrix" else combine.pairs(queries[:, None], candidates)
        used = {2 * WIDTH: numbers[:2], 2 * WIDTH + 1: numbers[2:]}.get(form.queries, numbers)
        gradients = torch.autograd.grad((scores * upstream).sum(), (queries, candidates, *used))
        results.append([scores.detach(), *gradients])
    assert np.allclose(results[0][0], expected(form, parameters(), *sides(form, 5, 140)), atol=1e-5)
    for other in results[1:]:
        for found, right in zip(results[0], other, strict=True):
            assert torch.allclose(found.double(), right.double(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["numba", "eager"])
def test_of_two_equal_sums_the_first_has_the_gradient(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    for candidate in ([0.0, 2.0], [2.0]):
        queries, candidates = torch.tensor([[3.0, 1.0]]).requires_grad_(), torch.tensor([candidate]).requires_grad_()
        combine = MinimumOfSums(torch.ones(1), torch.zeros(()))
        for scores in (combine.matrix(queries, candidates), combine.pairs(queries, candidates)):
            of_queries, of_candidates = torch.autograd.grad(scores.sum(), (queries, candidates))
            assert (of_queries.tolist(), of_candidates.tolist()) == ([[1, 0]], [[1, 0][2 - len(candidate) :]])


def test_gradients_in_chunks_keep_nothing_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELATUM_BACKEND", "eager")
    monkeypatch.setattr(ops, "CHUNK", 5000)
    kept: list[int] = []

    def keep(values: Tensor) -> Tensor:
        kept.append(values.numel())
        return values

    queries, candidates = (each.requires_grad_() for each in sides(FORMS["hinge, open head"], 20, 300))
    combine = combine_of(FORMS["hinge, open head"], parameters())
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda values: values):
        scores = combine.matrix(queries, candidates)
    assert sum(kept) < 20 * 300 * WIDTH
    scores.sum().backward()
    assert queries.grad is not None


@pytest.mark.parametrize("backend", ["numba", "eager"])
def test_what_is_not_finite_is_never_ranked(form: Form, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    combine = combine_of(form, parameters())
    nothing, _ = known_of(np.random.default_rng(0), 3, 1)
    for side in range(2):
        both = sides(form, 3, 40)
        both[side][1] = torch.nan
        with pytest.raises(FloatingPointError):
            combine.count_better(*both, torch.zeros(3, dtype=torch.int64), nothing)


def test_softplus_of_log_odds_is_cross_entropy() -> None:
    x, y = torch.tensor([0.3, -2.0]), torch.tensor([1.5, -1.0])
    mean = 0.3 * torch.sigmoid(x) + 0.7 * torch.sigmoid(y)
    odds = log_odds_of_mean(x, y, 0.3)
    assert torch.allclose(torch.nn.functional.softplus(-odds), -mean.log())
    assert torch.allclose(torch.nn.functional.softplus(odds), -(1 - mean).log())
    assert float(odds[0]) == pytest.approx(math.log(float(mean[0] / (1 - mean[0]))), rel=1e-5)
