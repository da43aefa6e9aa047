"""How kernels are compiled: for this machine, when first called, and kept for the next time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba

from relatum.files import cache_directory

__all__ = ["TILE", "exact", "exact_part", "reordered", "reordered_part"]

TILE = 128  # how many candidates are computed side by side

_REORDERED = {"contract", "reassoc", "nsz", "arcp"}


def exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that does its arithmetic as written: the same numbers give the same bits wherever they stand."""
    return _compile(function, fastmath=False)


def exact_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an exact loop that other kernels call, as a part of each of them.

    As a function of its own it would stand in memory twice, optimised in two ways: by itself and within its caller. Which
    of the two runs, and with it the last bits, would depend on whether the caller was compiled just now or came from the
    cache.
    """
    return _compile(function, fastmath=False, inline=True)


def reordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop whose sums may be reordered, once and for all; NaN and infinity keep their meaning."""
    return _compile(function, fastmath=_REORDERED)


def reordered_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop that other kernels call and whose sums may be reordered, as a part of each of them."""
    return _compile(function, fastmath=_REORDERED, inline=True)


def _compile(function: Callable[..., Any], fastmath: bool | set[str], *, inline: bool = False) -> Callable[..., Any]:
    # Numba keeps compiled code as pickles. They belong where only the user writes, never beside the package.
    previous = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    if not os.environ.get("NUMBA_CACHE_DIR"):
        numba.config.CACHE_DIR = str(cache_directory() / "numba")  # type: ignore[attr-defined]
    try:
        compiled: Callable[..., Any] = numba.njit(
            nogil=True, cache=True, error_model="numpy", fastmath=fastmath, forceinline=inline
        )(function)
        return compiled
    finally:
        numba.config.CACHE_DIR = previous  # type: ignore[attr-defined]
