"""A file for parsers that read files: written over by each input, one for each process."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["holding", "use"]

_folder = Path(tempfile.gettempdir())


def use(folder: Path) -> None:
    """Let files be in this folder, which whoever calls removes."""
    global _folder
    _folder = folder


def holding(content: bytes, ending: str = "") -> Path:
    """Return a file with this content, until the next call; its name ends so."""
    path, file = _opened(os.getpid(), ending)
    os.ftruncate(file, 0)
    os.pwrite(file, content, 0)
    return path


@cache
def _opened(process: int, ending: str) -> tuple[Path, int]:
    """Return a file that stays open, since opening takes longer than most parsers do."""
    path = _folder / f"input-{process}{ending}"
    return path, os.open(path, os.O_RDWR | os.O_CREAT)
