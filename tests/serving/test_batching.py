"""Questions that come while all threads are busy are answered together, each with its own answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from relatum.serving.batching import Batcher
from relatum.serving.errors import RequestError
from relatum.serving.workers import Workers


class Answering:
    """Doubles numbers; the first batch waits for a gate, and 13 fails."""

    def __init__(self) -> None:
        self.gate, self.batches = threading.Event(), list[tuple[str, list[int]]]()

    def __call__(self, sort: str, questions: Sequence[int]) -> list[int | Exception]:
        self.batches.append((sort, list(questions)))
        self.gate.wait(5)
        return [ValueError("thirteen") if one == 13 else 2 * one for one in questions]


def test_one_question_goes_alone_and_those_that_wait_go_together() -> None:
    async def main() -> None:
        answering, workers = Answering(), Workers(1, 200, 5.0)
        batcher: Batcher[str, int, int] = Batcher(workers, answering)
        futures = [batcher.ask("a", 0), *(batcher.ask("a" if number % 2 else "b", number) for number in range(1, 13))]
        answering.gate.set()
        assert await asyncio.gather(*futures) == [2 * number for number in range(13)]
        assert answering.batches == [("a", [0]), ("a", [1, 3, 5, 7, 9, 11]), ("b", [2, 4, 6, 8, 10, 12])]
        assert (batcher.batches, batcher.answered, workers.taken) == (3, 13, 0)
        workers.close()

    asyncio.run(main())


def test_an_error_is_that_of_its_question_alone() -> None:
    async def main() -> None:
        answering, workers = Answering(), Workers(1, 200, 5.0)
        batcher: Batcher[str, int, int] = Batcher(workers, answering)
        first, wrong, last = batcher.ask("a", 1), batcher.ask("a", 13), batcher.ask("a", 2)
        answering.gate.set()
        assert (await first, await last) == (2, 4)
        with pytest.raises(ValueError, match="thirteen"):
            await wrong
        workers.close()

    asyncio.run(main())


def test_a_batch_that_fails_as_a_whole_fails_each_question() -> None:
    async def main() -> None:
        def broken(sort: str, questions: Sequence[int]) -> list[int | Exception]:
            raise RuntimeError("broken")

        workers = Workers(1, 200, 5.0)
        batcher: Batcher[str, int, int] = Batcher(workers, broken)
        for future in [batcher.ask("a", 1), batcher.ask("a", 2)]:
            with pytest.raises(RuntimeError, match="broken"):
                await future
        assert workers.taken == 0
        workers.close()

    asyncio.run(main())


def test_too_many_are_refused_and_no_batch_is_larger_than_64() -> None:
    async def main() -> None:
        answering, workers = Answering(), Workers(1, 150, 5.0)
        batcher: Batcher[str, int, int] = Batcher(workers, answering)
        futures = [batcher.ask("a", 0) for _ in range(150)]
        with pytest.raises(RequestError, match="too many"):
            batcher.ask("a", 0)
        answering.gate.set()
        await asyncio.gather(*futures)
        assert [len(questions) for _, questions in answering.batches] == [1, 64, 64, 21]
        workers.close()

    asyncio.run(main())


def test_what_waits_too_long_is_refused_and_left_out() -> None:
    async def main() -> None:
        answering, workers = Answering(), Workers(1, 150, 0.05)
        batcher: Batcher[str, int, int] = Batcher(workers, answering)
        first, second = batcher.ask("a", 1), batcher.ask("a", 2)
        for one in (first, second):
            with pytest.raises(RequestError, match="longer than"):
                await one
        answering.gate.set()
        while workers.taken:
            await asyncio.sleep(0.01)
        assert await batcher.ask("a", 4) == 8
        assert answering.batches[-1] == ("a", [4])
        workers.close()

    asyncio.run(main())
