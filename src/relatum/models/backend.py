"""Which of three ways computes the windowed sigmoid: compiled kernels, a fused graph, or plain tensor operations.

`numba` serves float32 on the CPU; `compile` is torch.compile, one fused kernel, for GPUs; `eager` is torch operations on
chunks, for everything else and where a compiler is missing. `RELATUM_BACKEND` forces one.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from relatum.errors import SettingError

__all__ = ["BACKENDS", "as_array", "backend_for"]

BACKENDS = ("numba", "compile", "eager")


def backend_for(values: Tensor) -> str:
    """Return the name of the backend for tensors like this one."""
    forced = os.environ.get("RELATUM_BACKEND")
    if forced:
        if forced not in BACKENDS:
            raise SettingError(f"RELATUM_BACKEND: must be one of {', '.join(BACKENDS)}, not {forced!r}")
        if forced == "numba" and not _numba_fits(values):
            return "eager"  # the compiled kernels know float32 on the CPU only
        return forced
    if _numba_fits(values) and _has_numba():
        return "numba"
    return "compile" if values.device.type == "cuda" else "eager"


def as_array(values: Tensor) -> npt.NDArray[Any]:
    """Return a tensor's values for a kernel, without copying them where they lie in order."""
    return values.detach().contiguous().numpy()


def _numba_fits(values: Tensor) -> bool:
    return values.device.type == "cpu" and values.dtype == torch.float32


@functools.cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None
