"""A training state on disk: everything needed to go on, whole or not there.

The best parameters change only when a validation is better than all before, so they have a file of their own, which is
written when they have changed. The checkpoint names that file, and is replaced after it was written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypedDict

from torch import Tensor

from relatum.artefacts import Count, Score, Within, read
from relatum.closed_folders import names_in, remove_file
from relatum.errors import RelatumError
from relatum.models.base import Model, Parameters
from relatum.models.store import fault_of, holds_tensors, read_own_tensors, write_own_tensors
from relatum.training.loop import State
from relatum.training.optimizer import Optimizer
from relatum.training.settings import TrainingSettings

_FORMAT, _VERSION = "relatum-checkpoint", 4
_BEST_FORMAT, _BEST_VERSION = "relatum-checkpoint-best", 1
_BEST = re.compile(r"checkpoint-best-(refit-)?\d+\.safetensors")
_PARTS = ("parameters", "history", "mean")


class Numbers(TypedDict):
    """What a state has beside tensors."""

    epoch: Count
    step: Count
    loss: Annotated[float, Score]
    best_score: Annotated[float, Score] | None
    best_epoch: Count
    stale: Count
    done: bool
    refit: Count
    seconds: Annotated[float, Within(0, 1e15)]


def save_state(path: Path, state: State) -> None:
    """Write a state; generators need no saving, for all that is drawn follows from seed, epoch and step."""
    best = f"{best_tag(state)}.safetensors" if state.best else None
    if best is not None:
        save_best(path.with_name(best), state.best, state)
    tensors: dict[str, Tensor] = {}
    for part in _PARTS:
        for name, tensor in getattr(state, part).items():
            tensors[f"{part}/{name}"] = tensor.detach().cpu().contiguous()
    write_own_tensors(path, tensors, _FORMAT, _VERSION, {**saved_numbers(state), "best": best})
    _remove_best(path, best)


def load_state(path: Path) -> State | None:
    """Return the state in a checkpoint, or None if there is none that is whole."""
    stored = read_own_tensors(path, _FORMAT, _VERSION)
    if stored is None:
        return None
    try:
        tensors, numbers = stored[0], dict(stored[1])
        best = numbers.pop("best")
        numbers = state_numbers(read(Numbers, numbers))
        parts: dict[str, dict[str, Tensor]] = {part: {} for part in _PARTS}
        for name, tensor in tensors.items():
            part, _, key = name.partition("/")
            parts[part][key] = tensor
        state = State(parts["parameters"], parts["history"], mean=parts["mean"], **numbers)
    except (KeyError, TypeError, ValueError):  # what is refused is a ValueError too
        return None
    if best is None:
        return state
    found = load_best(path.with_name(best), state) if _BEST.fullmatch(str(best)) else None
    if found is None:
        return None
    state.best = found
    return state


def remove_state(path: Path) -> None:
    """Remove a checkpoint, once several workers have saved a later state."""
    remove_file(path)
    _remove_best(path, None)


def saved_numbers(state: State) -> dict[str, Any]:
    """Return what a state has beside tensors, as JSON has it."""
    numbers = {name: getattr(state, name) for name in Numbers.__annotations__}
    if not math.isfinite(state.best_score):
        numbers["best_score"] = None
    return numbers


def state_numbers(numbers: Numbers) -> dict[str, Any]:
    """Return what a checkpoint has beside tensors as a state has it."""
    return {**numbers, "best_score": -math.inf if numbers["best_score"] is None else numbers["best_score"]}


def require_fitting(
    path: Path, state: State, model: Model, settings: TrainingSettings, entities: range | None = None
) -> None:
    """Refuse a state whose tensors are not those of training this model so: in name, shape and type, and finite."""
    expected = model.parameter_shapes(entities)
    wanted = {"parameters": expected, "history": Optimizer(expected).history, "mean": expected, "best": expected}
    for part, tensors in wanted.items():
        found = getattr(state, part)
        if not found and (part == "mean" or (part == "best" and not state.best_epoch and not state.done)):  # none yet
            continue
        for name in sorted(tensors.keys() | found.keys()):
            if fault := fault_of(found.get(name), tensors.get(name)):
                what = f"{part}/{name} {fault}"
                raise RelatumError(
                    "checkpoint-of-other-run",
                    f"does not fit the run, for {what}",
                    place=path,
                    remedy="remove it to train from the beginning",
                )


def best_tag(state: State) -> str:
    """Return the beginning of the names of files that hold the best parameters: another for others of the same run."""
    return f"checkpoint-best-{'refit-' if state.refit else ''}{state.best_epoch}"


def save_best(path: Path, best: Mapping[str, Tensor], state: State) -> None:
    """Write the best parameters of a state, or some of them, unless the file already holds them."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in best.items()}
    if not holds_tensors(path, tensors, _BEST_FORMAT, _BEST_VERSION, _about_best(state)):
        write_own_tensors(path, tensors, _BEST_FORMAT, _BEST_VERSION, _about_best(state))


def load_best(path: Path, state: State) -> Parameters | None:
    """Return the best parameters in a file, if it is whole and theirs."""
    stored = read_own_tensors(path, _BEST_FORMAT, _BEST_VERSION)
    return None if stored is None or stored[1] != _about_best(state) else stored[0]


def _about_best(state: State) -> dict[str, Any]:
    numbers = saved_numbers(state)
    return {name: numbers[name] for name in ("best_epoch", "best_score", "refit")}


def _remove_best(path: Path, kept: str | None) -> None:
    """Remove the best parameters that no checkpoint names any longer."""
    for name in names_in(path.parent):
        if _BEST.fullmatch(name) and name != kept:
            remove_file(path.with_name(name))
