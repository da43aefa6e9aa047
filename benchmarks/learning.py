"""Training and ranking at JF17K's size, against the rate of the bare kernels: how much is lost on the way to them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.measure import Ratio, seconds
from relatum import KnownAnswers, Split, load
from relatum.inference.ranking import rank
from relatum.kernels import parallel, windowed_sigmoid
from relatum.kernels.filters import nothing_excluded
from relatum.models import MODELS
from relatum.models.reale import ReAlESettings
from relatum.training.loop import State, train
from relatum.training.settings import TrainingSettings

WARM, STEPS = 20, 150
SHARED = TrainingSettings(num_negatives=1000, epochs=1)
PAPER = TrainingSettings(negative_sampling="per-fact", num_negatives=10, batch_size=128, batches_per_step=4, epochs=1)


def ratios() -> Iterator[Ratio]:
    """Measure ReAlE with d 200 and w 2, as in the paper."""
    if "RELATUM_DATA" not in os.environ:
        print("skipped: set RELATUM_DATA to the folder that holds JF17K")
        return
    split = load("jf17k")
    yield _ranking(split)
    shared = _facts_per_second(split, SHARED)
    yield Ratio(
        "training with shared candidates against the bare kernels",
        shared / _kernel_limit(split),
        0.3,
        "x",
        f"{shared:.0f} facts / s, {SHARED.num_negatives} candidates",
    )
    paper = _facts_per_second(split, PAPER)
    # 288 facts a second is what the published code does on such a machine.
    yield Ratio("the paper's recipe against the published code", paper / 288, 50.0, "x", f"{paper:.0f} facts / s")


def _ranking(split: Split) -> Ratio:
    """Rank all test questions, and compare with counting in one call without anything around it."""
    model = MODELS["reale"](split.train, ReAlESettings())
    parameters = model.init_parameters(torch.Generator().manual_seed(0))
    known = KnownAnswers(*split.parts.values())
    rank(model, parameters, split.valid, known)  # compiles
    taken = seconds(lambda: rank(model, parameters, split.test, known), repeats=2)
    questions = sum(len(fact) - 1 for fact in split.test)
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(1024, model.windows)).astype(np.float32)
    candidates = rng.normal(size=(model.num_entities, model.windows)).astype(np.float32)
    plan, targets = windowed_sigmoid.plan(candidates), np.zeros(1024, np.int64)
    bare = 1024 / seconds(lambda: windowed_sigmoid.count_better(plan, queries, candidates, targets, nothing_excluded(1024)))
    detail = f"{questions} questions in {taken:.1f} s, {questions / taken:.0f} against {bare:.0f} questions / s"
    return Ratio("ranking JF17K against the bare kernel", questions / taken / bare, 0.6, "x", detail)


def _facts_per_second(split: Split, settings: TrainingSettings) -> float:
    model = MODELS["reale"](split.train, ReAlESettings(window_dropout=0.0))
    steps, facts, began = 0, 0, 0.0

    def watch(event: str, state: State, said: dict[str, Any]) -> None:
        nonlocal steps, facts, began
        if event != "step":
            return
        steps += 1
        facts += said["facts"]
        if steps == WARM:
            facts, began = 0, time.perf_counter()
        if steps == WARM + STEPS:
            raise StopIteration

    with contextlib.suppress(StopIteration):
        train(model, split.train, settings, 0, watch=watch)
    return facts / (time.perf_counter() - began)


def _kernel_limit(split: Split) -> float:
    """Return the facts that forward and backward kernels alone could take in a second, at the mean arity."""
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(SHARED.batch_size, 100)).astype(np.float32)
    candidates = rng.normal(size=(SHARED.num_negatives + 3 * SHARED.batch_size, 100)).astype(np.float32)
    plan = windowed_sigmoid.plan(candidates)
    upstream = np.ones((len(queries), len(candidates)), np.float32)

    def both() -> None:
        windowed_sigmoid.forward(plan, queries, candidates)
        windowed_sigmoid.backward(plan, queries, candidates, upstream)

    with parallel.single_threaded():
        alone = seconds(both, repeats=20)
    arity = sum(len(fact) - 1 for fact in split.train) / len(split.train)
    return SHARED.batch_size / alone / arity * parallel.threads()
