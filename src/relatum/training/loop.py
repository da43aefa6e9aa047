"""The training loop: epochs of steps, validation, the best parameters kept, and a caller that watches.

A step takes the gradients of some batches from the same parameters, and then the optimizer's steps, batch after batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from relatum import memory
from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.errors import NumericError, SettingError
from relatum.kernels import parallel
from relatum.models.base import Model, Parameters
from relatum.models.ops import one_torch_thread
from relatum.models.training_protocols import Gradient
from relatum.training.clock import Clock
from relatum.training.optimizer import History, Optimizer
from relatum.training.rows import Result, Rows, rows_of
from relatum.training.settings import TrainingSettings

Quality = float | Mapping[str, float]
Validate = Callable[[Parameters], Quality]
Watch = Callable[[str, "State", dict[str, Any]], None]

_FINAL_FACTOR = 0.1  # of a learning rate that falls: its share at the end


@dataclass
class State:
    """All that is needed to go on: what is next, the parameters, what the optimizer remembers, and the best so far."""

    parameters: Parameters
    history: History
    epoch: int = 0
    step: int = 0  # the next one of the epoch
    loss: float = 0.0  # summed over the epoch's rows so far
    mean: Parameters = field(default_factory=dict)  # over epochs; empty if nothing is averaged
    best: Parameters = field(default_factory=dict)
    best_score: float = -math.inf
    best_epoch: int = 0
    stale: int = 0  # validations since the best
    done: bool = False
    refit: int = 0  # epochs of the refit that this is the state of; 0 if it is none
    seconds: float = 0.0  # that training has taken, where minutes are set: else the same seed gives the same state


class Steps:
    """The steps of one process, which has all parameters; batches are shared out among its threads."""

    def __init__(self, rows: Rows, optimizer: Optimizer, pool: Executor) -> None:
        self._rows, self._optimizer, self._pool = rows, optimizer, pool
        self._found: list[Gradient] = []

    def start_epoch(self, epoch: int) -> int:
        """Cut the rows of an epoch into batches, and return how many batches there are."""
        return self._rows.start_epoch(epoch)

    def gradients(self, numbers: Sequence[int]) -> list[tuple[float, float]]:
        """Compute the gradients of some batches, and return the mean loss and the weight of each, in order."""
        results = list(self._pool.map(partial(self._work, self._optimizer.parameters), numbers))
        self._found = [gradient for _, _, found in results for gradient in found]
        return [(loss, weight) for loss, weight, _ in results]

    def apply(self, learning_rate: float) -> None:
        """Take the optimizer's steps by the gradients that were computed last, in the order of the batches."""
        found, self._found = self._found, []
        self._optimizer.apply(found, learning_rate)

    def _work(self, parameters: Parameters, number: int, among: Int64 | None = None) -> Result:
        """Return what the rows say of a batch; where a number is not finite, the loss is none."""
        with parallel.single_threaded():  # batches are what is shared out among threads here
            try:
                return self._rows.gradients(parameters, number, among)
            except FloatingPointError:
                return math.nan, 1.0, []


def train(
    model: Model,
    facts: Hypergraph,
    settings: TrainingSettings,
    seed: int,
    state: State | None = None,
    validate: Validate | None = None,
    watch: Watch = lambda *_: None,
    clock: Clock | None = None,
    steps_of: Callable[[Rows, Optimizer, Executor], Steps] = Steps,
    rows: Rows | None = None,
) -> State:
    """Return the state after training; `state.best` holds the best parameters, or the last without validation.

    A refit ends after its own number of epochs, with the learning rates that these had when validation chose them.

    - `facts` that are repeated are seen once; `rows` are theirs, if somebody has them already.
    - `state` is where to go on from; None starts at the beginning.
    - `validate` returns how good parameters are, more is better; nothing else decides which are kept. Of several numbers by
      name the first decides, and the others are passed on to who watches.
    - `watch` is called after each "step", "epoch" and "validation" and at the "end", with the state, from which training
      could go on, and what there is to say. An "epoch" that was validated also says what its "validation" will say: whoever
      stops between the two has heard all that led to the state. It must not change the state. It may raise to stop.
    - `clock` says when time is up; by default after the minutes of the settings. A refit goes by its epochs alone.
    - `steps_of` returns what takes the steps: this process alone, or several that share the entities.
    """
    state = state if state is not None else start(model, settings, seed)
    optimizer = Optimizer(state.parameters, settings.weight_decay, state.history)
    if state.refit:
        clock = Clock()
    elif clock is None:
        clock = Clock(settings.minutes)
    rows = rows_of(model, facts.distinct(), settings, seed) if rows is None else rows
    clock.start_training(state.seconds)
    with one_torch_thread(), parallel.pool_of_threads() as pool:
        training = _Training(rows, steps_of(rows, optimizer, pool), settings, state, validate, clock, watch)
        while not state.done:
            validated = training.close_epoch(training.take_steps())
            state.done = state.done or (validated and clock.share() >= 1)  # an epoch without a step would be of no use
    watch("end", state, {})
    return state


def start(model: Model, settings: TrainingSettings, seed: int, entities: range | None = None) -> State:
    """Return the state before the first step, with the rows of some entities alone if these are named."""
    _require_room(model, settings, entities)
    parameters = model.init_parameters(torch.Generator().manual_seed(seed), entities)
    return State(parameters, Optimizer(parameters).history)


