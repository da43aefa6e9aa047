"""Training and ranking ReAlE at JF17K's size, beside the bare kernels and the published recipe, all in this run.

Training by question is timed from its first steps, where nearly every candidate counts: later most have next to no share of
the softmax, their gradients are left out, and a step takes less than the bare kernels do.

What two sides share out among threads in the same way is compared by the processor time of all threads, which other work on
the machine hardly changes; how well threads are used is a ratio of its own, by the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.measure import Ratio, in_turn
from benchmarks.published_recipe import PublishedRecipe
from relatum import KnownAnswers, Split, load
from relatum.inference.ranking import rank
from relatum.kernels import parallel, windowed_sigmoid
from relatum.kernels.filters import nothing_excluded
from relatum.models import MODELS
from relatum.models.reale import ReAlE, ReAlESettings
from relatum.runs.spec import RECIPES
from relatum.training.loop import State, start, train
from relatum.training.rows import rows_of
from relatum.training.settings import TrainingSettings

FACTS = TrainingSettings(rows="facts", num_negatives=1000, epochs=1)
QUESTIONS = replace(
    FACTS, rows="questions", batch_size=256, batches_per_step=8
)  # about 256 answers, or all of a small group
PAPER = TrainingSettings(**{**RECIPES["paper"]["training"], "epochs": 1})
WARM, STEPS = 2, 30
FEW = 3  # steps of the published recipe

Shape = tuple[int, int]  # questions, candidates
Clock = Callable[[], float]


def ratios() -> Iterator[Ratio]:
    """Measure ReAlE with d 200 and w 2, as in the paper."""
    split = load("jf17k")
    yield _ranking(split)
    yield from _questions(split)
    yield _facts(split)
    yield _published(split)


def _ranking(split: Split) -> Ratio:
    """Rank test questions, and compare with counting in one call without anything around it."""
    model = MODELS["reale"](split.train, ReAlESettings())
    parameters = model.init_parameters(torch.Generator().manual_seed(0))
    known = KnownAnswers(*split.parts.values())
    questions = sum(len(fact) - 1 for fact in split.test)
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(1024, model.windows)).astype(np.float32)
    candidates = rng.normal(size=(model.num_entities, model.windows)).astype(np.float32)
    plan, targets = windowed_sigmoid.plan(candidates), np.zeros(1024, np.int64)

    def bare() -> None:
        windowed_sigmoid.count_better(plan, queries, candidates, targets, nothing_excluded(1024))

    bare()  # compiles
    both = lambda: rank(model, parameters, split.test, known), _repeated(bare, 4)
    ours, theirs = in_turn(*(partial(_timed, work) for work in both), rounds=2, chosen=min)
    reached, most = questions / ours, 4 * 1024 / theirs
    detail = f"{questions} questions in {ours:.1f} s, {reached:.0f} against {most:.0f} questions / s"
    return Ratio("ranking JF17K against the bare kernel", reached / most, 0.5, "x", detail, aim=0.75)


def _questions(split: Split) -> Iterator[Ratio]:
    """Train by question: against the bare kernels of the same shapes, one thread, and training by fact."""
    shapes = _shapes(split, QUESTIONS)
    _Steps(split, FACTS).seconds()  # compiles
    ours, theirs = in_turn(_Steps(split, QUESTIONS).seconds, partial(_bare, shapes))
    questions, candidates = np.mean(shapes, axis=0)
    shape = f"{len(shapes)} batches of {questions:.0f} questions x {candidates:.0f} candidates x 100 windows on average"
    detail = f"{ours * 1e3:.0f} against {theirs * 1e3:.0f} ms of processor time, {shape}"
    yield Ratio("training by question against the bare kernels", theirs / ours, 0.4, "x", detail, aim=0.75)

    steps = _Steps(split, QUESTIONS, time.perf_counter)
    one, two = in_turn(*(partial(_with_threads, number, steps.seconds) for number in (1, 2)), chosen=min)
    detail = f"{one * 1e3:.0f} ms with one, {two * 1e3:.0f} ms with two"
    yield Ratio("training by question, two threads against one", one / two, 0.8, "x", detail, aim=1.7)

    alike = replace(QUESTIONS, batch_size=FACTS.batch_size)
    ours, theirs = in_turn(*(_Steps(split, settings).epoch_seconds for settings in (alike, FACTS)))
    detail = f"{ours:.1f} against {theirs:.1f} s of processor time for an epoch, {FACTS.num_negatives} shared candidates"
    yield Ratio("an epoch by question against one by fact", theirs / ours, 1.1, "x", detail)


def _facts(split: Split) -> Ratio:
    """Train by fact against the bare kernels of a batch of the mean arity."""
    arity = sum(len(fact) - 1 for fact in split.train) / len(split.train)
    steps = _Steps(split, FACTS)
    batch = (FACTS.batch_size, FACTS.num_negatives + round(arity * FACTS.batch_size))
    shapes = [batch] * round(arity * STEPS * FACTS.batches_per_step)
    ours, theirs = in_turn(steps.seconds_per_fact, partial(_bare, shapes))
    bare = theirs / (STEPS * FACTS.batches_per_step * FACTS.batch_size)
    detail = f"{1 / ours:.0f} against {1 / bare:.0f} facts / s of processor time, {FACTS.num_negatives} candidates"
    return Ratio("training by fact against the bare kernels", bare / ours, 0.2, "x", detail)


def _published(split: Split) -> Ratio:
    """Train by the paper's recipe against a plain loop of torch that does the same."""
    torch.set_num_threads(parallel.threads())
    plain, steps = PublishedRecipe(split.train), _Steps(split, PAPER, time.perf_counter)
    plain.seconds_per_fact(1)
    ours, theirs = in_turn(steps.seconds_per_fact, partial(plain.seconds_per_fact, FEW))
    detail = f"{1 / ours:.0f} against {1 / theirs:.0f} facts / s, d 200, batches of 128, 10 replacements a position"
    return Ratio("the paper's recipe against a plain loop of torch", theirs / ours, 3.0, "x", detail)


