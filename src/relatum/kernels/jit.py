"""How kernels are compiled, where they are kept from one start to the next, and what they share.

Numba keeps them as pickles: whoever can write these files runs code as whoever reads them. So they are kept only in a folder
that belongs to the user and that nobody else can write; without one, kernels are compiled at each start. A file that cannot
be read is made anew.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache

from relatum.files import cache_directory
from relatum.memory import require_addresses
from relatum.progress import announce
from relatum.time_limit import leave_out

TILE = 128  # how many candidates are computed side by side
_ROOM = 64 << 20  # bytes that loading or compiling a kernel may take: with less, LLVM would end the process

_REORDERED = {"contract", "reassoc", "nsz", "arcp"}


def exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that does its arithmetic as written: the same numbers give the same bits wherever they stand."""
    return _compile(function, fastmath=False)


def strict_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an exact loop that other kernels call, as a part of each of them.

    As a function of its own it would stand in memory twice, optimised in two ways: by itself and within its caller. Which
    of the two runs, and with it the last bits, would depend on whether the caller was compiled just now or came from the
    cache.
    """
    return _compile(function, fastmath=False, inline=True)


def reordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop whose sums may be reordered, once and for all; NaN and infinity keep their meaning."""
    return _compile(function, fastmath=_REORDERED)


def fastmath_inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that other kernels call and whose sums may be reordered, as a part of each of them."""
    return _compile(function, fastmath=_REORDERED, inline=True)


def _compile(function: Callable[..., Any], fastmath: bool | set[str], *, inline: bool = False) -> Callable[..., Any]:
    """Return the function compiled at its first call; what is compiled is kept, if there is a folder for it."""
    compile_of = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath, forceinline=inline)
    compiled: Any = compile_of(function)
    folder, fault = _folder()
    if fault is None:
        previous = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
        try:  # what `njit(cache=True)` does, with a cache that mends itself
            compiled._cache = _KernelCache(function)  # type: ignore[no-untyped-call]
        finally:
            numba.config.CACHE_DIR = previous  # type: ignore[attr-defined]
    return compiled  # type: ignore[no-any-return]


class _KernelCache(FunctionCache):
    """A cache whose faults cost time and nothing else."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is kept for a signature, or None; what is damaged is forgotten."""
        require_addresses(_ROOM)
        began = time.monotonic()
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except MemoryError:
            raise  # which says nothing of what is kept
        except Exception:  # whatever unpickling damaged bytes may raise
            announce("compiled kernels were damaged, and are made anew")
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None
        finally:
            if not _compilation.at_work:  # reading comes once per process, as compiling does per machine
                leave_out(time.monotonic() - began)

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


class _Compilation(event.Listener):
    """Says so when kernels are really compiled, and not read from the cache: that may take half a minute.

    One that others call is compiled while they are: the time of the outermost counts. Numba compiles on one thread at a
    time.
    """

    def __init__(self) -> None:
        self._depth, self._began = 0, 0.0

    @property
    def at_work(self) -> bool:
        """Whether something is being compiled."""
        return self._depth > 0

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._began = time.monotonic()
        self._depth += 1
        require_addresses(_ROOM)  # after this is counted: the end is told even of what is refused here
        _, fault = _folder()
        announce(
            "compiling kernels, once per machine ..." if fault is None else f"compiling kernels, at each start: {fault}"
        )

    def on_end(self, event: event.Event) -> None:
        """Leave the time out of what searches may take; what comes next shows that it is over."""
        self._depth -= 1
        if self._depth == 0:
            leave_out(time.monotonic() - self._began)


_compilation = _Compilation()
event.register("numba:compile", _compilation)  # type: ignore[no-untyped-call]

_F = np.float32


@strict_inline
def exponentials(values, bits):  # type: ignore[no-untyped-def]
    """Replace values[n], each within +-87, by their exponentials, to the last two bits; `bits` is int32[n] of scratch.

    A polynomial over [-ln 2 / 2, ln 2 / 2] times a power of two that is put together from its bits.
    """
    power = bits.view(np.float32)
    for i in range(len(values)):
        n = np.floor(values[i] * _F(1.4426950408889634) + _F(0.5))
        bits[i] = (np.int32(n) + np.int32(127)) << np.int32(23)
        # ln 2 is taken in two parts, so that nothing is lost
        r = values[i] - n * _F(0.693145751953125) - n * _F(1.428606765330187e-06)
        p = _F(1.3888889e-3)
        p = p * r + _F(8.3333333e-3)
        p = p * r + _F(4.1666668e-2)
        p = p * r + _F(0.16666667)
        p = p * r + _F(0.5)
        p = p * r + _F(1)
        values[i] = p * r + _F(1)
    for i in range(len(values)):
        values[i] *= power[i]


@strict_inline
def lanes_of(values, start, width, lanes):  # type: ignore[no-untyped-def]
    """Fill lanes[n, TILE] with values[n, start : start + width], and with 0 behind these."""
    for q in range(len(values)):
        for e in range(width):
            lanes[q, e] = values[q, start + e]
        for e in range(width, TILE):
            lanes[q, e] = 0
