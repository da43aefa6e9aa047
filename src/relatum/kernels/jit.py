"""How kernels are compiled, and the exponential that they share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import event

from relatum.kernels.kernel_cache import keep_compiled, require_room, why_not_kept
from relatum.progress import announce
from relatum.time_limit import leave_out

TILE = 128  # how many candidates are computed side by side

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
    compiled: Callable[..., Any] = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath, forceinline=inline)(
        function
    )
    keep_compiled(compiled, function)
    return compiled


class _Compilation(event.Listener):
    """Says so when kernels are really compiled, and not read from the cache: that may take half a minute.

    One that others call is compiled while they are: the time of the outermost counts. Numba compiles on one thread at a
    time.
    """

    def __init__(self) -> None:
        self._depth, self._began = 0, 0.0

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._began = time.monotonic()
        self._depth += 1
        require_room()  # after this is counted: the end is told even of what is refused here
        fault = why_not_kept()
        announce(
            "compiling kernels, once per machine ..." if fault is None else f"compiling kernels, at each start: {fault}"
        )

    def on_end(self, event: event.Event) -> None:
        """Leave the time out of what searches may take; what comes next shows that it is over."""
        self._depth -= 1
        if self._depth == 0:
            leave_out(time.monotonic() - self._began)


event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]

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
