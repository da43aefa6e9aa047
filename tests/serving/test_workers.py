"""Work runs in threads, clients in turns, so much at once and no more, each piece within its time."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any

import pytest

from relatum.serving.errors import RequestError
from relatum.serving.workers import Workers
from relatum.time_limit import check_time


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Return a test that runs in an event loop."""
    return wraps(test)(lambda: asyncio.run(test()))


@in_loop
async def test_work_gives_what_it_returns_or_raises() -> None:
    def late() -> None:
        raise TimeoutError("its own")

    workers = Workers(2, 4, 4, 5.0)
    assert await workers.run("a", lambda: threading.current_thread().name.startswith("relatum-answer"))
    with pytest.raises(ZeroDivisionError):
        await workers.run("a", lambda: 1 // 0)
    with pytest.raises(TimeoutError, match="its own"):
        await workers.run("a", late)
    assert workers.taken == 0
    workers.close()


@in_loop
async def test_what_is_too_much_is_refused_at_once_and_taken_when_there_is_room() -> None:
    workers, gate = Workers(1, 2, 2, 5.0), threading.Event()
    held = [asyncio.create_task(workers.run("a", gate.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(RequestError, match="too many requests") as caught:
        await workers.run("a", gate.wait)
    assert (caught.value.status, caught.value.retry_after) == (503, 1)
    gate.set()
    await asyncio.gather(*held)
    assert await workers.run("a", lambda: 7) == 7
    workers.close()


@in_loop
async def test_what_nobody_waits_for_any_more_is_given_up() -> None:
    def endless() -> None:
        began.release()
        while True:
            check_time()

    began = threading.Semaphore(0)
    refusing, patient = Workers(1, 1, 1, 0.05), Workers(1, 1, 1, 3600.0)
    with pytest.raises(RequestError):
        await refusing.run("a", endless)
    gone = asyncio.create_task(patient.run("a", endless))
    while not began.acquire(blocking=False):
        await asyncio.sleep(0.01)
    gone.cancel()
    for workers in (refusing, patient):
        while workers.taken:
            await asyncio.sleep(0.01)
        assert await workers.run("a", lambda: 7) == 7
        workers.close()


@in_loop
async def test_what_takes_too_long_is_refused_but_counts_until_it_ends() -> None:
    workers, gate = Workers(1, 1, 1, 0.5), threading.Event()
    began = time.monotonic()
    with pytest.raises(RequestError, match=r"longer than 0\.5 seconds"):
        await workers.run("a", gate.wait)
    assert time.monotonic() - began < 2
    with pytest.raises(RequestError, match="too many"):
        await workers.run("a", gate.wait)
    gate.set()
    while workers.taken:
        await asyncio.sleep(0.01)
    assert await workers.run("a", lambda: 1) == 1
    workers.close()


@in_loop
async def test_the_time_that_work_may_take_begins_with_it() -> None:
    workers = Workers(1, 9, 9, 0.4)
    assert await asyncio.gather(*(workers.run("a", partial(time.sleep, 0.3)) for _ in range(2))) == [None, None]
    with pytest.raises(RequestError, match=r"longer than 0\.4 seconds"):
        await asyncio.gather(*(workers.run("a", partial(time.sleep, 0.3)) for _ in range(3)))
    workers.close()


@in_loop
async def test_work_whose_client_has_given_up_is_not_begun() -> None:
    workers, gate, began = Workers(1, 8, 8, 5.0), threading.Event(), []
    first = asyncio.create_task(workers.run("a", gate.wait))
    second = asyncio.create_task(workers.run("a", lambda: began.append(1)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    gate.set()
    await first
    while workers.taken:
        await asyncio.sleep(0.01)
    assert began == []
    workers.close()


@in_loop
async def test_clients_take_turns_whatever_each_of_them_wants() -> None:
    rng = random.Random(7)
    wanted = [rng.choice("aaaaaaaaabbc") for _ in range(60)]
    workers, gate, begun = Workers(1, 99, 99, 5.0), threading.Event(), list[str]()
    held = [asyncio.create_task(workers.run("a", gate.wait))]
    await asyncio.sleep(0)
    held += [asyncio.create_task(workers.run(one, partial(begun.append, one))) for one in wanted]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*held)
    left = Counter(wanted)
    while begun:  # in each turn everyone of whom something waits comes once
        turn = [begun.pop(0) for _ in +left]
        assert sorted(turn) == sorted(+left)
        left -= Counter(turn)
    assert not left
    workers.close()


@in_loop
async def test_a_client_does_not_take_the_threads_of_others() -> None:
    workers, gate = Workers(2, 99, 99, 5.0, others=1), threading.Event()
    held = [asyncio.create_task(workers.run("a", gate.wait)) for _ in range(9)]
    await asyncio.sleep(0)
    assert await workers.run("b", lambda: 7) == 7
    assert workers.taken == 9
    gate.set()
    await asyncio.gather(*held)
    workers.close()


@in_loop
async def test_who_waits_most_makes_room_and_nobody_waits_for_more_than_its_share() -> None:
    workers, gate = Workers(1, 10, 8, 5.0), threading.Event()
    held = [asyncio.create_task(workers.run("a", gate.wait)) for _ in range(12)]
    while not any(one.done() for one in held):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.05)
    assert [one.done() for one in held] == [False] * 9 + [True] * 3, "one is at work and eight wait"
    held += [asyncio.create_task(workers.run(one, lambda: True)) for one in "bbbbbb"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert workers.taken == 10
    gate.set()
    found = await asyncio.gather(*held, return_exceptions=True)
    refused = [isinstance(one, RequestError) for one in found]
    assert (refused[:12].count(False), refused[12:].count(False)) == (6, 4), "of the ten, as many wait of each"
    workers.close()
