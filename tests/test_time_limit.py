"""Limits of time: what counts, what does not, and what a part may take."""

from __future__ import annotations

import threading
import time

import numba
import numpy as np
import pytest

import relatum.kernels.jit  # noqa: F401  it listens to the compiler
from relatum.time_limit import Deadline, TimeOverError, check_time, held, leave_out, unhurried
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


def test_work_is_given_up_after_the_end_of_its_searches() -> None:
    check_time()  # without a deadline nothing is
    with Deadline(100) as deadline:
        leave_out(-101)
        try:
            assert deadline.reached()  # a search ends, and what it has found can be told
            check_time()
            leave_out(-30)
            with mistake("time-over"):
                check_time()
            with mistake("time-over"):
                Deadline(3600).reached()
            with unhurried():
                check_time()
        finally:
            leave_out(131)
    check_time()


def test_a_deadline_ends_with_the_one_around_it() -> None:
    with Deadline(10), Deadline(3600) as inner, Deadline() as own:
        leave_out(-11)
        try:
            assert inner.reached()
            assert not own.reached()  # what has no end of its own is only given up
        finally:
            leave_out(11)


def test_work_that_is_cancelled_is_given_up_in_its_thread_alone() -> None:
    deadline, at_work, told = Deadline(3600), threading.Event(), list[str]()

    def work() -> None:
        try:
            with deadline, Deadline(60):
                while True:
                    at_work.set()
                    check_time()
        except TimeOverError as error:
            told.append(error.code)

    thread = threading.Thread(target=work)
    thread.start()
    at_work.wait()
    check_time()
    deadline.cancel()
    thread.join(60)
    assert told == ["time-over"]


def test_a_lock_is_waited_for_no_longer_than_there_is_time() -> None:
    lock = threading.Lock()
    with held(lock), mistake("time-over"), Deadline(0.05), held(lock):
        pass
    with Deadline(60), held(lock):
        assert lock.locked()
    assert not lock.locked()


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
