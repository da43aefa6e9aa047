"""Limits of time: what counts, what does not, and what a part may take."""

from __future__ import annotations

import time

import numba
import numpy as np
import pytest

import relatum.kernels.jit  # noqa: F401  it listens to the compiler
from relatum.time_limit import Deadline, leave_out
from support.mistakes import mistake


def test_a_limit_is_reached_when_its_time_is_over() -> None:
    limit = Deadline(0.05)
    assert not limit.reached()
    assert not limit.stopped
    time.sleep(0.06)
    assert limit.reached()
    assert limit.stopped


def test_without_seconds_there_is_no_end() -> None:
    limit = Deadline()
    leave_out(-1e9)
    try:
        assert not limit.reached()
        assert not limit.part(0.5).reached()
    finally:
        leave_out(1e9)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_limit_is_above_zero(seconds: float) -> None:
    with mistake("setting-out-of-range"):
        Deadline(seconds)


def test_a_part_ends_before_the_whole_and_tells_it() -> None:
    whole = Deadline(3600)
    part = whole.part(0.5)
    leave_out(-2000)  # as if so many seconds had passed
    try:
        assert part.reached()
        assert whole.stopped
        assert not whole.reached()
    finally:
        leave_out(2000)


def test_compiling_does_not_count() -> None:
    @numba.njit
    def inner(values):  # type: ignore[no-untyped-def]
        return np.sort(values)[::2].sum()

    @numba.njit
    def outer(values):  # type: ignore[no-untyped-def]
        return inner(values) + inner(values * 2)

    told: list[int] = []
    limit, began = Deadline(0.4, told.append), time.monotonic()
    outer(np.arange(6.0))
    while (taken := time.monotonic() - began) < 1:
        outer.recompile()
    assert not limit.reached(), taken
    assert sum(told) < 400
