"""Answers that were given lately, as they were sent: the same question is not worked out twice."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable

__all__ = ["AnswerCache"]

_MOST_BYTES = 128 << 20


class AnswerCache:
    """The bodies of answers by question, of one run at a time: with another run all are forgotten.

    Only the event loop uses it.

    Args:
        most: bytes that they may take together; the least lately wanted go first.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()
        self._run: weakref.ref[object] | None = None

    def __len__(self) -> int:
        return len(self._bodies)

    def get(self, run: object, question: Hashable) -> bytes | None:
        """Return the body of an answer of a run, or None."""
        if self._run is None or self._run() is not run:
            return None
        body = self._bodies.get(question)
        if body is not None:
            self._bodies.move_to_end(question)
        return body

    def put(self, run: object, question: Hashable, body: bytes) -> None:
        """Keep the body of an answer of a run."""
        if self._run is None or self._run() is not run:
            self._bodies.clear()
            self._run, self._bytes = weakref.ref(run), 0
        self._bytes += len(body) - len(self._bodies.pop(question, b""))
        self._bodies[question] = body
        while self._bytes > self._most:
            self._bytes -= len(self._bodies.popitem(last=False)[1])
