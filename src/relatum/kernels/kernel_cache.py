"""Where compiled kernels are kept from one start to the next.

Numba keeps them as pickles: whoever can write these files runs code as whoever reads them. So they are kept only in a folder
that belongs to the user and that nobody else can write; without one, kernels are compiled at each start. A file that cannot
be read is made anew.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

from relatum.files import cache_directory
from relatum.memory import require_addresses
from relatum.progress import announce

_ROOM = 64 << 20  # bytes that loading or compiling a kernel may take


def keep_compiled(compiled: Any, function: Callable[..., Any]) -> None:
    """Have the code that is compiled of a function kept, if there is a folder for it."""
    folder, fault = _folder()
    if fault is not None:
        return
    previous = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
    try:
        compiled._cache = _KernelCache(function)  # type: ignore[no-untyped-call]  # what `njit(cache=True)` does, with a cache that mends itself
    finally:
        numba.config.CACHE_DIR = previous  # type: ignore[attr-defined]


def why_not_kept() -> str | None:
    """Return why compiled kernels are not kept; None where they are."""
    return _folder()[1]


def require_room() -> None:
    """Refuse to go on where a limit leaves too little memory: LLVM would end the process."""
    require_addresses(_ROOM)


class _KernelCache(FunctionCache):
    """A cache whose faults cost time and nothing else."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is kept for a signature, or None; what is damaged is forgotten."""
        require_room()
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except MemoryError:
            raise  # which says nothing of what is kept
        except Exception:  # whatever unpickling damaged bytes may raise
            announce("compiled kernels were damaged, and are made anew")
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if there is room."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


@cache
def _folder() -> tuple[Path, str | None]:
    """Return the folder of compiled kernels, and what is wrong with it, if anything is."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else cache_directory() / "numba"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        return folder, f"{folder}: {error.strerror}"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return folder, f"{folder} belongs to another user"
    if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return folder, f"others can write to {folder}; chmod go-w it"
    return folder, None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written"
