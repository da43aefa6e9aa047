"""Running the parts of a job on a pool of threads.

Kernels release the interpreter's lock, so threads of one process are enough; any number of callers may run kernels at
once. How a job is cut must depend on its size only, never on the number of threads: then one thread and many give the
same bits.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from relatum import memory
from relatum.errors import SettingError
from relatum.time_limit import check_time

_Found = TypeVar("_Found")

PARTS = 16  # into how many parts a job is cut at most
_DIGITS = 6  # of the number of threads
_OF_A_THREAD = 160 << 20  # bytes of addresses: its stack, and what the allocator sets aside for it

_local = threading.local()
_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_threads: int | None = None


def threads() -> int:
    """Return how many threads kernels use: `RELATUM_THREADS`, or one for each processor this process may run on.

    Where memory is limited there are fewer: Python waits for ever for a thread that had no room to begin.
    """
    room = memory.address_room()
    wanted = _wanted_threads()
    return wanted if room is None else max(1, min(wanted, room // _OF_A_THREAD))


def _wanted_threads() -> int:
    if _threads is not None:
        return _threads
    if wanted := os.environ.get("RELATUM_THREADS"):
        if not (wanted.isdecimal() and len(wanted) <= _DIGITS and int(wanted)):
            reason = f"must be a whole number from 1 up, not {wanted[:20]!r}"
            raise SettingError("setting-out-of-range", reason, place="RELATUM_THREADS")
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(number: int | None) -> None:
    """Use `number` threads from now on; None goes back to the default."""
    global _threads
    if number is not None and number < 1:
        raise ValueError(f"kernels need at least one thread, not {number}")
    with _lock:
        _threads = number
    _forget_pool()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Let the calling thread run its jobs by itself: for callers that are many threads already."""
    before = getattr(_local, "alone", False)
    _local.alone = True
    try:
        yield
    finally:
        _local.alone = before


def run(part: Callable[[int], None], count: int) -> None:
    """Call `part(0)` to `part(count - 1)`, side by side where there is more than one; the first error is raised."""
    check_time()
    if getattr(_local, "alone", False):
        for number in range(count):
            part(number)
        return
    numbers = itertools.count()

    def work() -> None:
        while (number := next(numbers)) < count:
            part(number)

    # The caller works too: a small job costs one hand-over, and a pool that is busy elsewhere holds up no caller.
    helpers = []
    try:
        for _ in range(min(threads(), count) - 1):
            helpers.append(_shared_pool().submit(work))
    except RuntimeError:  # no more threads may be started: those that are there do it, and this one
        pass
    work()
    for helper in helpers:
        helper.result()


@contextmanager
def pool_of_threads() -> Iterator[Executor]:
    """Yield a pool of its own, to map over; where only one thread may be used, that of the caller does all of it."""
    number = _startable(threads())
    with ThreadPoolExecutor(number) if number > 1 else _Caller() as pool:
        yield pool


class _Caller(Executor):
    """A pool without a thread of its own."""

    def map(self, fn: Callable[..., _Found], *iterables: Iterable[Any], **options: Any) -> Iterator[_Found]:
        """Return what comes of each, when it is asked for."""
        return map(fn, *iterables)


def _startable(number: int) -> int:
    """Return how many threads, of so many and at least one, the system lets this process start."""
    over, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(number if number > 1 else 0):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            started.append(thread)
    except RuntimeError:
        pass
    finally:
        over.set()
    for thread in started:
        thread.join()
    return max(len(started), 1)


def cuts(size: int, least: int = 1) -> list[tuple[int, int]]:
    """Return ranges of nearly equal length that cover 0 to size: few enough to be added up, many enough to share out.

    They are about `least` long or longer: less is not worth handing over.
    """
    parts = min(PARTS, -(-size // least))
    bounds = [size * number // parts for number in range(parts + 1)] if parts else []
    return list(itertools.pairwise(bounds))


def shares(size: int, least: int = 1) -> list[tuple[int, int]]:
    """Return ranges as `cuts` does, or a single one for a caller that is by itself: for work whose bits no cut can change.

    Each call of a kernel lets go of the interpreter's lock, and waits for it again behind others that want it.
    """
    return [(0, size)] if getattr(_local, "alone", False) and size else cuts(size, least)


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(threads(), thread_name_prefix="relatum-kernel")
        return _pool


def _forget_pool() -> None:
    """Drop the pool: a forked child has its parent's pool but none of its threads."""
    global _pool, _lock
    _lock = threading.Lock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
