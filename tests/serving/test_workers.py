"""Work runs in threads, so much at once and no more, each piece within its time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from relatum.serving.errors import RequestError
from relatum.serving.workers import Workers


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Return a test that runs in an event loop."""
    return wraps(test)(lambda: asyncio.run(test()))


@in_loop
async def test_work_gives_what_it_returns_or_raises() -> None:
    def late() -> None:
        raise TimeoutError("its own")

    workers = Workers(2, 4, 5.0)
    assert await workers.run(lambda: threading.current_thread().name.startswith("relatum-answer"))
    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)
    with pytest.raises(TimeoutError, match="its own"):
        await workers.run(late)
    assert workers.taken == 0
    workers.close()


@in_loop
async def test_what_is_too_much_is_refused_at_once_and_taken_when_there_is_room() -> None:
    workers, gate = Workers(1, 2, 5.0), threading.Event()
    held = [asyncio.create_task(workers.run(gate.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(RequestError, match="too many requests") as caught:
        await workers.run(gate.wait)
    assert (caught.value.status, caught.value.retry_after) == (503, 1)
    gate.set()
    await asyncio.gather(*held)
    assert await workers.run(lambda: 7) == 7
    workers.close()


@in_loop
async def test_what_takes_too_long_is_refused_but_counts_until_it_ends() -> None:
    workers, gate = Workers(1, 1, 0.05), threading.Event()
    began = time.monotonic()
    with pytest.raises(RequestError, match=r"longer than 0\.05 seconds"):
        await workers.run(gate.wait)
    assert time.monotonic() - began < 2
    with pytest.raises(RequestError, match="too many"):
        await workers.run(gate.wait)
    gate.set()
    while workers.taken:
        await asyncio.sleep(0.01)
    assert await workers.run(lambda: 1) == 1
    workers.close()


@in_loop
async def test_work_whose_client_has_given_up_is_not_begun() -> None:
    workers, gate, began = Workers(1, 8, 5.0), threading.Event(), []
    first = asyncio.create_task(workers.run(gate.wait))
    second = asyncio.create_task(workers.run(lambda: began.append(1)))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    gate.set()
    await first
    while workers.taken:
        await asyncio.sleep(0.01)
    assert began == []
    workers.close()
