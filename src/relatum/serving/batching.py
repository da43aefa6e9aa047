"""Simultaneous questions of one sort go to the kernels together.

Nothing waits for others to come: while all threads are busy, questions queue up, and the next thread that is free takes all
of one sort at once. One question alone is answered at once, by itself.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from relatum.serving.workers import Workers

__all__ = ["Batcher"]

_Sort = TypeVar("_Sort", bound=Hashable)
_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")

_MOST = 64  # questions that are answered at once


class Batcher(Generic[_Sort, _Question, _Answer]):
    """Answers questions in groups, as they come.

    Args:
        workers: the threads that answer, and how many questions are taken at once.
        answer: returns the answer, or the error, to each question of one sort; it runs in a thread.
    """

    def __init__(
        self, workers: Workers, answer: Callable[[_Sort, Sequence[_Question]], Sequence[_Answer | Exception]]
    ) -> None:
        self._workers, self._answer = workers, answer
        self._waiting: OrderedDict[_Sort, list[tuple[_Question, asyncio.Future[_Answer]]]] = OrderedDict()
        self._count = self._busy = 0  # questions that wait; threads at work
        self.batches = self.answered = 0

    def ask(self, sort: _Sort, question: _Question) -> asyncio.Future[_Answer]:
        """Return the future answer to a question; what is too much at once is refused here and now."""
        workers = self._workers
        if workers.taken + self._count >= workers.most:
            raise workers.too_many()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[_Answer] = loop.create_future()
        clock = loop.call_later(workers.seconds, workers.expire, found)
        found.add_done_callback(lambda _: clock.cancel())
        self._waiting.setdefault(sort, []).append((question, found))
        self._count += 1
        if self._busy < workers.threads:
            self._start(loop)
        return found

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give the questions that have waited longest, and others of their sort, to a thread."""
        sort, queue = next(iter(self._waiting.items()))
        taken = queue[:_MOST]
        if len(queue) > _MOST:
            self._waiting[sort] = queue[_MOST:]
            self._waiting.move_to_end(sort)
        else:
            del self._waiting[sort]
        self._count -= len(taken)
        wanted = [one for one in taken if not one[1].done()]  # not those that have waited too long
        self._busy += 1
        self._workers.taken += len(wanted)

        def work() -> None:
            try:
                found: Sequence[_Answer | Exception] = self._answer(sort, [question for question, _ in wanted])
            except Exception as error:
                found = [error] * len(wanted)
            self._workers.deliver(loop, self._done, loop, wanted, found)

        self._workers.submit(work)

    def _done(
        self,
        loop: asyncio.AbstractEventLoop,
        wanted: list[tuple[_Question, asyncio.Future[_Answer]]],
        found: Sequence[_Answer | Exception],
    ) -> None:
        self._busy -= 1
        self._workers.taken -= len(wanted)
        self.batches += 1
        self.answered += len(wanted)
        for (_, future), one in zip(wanted, found, strict=True):
            if future.done():
                continue
            if isinstance(one, Exception):
                future.set_exception(one)
            else:
                future.set_result(one)
        if self._waiting:
            self._start(loop)