def _require_room(model: Model, settings: TrainingSettings, entities: range | None) -> None:
    """Refuse parameters that cannot be trained in the free memory, before any of it is taken."""
    shapes = model.parameter_shapes(entities)
    kept = [shapes, shapes, Optimizer(shapes).history, *[shapes] * (settings.ema_decay > 0)]  # and the best ones
    needed = sum(tensor.numel() * tensor.element_size() for part in kept for tensor in part.values())
    if not memory.fits(needed):
        rows = model.num_entities if entities is None else len(entities)
        raise SettingError(
            "too-large-to-train",
            f"to train {rows:,} entities of dim {model.settings.dim:,} takes at least {needed / 1e9:,.1f} GB, and"
            f" {memory.free() / 1e9:,.1f} GB are free",
            place=model.settings.path_of("dim"),
            remedy="choose a smaller dim",
        )


@dataclass(frozen=True, eq=False, slots=True)
class _Training:
    """What an epoch is taken with."""

    rows: Rows
    steps: Steps
    settings: TrainingSettings
    state: State
    validate: Validate | None
    clock: Clock
    watch: Watch

    def take_steps(self) -> float:
        """Take the steps of an epoch that are left, and return the share of it that was gone through before time was up."""
        settings, state, clock = self.settings, self.state, self.clock
        batches = self.steps.start_epoch(state.epoch)
        steps = -(-batches // settings.batches_per_step)
        while state.step < steps and clock.share() < 1:
            if self.validate is not None and clock.needs_rehearsal():
                with clock.measured("validation"):
                    self.validate(as_stored(state.parameters, self.rows.model, settings))
            chosen = range(batches)[state.step * settings.batches_per_step : (state.step + 1) * settings.batches_per_step]
            passed = (state.epoch + state.step / steps) / settings.epochs
            learning_rate = _learning_rate(settings, min(1.0, max(passed, clock.share())))
            results = self.steps.gradients(chosen)
            total = sum(loss * weight for loss, weight in results)
            weight = sum(weight for _, weight in results)
            if not math.isfinite(total):
                raise NumericError(
                    "diverged", f"the loss is {total} in epoch {state.epoch + 1}: try a smaller training.learning_rate"
                )
            self.steps.apply(learning_rate)
            state.step += 1
            state.loss += total
            state.seconds = clock.seconds()
            done = self._done(state.epoch + state.step / steps)
            self.watch("step", state, {"loss": total / weight, "facts": weight, "done": done})
        return state.step / steps

    def close_epoch(self, share: float) -> bool:
        """Validate if it is time, which is returned, and go over to the next epoch.

        Only then is `watch` called, so that no state is half way.
        """
        settings, state, clock = self.settings, self.state, self.clock
        loss, epoch = state.loss / (self.rows.weight * max(share, 1e-9)), state.epoch + 1
        last = epoch >= (state.refit or settings.epochs) or clock.share() >= 1
        kept = as_stored(_average(state, settings), self.rows.model, settings)
        validation: dict[str, Any] | None = None
        due = epoch % settings.validate_every == 0 and clock.has_time_to_validate()
        if self.validate is not None and (last or due):
            with clock.measured("validation"):
                found = self.validate(kept)
            (_, score), *others = found.items() if isinstance(found, Mapping) else [("score", found)]
            better = score > state.best_score
            state.stale = 0 if better else state.stale + 1
            if better:
                state.best, state.best_score, state.best_epoch = _copy(kept), score, epoch
            validation = {"score": score, "best": better, **dict(others)}
        state.epoch, state.step, state.loss, state.seconds = epoch, 0, 0.0, clock.seconds()
        state.done = last or (settings.patience > 0 and state.stale >= settings.patience)
        if self.validate is None and state.done:
            state.best, state.best_epoch = _copy(kept), epoch
        self.watch("epoch", state, {"loss": loss, "done": self._done(epoch), "validation": validation})
        if validation is not None:
            self.watch("validation", state, validation)
        return validation is not None

    def _done(self, passed: float) -> float:
        """Return the share of training that is behind after so many epochs; it may still end early."""
        return min(1.0, max(passed / (self.state.refit or self.settings.epochs), self.clock.share()))


def _average(state: State, settings: TrainingSettings) -> Parameters:
    """Take the epoch's parameters into the mean, and return what counts: the mean, or without one the parameters."""
    if not settings.ema_decay:
        return state.parameters
    if not state.mean:
        state.mean = _copy(state.parameters)
    for name, latest in state.parameters.items():
        state.mean[name].lerp_(latest, 1 - settings.ema_decay)
    return state.mean


def as_stored(parameters: Parameters, model: Model, settings: TrainingSettings) -> Parameters:
    """Return parameters of training as a saved model will hold them."""
    if settings.entity_storage == "float32":
        return parameters
    return {**parameters, **{name: parameters[name].bfloat16().float() for name in model.entity_tables}}


def _learning_rate(settings: TrainingSettings, share: float) -> float:
    """Return the learning rate after a share of training."""
    first, factor = settings.learning_rate, _FINAL_FACTOR
    if settings.learning_rate_schedule == "linear":
        return first * (1 - share * (1 - factor))
    if settings.learning_rate_schedule == "cosine":
        return first * (factor + (1 - factor) * (1 + math.cos(math.pi * share)) / 2)
    return first


def _copy(parameters: Parameters) -> Parameters:
    return {name: tensor.detach().clone() for name, tensor in parameters.items()}
