"""The threads that work on answers, so much at once and no more."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from relatum.serving.errors import RequestError

_Found = TypeVar("_Found")
_RETRY_AFTER = 1  # seconds


class Workers:
    """A pool of threads that takes so much work at once and refuses more.

    A thread cannot be stopped from outside. Work that takes too long is answered with a refusal, but counts as taken until
    it ends; that it ends is up to the limits of time inside.

    Args:
        threads: that work.
        most: pieces of work that are taken at once, at work or waiting.
        seconds: after which a caller gets a refusal.
    """

    def __init__(self, threads: int, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self.taken = 0  # only the event loop writes it
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="relatum-answer")

    async def run(self, work: Callable[[], _Found]) -> _Found:
        """Return what some work gives; it runs in a thread, and an error that it raises is raised here."""
        if self.taken >= self.most:
            raise RequestError(503, "too many requests are at work; try again in a second", retry_after=_RETRY_AFTER)
        loop = asyncio.get_running_loop()

        def ended() -> None:
            self.taken -= 1

        def end(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # a server that has stopped meanwhile needs it no more
                loop.call_soon_threadsafe(ended)

        self.taken += 1
        at_work = self._pool.submit(work)
        at_work.add_done_callback(end)
        try:
            async with asyncio.timeout(self.seconds) as clock:
                return await asyncio.wrap_future(at_work)  # what waits is not begun once nobody waits for it
        except TimeoutError:
            if not clock.expired():  # it is the work's own
                raise
            text = f"the answer takes longer than {self.seconds:g} seconds; ask for less, or start the server with --seconds"
            raise RequestError(503, text, retry_after=_RETRY_AFTER) from None

    def close(self) -> None:
        """Take no more work; what is at work ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
