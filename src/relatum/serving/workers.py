"""The threads that work on answers: clients in turns, so much at once and no more."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from relatum.serving.errors import RequestError
from relatum.time_limit import Deadline, TimeOverError

_Found = TypeVar("_Found")
_RETRY_AFTER = 1  # seconds
_PAUSE = 0.5  # seconds until a client is refused of whom enough waits: it would come again at once
_TOO_MANY = "too many requests are at work; try again in a second"


@dataclass(eq=False, slots=True)
class _Piece:
    """Work for a client, and what it gives."""

    client: str
    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    clock: asyncio.Timeout
    deadline: Deadline | None = None  # from when it is begun

    def run(self, deadline: Deadline) -> Any:
        """Return what the work gives, until nobody waits for it."""
        with deadline:
            return self.work()


class Workers:
    """Threads that take clients in turns, take so much work at once, and refuse more.

    Work that takes too long is answered with a refusal, and given up where it next looks at the clock. So is work whose
    client has gone. Until then it counts as taken. All but the threads is on the event loop.

    Args:
        threads: that work for one client.
        most: pieces of work that are taken at once, at work or waiting; where there are more, the client of whom most wait
            loses the last.
        each: pieces of one client that may wait.
        seconds: after which a caller gets a refusal: that work may wait, and that it may take.
        others: threads beside, for clients who come while one has as many as it may.
    """

    def __init__(self, threads: int, most: int, each: int, seconds: float, others: int = 0) -> None:
        self.most, self._each, self._seconds = most, each, seconds
        self._of_one, self._threads = threads, threads + others
        self._waiting: dict[str, deque[_Piece]] = {}  # by client, whose turn it is first
        self._at_work = Counter[str]()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="relatum-answer")

    @property
    def taken(self) -> int:
        """How many pieces of work are at work or waiting."""
        return self._at_work.total() + sum(map(len, self._waiting.values()))

    async def run(self, client: str, work: Callable[[], _Found]) -> _Found:
        """Return what some work for a client gives; it runs in a thread, and an error that it raises is raised here."""
        if len(self._waiting.get(client, ())) >= self._each:
            await asyncio.sleep(_PAUSE)
        piece = _Piece(client, work, asyncio.get_running_loop().create_future(), asyncio.timeout(self._seconds))
        try:
            async with piece.clock:
                self._begin(piece)
                found: _Found = await piece.answer
                return found
        except (TimeoutError, TimeOverError) as error:
            if isinstance(error, TimeoutError) and not piece.clock.expired():  # it is the work's own
                raise
            text = (
                f"the answer takes longer than {self._seconds:g} seconds; ask for less, or start the server with --seconds"
            )
            raise RequestError(503, text, retry_after=_RETRY_AFTER) from None
        finally:
            with contextlib.suppress(KeyError, ValueError):  # what waits is not begun once nobody waits for it
                self._remove(piece)
            if piece.deadline is not None:
                piece.deadline.cancel()

    def _begin(self, piece: _Piece) -> None:
        """Begin a piece of work, or let it wait; where there is no room for it, refuse it or one of who has most."""
        own = len(self._waiting.get(piece.client, ()))
        longest = max(self._waiting.values(), key=len, default=deque[_Piece]())
        full = self.taken >= self.most
        if own >= self._each or (full and len(longest) <= own + 1):
            raise RequestError(503, _TOO_MANY, retry_after=_RETRY_AFTER)
        if full:
            last = longest[-1]
            self._remove(last)
            last.answer.set_exception(RequestError(503, _TOO_MANY, retry_after=_RETRY_AFTER))
        self._waiting.setdefault(piece.client, deque()).append(piece)
        self._take()

    def _remove(self, piece: _Piece) -> None:
        queue = self._waiting[piece.client]
        queue.remove(piece)
        if not queue:
            del self._waiting[piece.client]

    def _take(self) -> None:
        """Give threads that are free to clients in their turn."""
        while self._at_work.total() < self._threads:
            client = next((one for one in self._waiting if self._at_work[one] < self._of_one), None)
            if client is None:
                return
            queue = self._waiting.pop(client)
            piece = queue.popleft()
            if queue:
                self._waiting[client] = queue  # behind all others
            if piece.answer.done():  # its time is over
                continue
            self._at_work[client] += 1
            loop = piece.answer.get_loop()
            piece.clock.reschedule(loop.time() + self._seconds)

            def end(done: Future[Any], piece: _Piece = piece, loop: asyncio.AbstractEventLoop = loop) -> None:
                with contextlib.suppress(RuntimeError):  # a server that has stopped meanwhile needs it no more
                    loop.call_soon_threadsafe(self._end, piece, done)

            piece.deadline = Deadline(self._seconds)
            self._pool.submit(piece.run, piece.deadline).add_done_callback(end)

    def _end(self, piece: _Piece, done: Future[Any]) -> None:
        self._at_work[piece.client] -= 1
        self._at_work += Counter()  # without those who have none
        error = done.exception()
        if not piece.answer.done():
            if error is None:
                piece.answer.set_result(done.result())
            else:
                piece.answer.set_exception(error)
        self._take()

    def close(self) -> None:
        """Take no more work; what is at work ends by itself."""
        self._waiting.clear()
        self._pool.shutdown(wait=False)
