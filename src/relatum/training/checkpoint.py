"""A training state on disk: everything needed to go on, whole or not there."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from relatum.files import read_checksummed, write_checksummed
from relatum.training.loop import State

__all__ = ["load_state", "save_state"]

_KIND, _VERSION = "relatum-checkpoint", 2
_PARTS = ("parameters", "history", "mean", "best")
_NUMBERS = ("epoch", "step", "loss", "best_score", "best_epoch", "stale", "done")


def save_state(path: Path, state: State) -> None:
    """Write a state; generators need no saving, for all that is drawn follows from seed, epoch and step."""
    tensors: dict[str, Tensor] = {}
    for part in _PARTS:
        tensors.update({f"{part}/{name}": tensor.detach().cpu() for name, tensor in getattr(state, part).items()})
    numbers = {name: getattr(state, name) for name in _NUMBERS}
    if not math.isfinite(state.best_score):
        numbers["best_score"] = None
    about = torch.from_numpy(np.frombuffer(json.dumps(numbers).encode(), np.uint8).copy())
    write_checksummed(path, _KIND, _VERSION, safetensors.torch.save({**tensors, "about": about}))


def load_state(path: Path) -> State | None:
    """Return the state in a checkpoint, or None if there is none that is whole."""
    body = read_checksummed(path, _KIND, _VERSION)
    if body is None:
        return None
    try:
        tensors = safetensors.torch.load(body)
        numbers = json.loads(tensors.pop("about").numpy().tobytes())
        if numbers["best_score"] is None:
            numbers["best_score"] = -math.inf
        parts: dict[str, dict[str, Tensor]] = {part: {} for part in _PARTS}
        for name, tensor in tensors.items():
            part, _, key = name.partition("/")
            parts[part][key] = tensor
        return State(parts["parameters"], parts["history"], mean=parts["mean"], best=parts["best"], **numbers)
    except (SafetensorError, KeyError, TypeError, ValueError):
        return None
