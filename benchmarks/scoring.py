"""The windowed sigmoid against torch and C++, ranking against a bare matrix product, and what scoring a million takes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from benchmarks.measure import Ratio, peak_memory, seconds
from relatum.kernels import parallel, windowed_sigmoid
from relatum.kernels.filters import nothing_excluded
from relatum.kernels.jit import TILE
from relatum.models.combine import Dot, WindowedSigma

QUERIES, CANDIDATES, WINDOWS = 256, 29_177, 100  # JF17K's entities, d = 200, w = 2
SIGMOIDS = QUERIES * CANDIDATES * WINDOWS


def ratios() -> Iterator[Ratio]:
    """Measure with as many threads on every side as there are processors."""
    torch.set_num_threads(parallel.threads())
    yield from _forward()
    yield from _forward_and_backward()
    yield from _ranking()
    yield from _million()


def _sides(queries: int, candidates: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    return torch.randn(queries, WINDOWS, generator=rng), torch.randn(candidates, WINDOWS, generator=rng)


def _plain(queries: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(queries[:, None] + candidates).sum(-1)


def _forward() -> Iterator[Ratio]:
    queries, candidates = _sides(QUERIES, CANDIDATES)
    a, k = queries.numpy(), candidates.numpy()
    plan = windowed_sigmoid.plan(k)
    rate = SIGMOIDS / seconds(lambda: windowed_sigmoid.forward(plan, a, k), repeats=5)

    chunks = {width: SIGMOIDS / seconds(lambda w=width: _chunked(queries, candidates, w)) for width in (16, 64, 256, 1024)}  # type: ignore[misc]
    best = max(chunks, key=lambda width: chunks[width])
    detail = f"{rate:.2g} against {chunks[best]:.2g} sigmoids / s, {QUERIES} x {CANDIDATES} x {WINDOWS}, chunks of {best}"
    yield Ratio("windowed sigmoid against torch eager", rate / chunks[best], 10.0, "x", detail)

    if fused := _compiled(queries, candidates):
        theirs = SIGMOIDS / seconds(fused)
        detail = f"{rate:.2g} against {theirs:.2g} sigmoids / s"
        yield Ratio("windowed sigmoid against torch.compile", rate / theirs, 5.0, "x", detail)
    if loop := _cpp_loop(plan, a, k):
        theirs = SIGMOIDS / seconds(loop, repeats=5)
        again = SIGMOIDS / seconds(lambda: windowed_sigmoid.forward(plan, a, k), repeats=5)
        detail = f"{again:.2g} against {theirs:.2g} sigmoids / s"
        yield Ratio("windowed sigmoid against C++", again / theirs, 0.85, "x", detail)


def _chunked(queries: torch.Tensor, candidates: torch.Tensor, width: int) -> torch.Tensor:
    return torch.cat([_plain(queries, piece) for piece in torch.split(candidates, width)], 1)


def _compiled(queries: torch.Tensor, candidates: torch.Tensor) -> Callable[[], object] | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            fused = torch.compile(_plain)
            fused(queries, candidates)
    except Exception as error:
        print(f"skipped torch.compile: {str(error).splitlines()[0]}")
        return None
    return lambda: fused(queries, candidates)


def _cpp_loop(plan: windowed_sigmoid.Plan, queries: np.ndarray, candidates: np.ndarray) -> Callable[[], object] | None:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        print("skipped C++: no compiler")
        return None
    source = Path(__file__).with_name("windowed_sigmoid.cpp")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "loop.so"
        flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        loop = ctypes.CDLL(str(library)).windowed_sigmoid
    side, count = plan.query_side(queries), len(candidates)
    padded = np.pad(candidates - plan.centre, ((0, -count % TILE), (0, 0)))
    tiles = np.ascontiguousarray(np.exp(-padded).reshape(-1, TILE, WINDOWS).transpose(0, 2, 1))
    out = np.empty((len(queries), count), np.float32)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (tiles, side, out)]
    sizes = [ctypes.c_long(n) for n in (len(side), WINDOWS, count, parallel.threads())]
    loop(*pointers, *sizes)
    assert np.allclose(out, windowed_sigmoid.forward(plan, queries, candidates), atol=1e-3)
    return lambda: loop(*pointers, *sizes)


def _forward_and_backward() -> Iterator[Ratio]:
    # At 64 x 1000 all sigmoids take 26 MB and stay in the cache for autograd too; at 128 x 4000 they no longer do.
    for queries, candidates, floor in ((64, 1000, 3.0), (128, 4000, 10.0)):
        sides = [side.requires_grad_() for side in _sides(queries, candidates)]
        weight = torch.ones(queries, candidates)
        combine = WindowedSigma("sigmoid", 1.0)
        ours = seconds(lambda: torch.autograd.grad(combine.matrix(*sides), sides, weight), repeats=5)  # noqa: B023
        theirs = seconds(lambda: torch.autograd.grad(_plain(*sides), sides, weight), repeats=5)  # noqa: B023
        detail = f"{ours * 1e3:.2f} against {theirs * 1e3:.1f} ms, {queries} x {candidates} x {WINDOWS}"
        yield Ratio(f"forward and backward against autograd, {candidates}", theirs / ours, floor, "x", detail)
    # Scores, their gradient and a copy; the candidate side and its gradient; some room.
    peak = peak_memory(_both_ways, 1000, large=(CANDIDATES,))
    allowed = 4 * (3 * QUERIES * CANDIDATES + 2 * CANDIDATES * WINDOWS) + 50e6
    yield Ratio(
        "memory of forward and backward",
        allowed / peak,
        1.0,
        "allowed / peak",
        f"peak {peak / 1e6:.0f} MB; the array of all sigmoids would take {4 * SIGMOIDS / 1e6:.0f} MB",
    )


def _both_ways(candidates: int) -> None:
    sides = [side.requires_grad_() for side in _sides(QUERIES, candidates)]
    WindowedSigma("sigmoid", 1.0).matrix(*sides).sum().backward()


def _ranking() -> Iterator[Ratio]:
    rng = torch.Generator().manual_seed(0)
    queries, candidates = torch.randn(QUERIES, 200, generator=rng), torch.randn(CANDIDATES, 200, generator=rng)
    targets = torch.randint(0, CANDIDATES, (QUERIES,), generator=rng)

    def bare() -> None:
        scores = queries @ candidates.T
        bars = scores.gather(1, targets[:, None])
        (scores > bars).sum(1)
        (scores == bars).sum(1)

    theirs = seconds(bare, repeats=5)
    ours = seconds(lambda: Dot().count_better(queries, candidates, targets, nothing_excluded(QUERIES)), repeats=5)
    detail = f"{ours * 1e3:.0f} against {theirs * 1e3:.0f} ms, {QUERIES} x {CANDIDATES}, d = 200"
    yield Ratio("ranking by dot product against torch.mm and count", theirs / ours, 0.7, "x", detail)


def _million() -> Iterator[Ratio]:
    for name, features in (("sigmoid", WINDOWS), ("dot", 200)):
        side = 4 * 1_000_000 * features
        peak = peak_memory(_score_many, name, features, 1000, large=(name, features, 1_000_000))
        yield Ratio(
            f"memory of scoring a million candidates, {name}",
            (side + 100e6) / peak,
            1.0,
            "(candidate side + 100 MB) / peak",
            f"peak {peak / 1e6:.0f} MB, candidate side {side / 1e6:.0f} MB",
        )


def _score_many(name: str, features: int, count: int) -> None:
    candidates = torch.zeros(count, features)
    candidates[:, 0] = torch.linspace(-1, 1, count)
    queries, targets = torch.ones(16, features), torch.arange(16)
    combine = WindowedSigma("sigmoid", 1.0) if name == "sigmoid" else Dot()
    combine.count_better(queries, candidates, targets, nothing_excluded(16))
    combine.top(queries, candidates, 10, nothing_excluded(16))
