"""The folder of a run in which workers share what they can make again: removed at the end, and before another start."""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

_NAME = ".scratch"


def scratch_folder(run: Path) -> Path:
    """Return the folder, which is made if it is not there."""
    folder = run / _NAME
    folder.mkdir(exist_ok=True)
    return folder


def remove_scratch(run: Path) -> None:
    """Remove the folder, and what killed workers may have left in it."""
    shutil.rmtree(run / _NAME, ignore_errors=True)


def stale_scratch(run: Path) -> Path | None:
    """Return the folder that killed workers have left in a run that nobody trains, if there is one."""
    return run / _NAME if (run / _NAME).is_dir() else None


def mapped_table(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """Return a table of zeros in a new file, which the system keeps in memory as far as there is room.

    It begins at a page, so that kernels sum it as they do any other.
    """
    size = max(1, math.prod(shape) * dtype.itemsize)
    path.unlink(missing_ok=True)  # one that is mapped stays as it is
    with path.open("xb") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)  # else a full disk would end the process when rows are written
    return torch.from_numpy(np.memmap(path, dtype, "r+", shape=shape))