class _Steps:
    """The first steps of training, the very first left out; every call starts anew."""

    def __init__(self, split: Split, settings: TrainingSettings, clock: Clock = time.process_time) -> None:
        self.split, self.settings, self.clock = split, settings, clock
        self.model = MODELS["reale"](split.train, ReAlESettings())

    def seconds(self) -> float:
        """Return how long the steps take."""
        return self._take()[0]

    def seconds_per_fact(self) -> float:
        """Return how long a fact takes."""
        taken, facts, _ = self._take()
        return taken / facts

    def epoch_seconds(self) -> float:
        """Return how long an epoch would take, all of it like these steps."""
        taken, _, share = self._take()
        return taken / share

    def _take(self) -> tuple[float, float, float]:
        """Return seconds, facts and the share of an epoch."""
        seen: list[tuple[float, float, float]] = []  # after each step

        def watch(event: str, state: State, said: dict[str, Any]) -> None:
            if event == "step":
                facts = said["facts"] + (seen[-1][1] if seen else 0)
                seen.append((self.clock(), facts, said["done"]))
            if len(seen) == WARM + STEPS:
                raise StopIteration

        try:
            train(self.model, self.split.train, self.settings, 0, watch=watch)
        except StopIteration:
            before, after = seen[WARM - 1], seen[-1]
            return after[0] - before[0], after[1] - before[1], after[2] - before[2]
        raise RuntimeError(f"an epoch has fewer than {WARM + STEPS} steps")


class _Watched(ReAlE):
    """ReAlE that notes how many questions and candidates each batch has."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shapes: list[Shape] = []

    def question_gradients(self, parameters: Any, questions: Any, chosen: Any, pool: Any, *rest: Any) -> Any:
        answers = [questions.answers[questions.starts[i] : questions.starts[i + 1]] for i in chosen.tolist()]
        self.shapes.append((len(chosen), len(np.unique(np.concatenate([pool, *answers])))))
        return super().question_gradients(parameters, questions, chosen, pool, *rest)


def _shapes(split: Split, settings: TrainingSettings) -> list[Shape]:
    """Return the shapes of the batches that `_Steps` times."""
    model = _Watched(split.train, ReAlESettings())
    rows, state = rows_of(model, split.train, settings, 0), start(model, settings, 0)
    rows.start_epoch(0)
    first, size = WARM * settings.batches_per_step, STEPS * settings.batches_per_step
    for number in range(first, first + size):
        rows.gradients(state.parameters, number)
    return model.shapes


def _bare(shapes: list[Shape]) -> float:
    """Return how long forward and backward of such batches take, shared out among threads like those of training."""
    rng = np.random.default_rng(0)
    queries = rng.normal(size=(max(size for size, _ in shapes), 100)).astype(np.float32)
    candidates = rng.normal(size=(max(size for _, size in shapes), 100)).astype(np.float32)
    plan, ones = windowed_sigmoid.plan(candidates), np.ones(len(queries) * len(candidates), np.float32)

    def work(shape: Shape) -> None:
        with parallel.single_threaded():
            sides = queries[: shape[0]], candidates[: shape[1]]
            windowed_sigmoid.forward(plan, *sides)
            windowed_sigmoid.backward(plan, *sides, ones[: shape[0] * shape[1]].reshape(shape))

    with parallel.pool_of_threads() as pool:
        list(pool.map(work, shapes[: parallel.threads()]))  # compiles, and starts the threads
        return _timed(lambda: list(pool.map(work, shapes)), time.process_time)


def _with_threads(number: int, work: Callable[[], float]) -> float:
    parallel.set_threads(number)
    try:
        return work()
    finally:
        parallel.set_threads(None)


def _timed(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    began = clock()
    work()
    return clock() - began


def _repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    def all_of_them() -> None:
        for _ in range(times):
            work()

    return all_of_them
