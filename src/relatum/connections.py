"""What connections to a server may take before their requests are looked at: bytes, time, and how many there may be.

httptools has no limits of its own, so this stands between sockets and uvicorn. A client that keeps the server waiting is
told so and let go. Where connections are full, the one that waits longest makes room: silent sockets keep nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections import OrderedDict
from typing import Any

import httptools
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

HEAD_BYTES = 1 << 16  # of a request's line and headers together
MOST_HEADERS = 100
MOST_CONNECTIONS = 1000  # fewer where the system allows fewer open files
HEAD_SECONDS = 10.0  # in which a request's head must come, counted from when the server was ready for it
BODY_SECONDS = 30.0  # in which all of a request must come, or a client take its answer

# By status, the code of what is refused for its form alone, and what it means.
REFUSALS = {
    400: ("bad-request", "the request cannot be used as it is"),
    408: ("too-slow", "the request takes too long to arrive"),
    413: ("body-too-long", "the body is too long"),
    414: ("address-too-long", "the address is too long"),
    431: ("head-too-long", "the request has too many headers, or too long ones"),
    503: ("overloaded", "too much is at work, or the answer takes too long"),
}

_PIECE = 1 << 12  # bytes that are looked at before they are counted
_MOST_PIPELINED = 16  # requests that a client may send before it has an answer
_LINGER = 1.0  # seconds in which a client that was refused may read why
_OWN_FILES = 64  # that are left to everything but connections
_TOLD_EVERY = 60.0  # seconds

_LOG = logging.getLogger("relatum.serving")


def refusal(status: int, code: str, error: str) -> bytes:
    """Return a refusal as JSON, in the shape that all addresses share."""
    return json.dumps(
        {"ok": False, "code": code, "error": error, "errors": [error], "status": status, "nearest": []}
    ).encode()


class Front:
    """The connections of a server; what uvicorn makes them by.

    Args:
        body_bytes: that the body of a request may have.
        seconds: in which a head must come; a whole request may take three times as long.
        files: that the process may have open; None asks the system.
    """

    def __init__(self, body_bytes: int, seconds: float = HEAD_SECONDS, files: int | None = None) -> None:
        left = max(16, (_open_files() if files is None else files) - _OWN_FILES)
        self.backlog = min(1024, left // 4)  # all that wait to be taken are taken at once
        self.most = min(MOST_CONNECTIONS, left - self.backlog)
        self.head_seconds, self.whole_seconds = seconds, seconds * BODY_SECONDS / HEAD_SECONDS
        self.rest_bytes = HEAD_BYTES + 2 * body_bytes  # chunks have heads of their own, and trailers are headers
        self.waiting: OrderedDict[Connection, None] = OrderedDict()  # for their clients, the longest first
        self._told = -_TOLD_EVERY

    def __call__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> Connection:
        """Return what a new connection talks to."""
        return Connection(self, config, server_state, app_state, _loop)

    def enter(self, connection: Connection) -> None:
        """Take a connection; where there are too many, another one goes, or this one if all others are at work."""
        self.waiting[connection] = None
        if len(connection.connections) <= self.most:
            return
        longest = next(iter(self.waiting))
        longest.refuse(503 if longest is connection else 408, linger=False)
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY:
            self._told = now
            _LOG.warning("there are more than %d connections: those that wait longest are closed", self.most)


class Connection(HttpToolsProtocol):
    """A connection that closes when its client keeps it waiting or sends too much."""

    def __init__(
        self,
        front: Front,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        super().__init__(config, server_state, app_state, loop)
        self._front = front
        self._taken = 0  # bytes of the request that is coming, since the last of its parts ended
        self._in_body = False
        # Seconds, as far as the server looked: what it stood still itself is not held against its clients.
        self._waited: float | None = 0.0  # for the client; None while the client waits
        self._looked = self.loop.time()
        self._unread = 0.0  # that an answer has been on its way
        self._refused: float | None = None  # since then nothing is read
        self._fault = 400
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to count."""
        super().connection_made(transport)
        self._front.enter(self)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        self._front.waiting.pop(self, None)
        if self._clock is not None:
            self._clock.cancel()

    def data_received(self, data: bytes) -> None:
        """Take bytes, a piece at a time, until it is too much."""
        for start in range(0, len(data), _PIECE):
            if self._refused is None:
                self._take(data[start : start + _PIECE])

    def _take(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._taken += len(data)
        if self.transport.is_closing():
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # nothing here is spoken but HTTP; the request is answered as any
            if self.cycle is not None:
                self.cycle.keep_alive = False
        except httptools.HttpParserError:
            self.refuse(self._fault)
            return
        if self.headers and len(self.headers) > 2 * MOST_HEADERS:  # with those behind a body
            self.refuse(431)
        elif self._taken > HEAD_BYTES and not self._in_body:
            self.refuse(414 if len(self.url) > HEAD_BYTES // 2 else 431)
        elif self._taken > self._front.rest_bytes:
            self.refuse(413)

    def on_headers_complete(self) -> None:
        """Hand on the request, whose body may be yet to come."""
        if len(self.headers) > MOST_HEADERS or len(self.pipeline) >= _MOST_PIPELINED:
            self._fault = 431
            raise OverflowError
        self._taken, self._in_body = 0, True
        if self._waited is None:
            self._wait()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Count on: now the client waits."""
        self._taken, self._in_body, self._waited = 0, False, None
        self._front.waiting.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; a client that is still sending this one is let go."""
        super().on_response_complete()
        if self.transport.is_closing() or self._refused is not None:
            return
        if self._in_body:
            self._let_go()
        elif self.cycle.response_complete:
            self._wait()

    def _wait(self) -> None:
        self._waited = 0.0
        self._front.waiting[self] = None

    def _look(self) -> None:
        """Look, a few times a patience, whether the client keeps the server waiting."""
        front, every, now = self._front, min(self._front.head_seconds / 4, _LINGER), self.loop.time()
        step, self._looked = min(now - self._looked, 2 * every), now
        self._unread = self._unread + step if self.transport.get_write_buffer_size() else 0.0
        if self._refused is not None:
            self._refused += step
        elif self._waited is not None and not self.flow.read_paused:
            self._waited += step
        if self._unread > front.whole_seconds or (self._refused or 0.0) > _LINGER:
            self.transport.abort()
        elif (self._waited or 0.0) > (front.whole_seconds if self._in_body else front.head_seconds):
            self.refuse(408)
        self._clock = self.loop.call_later(every, self._look)

    def refuse(self, status: int, *, linger: bool = True) -> None:
        """Say why the connection ends, as far as nothing else is being said, and end it."""
        cycle = self.cycle
        at_work = cycle is not None and not cycle.response_complete
        told = not self.pipeline and not (at_work and cycle.response_started)
        if status == 408 and not self._taken and not self._in_body:
            told = False  # it would be taken for the answer to what is sent next
        if at_work:
            cycle.disconnected = True
            cycle.message_event.set()
        if told and not self.transport.is_closing():
            self.transport.write(_reply(status, self.server_state.default_headers))
        if told and linger:
            self._let_go()
        elif self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()
            self._front.waiting.pop(self, None)

    def _let_go(self) -> None:
        """End the connection soon, and read no more of it: closed at once, what was said could be lost on its way."""
        self._unset_keepalive_if_required()
        self._taken, self._refused, self._waited = 0, 0.0, None
        self._front.waiting[self] = None
        self._front.waiting.move_to_end(self, last=False)
        with contextlib.suppress(NotImplementedError):
            self.transport.write_eof()
        self.flow.pause_reading()


def _reply(status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
    body = refusal(status, *REFUSALS[status])
    own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    if status == 503:
        own.append((b"retry-after", b"1"))
    lines = [name + b": " + value + b"\r\n" for name, value in (*headers, *own)]
    return STATUS_LINE[status] + b"".join(lines) + b"\r\n" + body


def _open_files() -> int:
    try:
        import resource
    except ImportError:  # not on Windows
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft
