"""A training state on disk: everything needed to go on, whole or not there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import Tensor

from relatum.models.store import own_tensors, read_own_tensors, write_own_tensors
from relatum.tensor_files import read_titled_file
from relatum.training.loop import State

__all__ = ["load_state", "save_state"]

_FORMAT, _VERSION = "relatum-checkpoint", 3
_TITLED = "relatum-checkpoint", 2  # an older checkpoint, in a file without ending
_PARTS = ("parameters", "history", "mean", "best")
_NUMBERS = ("epoch", "step", "loss", "best_score", "best_epoch", "stale", "done", "refit", "revision", "seconds")


def save_state(path: Path, state: State) -> None:
    """Write a state; generators need no saving, for all that is drawn follows from seed, epoch and step."""
    tensors: dict[str, Tensor] = {}
    for part in _PARTS:
        for name, tensor in getattr(state, part).items():
            tensors[f"{part}/{name}"] = tensor.detach().cpu().contiguous()
    numbers = {name: getattr(state, name) for name in _NUMBERS}
    if not math.isfinite(state.best_score):
        numbers["best_score"] = None
    write_own_tensors(path, tensors, _FORMAT, _VERSION, numbers)
    if _older(path) is not None:
        path.with_suffix("").unlink()  # it would be taken again, were this one lost


def load_state(path: Path) -> State | None:
    """Return the state in a checkpoint, or None if there is none that is whole; an older one counts if there is no other."""
    stored = read_own_tensors(path, _FORMAT, _VERSION) if path.exists() else _older(path)
    if stored is None:
        return None
    try:
        tensors, numbers = stored[0], dict(stored[1])
        if numbers["best_score"] is None:
            numbers["best_score"] = -math.inf
        parts: dict[str, dict[str, Tensor]] = {part: {} for part in _PARTS}
        for name, tensor in tensors.items():
            part, _, key = name.partition("/")
            parts[part][key] = tensor
        return State(parts["parameters"], parts["history"], mean=parts["mean"], best=parts["best"], **numbers)
    except (KeyError, TypeError, ValueError):
        return None


def _older(path: Path) -> tuple[dict[str, Tensor], Any] | None:
    stored = read_titled_file(path.with_suffix(""), *_TITLED) if path.suffix else None
    if stored is None:
        return None
    try:
        tensors = own_tensors(stored.body)
    except SafetensorError:
        return None
    tensors.pop("about", None)
    return tensors, stored.about
