"""Combines on every backend: values, gradients, no host round trip, bounded memory, exact ties."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from torch import Tensor

from models import test_minima as forms
from relatum.models import ops as module
from relatum.models.combine import SIGMAS, Combine, Dot, SquaredDistance, WindowedSigma, _parts
from relatum.models.minima import MinimumOfPairs
from relatum.models.ops import backend_for
from support import reference_kernels as reference
from support.kernels_known import bonus_of, known_of
from support.mistakes import mistake

BACKENDS = ["numba", "eager", pytest.param("compile", marks=pytest.mark.everything)]


def sides(queries: int, candidates: int, features: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(queries + candidates)
    return tuple(  # type: ignore[return-value]
        torch.randn(rows, features, generator=rng, dtype=dtype).requires_grad_() for rows in (queries, candidates)
    )


def combines() -> dict[str, Combine]:
    rng = torch.Generator().manual_seed(0)
    bias, weights = torch.randn(2, 6, generator=rng)
    return {
        "dot": Dot(),
        "distance": SquaredDistance(),
        "minima": MinimumOfPairs(bias, weights, torch.tensor(0.3)),
        **{sigma: WindowedSigma(sigma, 0.7) for sigma in SIGMAS},
    }


def drawn(name: str, queries: int, kinds: int, seed: int) -> tuple[Combine, Tensor, Tensor]:
    """Return a combine, those of HINGE and NeuInfer too, and its sides."""
    if name in forms.FORMS:
        form = forms.FORMS[name]
        return forms.combine_of(form, forms.parameters()), *forms.sides(form, queries, kinds, seed)
    rng = torch.Generator().manual_seed(seed)
    return combines()[name], *(torch.randn(rows, 12, generator=rng) for rows in (queries, kinds))


@pytest.mark.parametrize("name", combines())
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's compiler uses parts of torch that are on their way out
def test_all_pairs_equal_single_pairs_with_their_gradients(name: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "compile" and shutil.which("c++") is None:
        pytest.skip("torch.compile needs a C++ compiler on the CPU")
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    monkeypatch.setattr(module, "CHUNK", 300)  # several chunks
    combine = combines()[name]
    queries, candidates = sides(5, 140, 12)
    weight = torch.randn(5, 140, generator=torch.Generator().manual_seed(1))
    results = []
    for scores in (combine.matrix(queries, candidates), combine.pairs(queries[:, None], candidates)):
        gradients = torch.autograd.grad((scores * weight).sum(), (queries, candidates))
        results.append([scores.detach(), *gradients])
    for found, expected in zip(*results, strict=True):
        assert torch.allclose(found, expected, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("sigma", ["sigmoid", "tanh"])
@pytest.mark.parametrize("backend", ["eager", "compile"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_path_of_other_devices_never_asks_for_a_value(sigma: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A meta tensor has a shape and no values: anything that looked at one would fail.
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    if backend == "compile":
        monkeypatch.setattr(
            module, "_compiled", lambda operation: torch.compile(operation, fullgraph=True, backend="aot_eager")
        )
    queries, candidates = (torch.empty(rows, 100, device="meta", requires_grad=True) for rows in (256, 29177))
    scores = WindowedSigma(sigma, 1.0).matrix(queries, candidates)
    assert (scores.shape, scores.device.type) == ((256, 29177), "meta")
    scores.sum().backward()
    assert queries.grad is not None
    assert candidates.grad is not None
    assert candidates.grad.shape == (29177, 100)


def test_a_failing_compiler_is_said_once_and_eager_chunks_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(*_: object, **__: object) -> object:
        def call(*_: object) -> None:
            raise RuntimeError("no compiler\nat all")

        return call

    monkeypatch.setenv("RELATUM_BACKEND", "compile")
    monkeypatch.setattr(torch, "compile", no_compiler)
    module._compiled.cache_clear()
    queries, candidates = sides(3, 50, 8)
    with pytest.warns(UserWarning, match="torch.compile failed, so chunks of eager operations are used: no compiler$"):
        scores = WindowedSigma("sigmoid", 1.0).matrix(queries, candidates)
    assert torch.allclose(scores, torch.sigmoid(queries[:, None] + candidates).sum(-1), atol=1e-5)
    with pytest.warns(UserWarning, match="torch.compile failed"):
        scores.sum().backward()
    module._compiled.cache_clear()


def test_the_backend_is_chosen_by_device_and_type_or_by_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELATUM_BACKEND", raising=False)
    assert backend_for(torch.empty(1)) == "numba"
    assert backend_for(torch.empty(1, dtype=torch.float64)) == "eager"
    assert backend_for(torch.empty(1, device="meta")) == "eager"
    monkeypatch.setenv("RELATUM_BACKEND", "numba")
    assert backend_for(torch.empty(1, dtype=torch.float64)) == "eager"
    monkeypatch.setenv("RELATUM_BACKEND", "cuda")
    with mistake("bad-backend"):
        backend_for(torch.empty(1))


@pytest.mark.parametrize("name", [*combines(), *forms.FORMS])
@pytest.mark.parametrize("backend", ["numba", "eager"])
def test_counts_and_best_follow_the_scores_with_ties_and_filters(
    name: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELATUM_BACKEND", backend)
    monkeypatch.setattr("relatum.models.combine.budget", lambda: 2800)  # several parts
    for seed in range(15):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 300))
        combine, queries, kinds = drawn(name, 7, count // 2, seed)
        candidates = kinds[torch.from_numpy(rng.integers(0, count // 2, count))]
        targets = torch.from_numpy(rng.integers(0, count, 7))
        known, lists = known_of(rng, 7, count)
        with torch.no_grad():
            scores = torch.cat([combine.matrix(queries[part], candidates) for part in _parts(queries, candidates)])
        expected = reference.count_better(scores.numpy(), targets.numpy(), lists)
        assert np.array_equal(combine.count_better(queries, candidates, targets, known), expected)
        places, values = combine.top(queries, candidates, 9, known)
        for row, best in enumerate(reference.top(scores.numpy(), 9, lists)):
            assert places[row].tolist() == best.tolist() + [-1] * (9 - len(best))
            assert torch.equal(values[row, : len(best)], scores[row, best.tolist()])
        bonus, more = bonus_of(rng, 7, count)
        expected = reference.count_better(scores.numpy() + more, targets.numpy(), lists)
        assert np.array_equal(combine.count_better(queries, candidates, targets, known, bonus), expected)
        for k in (3, 70):  # kept in order while scores pass by, and sorted
            places, values = combine.top(queries, candidates, k, known, bonus)
            for row, best in enumerate(reference.top(scores.numpy() + more, k, lists)):
                assert places[row, : len(best)].tolist() == best.tolist()
                assert np.allclose(values[row, : len(best)], (scores.numpy() + more)[row, best], atol=1e-5)


@pytest.mark.parametrize("name", [*combines(), *forms.FORMS])
def test_equal_candidates_have_equal_scores_wherever_they_stand(name: str) -> None:
    rng = torch.Generator().manual_seed(0)
    for seed in range(40):
        size, count = (int(torch.randint(1, most, (), generator=rng)) for most in (90, 500))
        combine, queries, kinds = drawn(name, size, max(1, count // 2), seed)
        which = torch.randint(0, len(kinds), (count,), generator=rng)
        with torch.no_grad():
            scores = combine.matrix(queries, kinds[which])
        for kind in which.unique():
            same = scores[:, which == kind]
            assert torch.equal(same, same[:, :1].expand_as(same))


def test_exp_overflows_only_where_the_score_itself_does() -> None:
    combine = WindowedSigma("exp", 1.0)
    queries, candidates = torch.tensor([[80.0, -80.0]]), torch.tensor([[-79.0, 79.0], [5.0, -120.0]])
    with torch.no_grad():
        scores = combine.matrix(queries, candidates)
    assert torch.allclose(scores, torch.exp(queries[:, None] + candidates).sum(-1), rtol=1e-4)
    nothing, _ = known_of(np.random.default_rng(0), 1, 1)
    with pytest.raises(FloatingPointError):
        combine.count_better(queries, torch.tensor([[20.0, 0.0]]), torch.tensor([0]), nothing)
