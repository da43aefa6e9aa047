"""What comes before a request is looked at costs neither memory nor others time; clients are told why they are let go."""

from __future__ import annotations

import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import repeat
from typing import Any

import pytest

from relatum.connections import HEAD_BYTES, MOST_HEADERS, REFUSALS, Front
from support.served import listening

BODY = 1 << 10
CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class App:
    """Answers with the length of the body, once it is let; counts what it was asked."""

    def __init__(self) -> None:
        self.asked, self.gate = 0, threading.Event()
        self.gate.set()
        self.long, self.stands_still = b"", 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        import asyncio

        if scope["type"] != "http":
            return
        self.asked += 1
        time.sleep(self.stands_still)  # with all that is served
        self.stands_still = 0.0
        body, more = b"", scope["method"] == "POST"
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        while not self.gate.is_set():
            await asyncio.sleep(0.01)
        said = self.long or str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(said))]})
        await send({"type": "http.response.body", "body": said})


@contextmanager
def connected(port: int, count: int = 1) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(count)]


def said(port: int, pieces: Iterable[bytes]) -> tuple[int, bytes, int]:
    """Return the status and body that a server says to some bytes until it closes, and how many of them it took."""
    with connected(port) as (client,):
        sent = 0
        try:
            for piece in pieces:
                client.sendall(piece)
                sent += len(piece)
        except ConnectionError:
            pass
        return (*answer(client), sent)


def answer(client: socket.socket) -> tuple[int, bytes]:
    """Return the status and body of what a server says until it closes; 0 for nothing."""
    found = b""
    try:
        while piece := client.recv(1 << 16):
            found += piece
    except ConnectionError:
        pass
    head, _, body = found.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


@pytest.mark.parametrize(
    ("status", "pieces"),
    [
        (414, [b"GET /", *repeat(b"a" * (1 << 16), 1600)]),
        (431, [b"GET / HTTP/1.1\r\n", *repeat(b"X-a: " + b"b" * 1000 + b"\r\n", 100_000)]),
        (431, [b"GET / HTTP/1.1\r\nX-a: ", *repeat(b"b" * (1 << 16), 1600)]),
        (431, [b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (MOST_HEADERS + 1) + b"\r\n"]),
        (413, [CHUNKED + b"x: ", *repeat(b"y" * (1 << 16), 1600)]),
        (431, [CHUNKED, *repeat(b"x: y\r\n" * 10_000, 1600)]),
        (400, [b"\x16\x03\x01\x00 what is this\r\n\r\n"]),
    ],
    ids=["address", "headers", "a header", "small headers", "a trailer", "trailers", "no HTTP"],
)
def test_what_is_too_long_is_refused_and_not_kept(status: int, pieces: list[bytes]) -> None:
    with listening(App(), Front(BODY)) as port:
        tracemalloc.start()
        try:
            found, body, sent = said(port, pieces)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert found == status
        assert (json.loads(body)["code"], json.loads(body)["status"]) == (REFUSALS[status][0], status)
        assert peak < 4 << 20, "of a hundred megabytes"
        assert sent < 50 << 20, "the rest is not even read"
        assert said(port, [GET[:-2] + b"Connection: close\r\n\r\n"])[:2] == (200, b"0")


@pytest.mark.parametrize("size", [1, HEAD_BYTES - 100])
def test_what_is_within_the_limits_is_answered(size: int) -> None:
    most = b"a: b\r\n" * (MOST_HEADERS - 2)
    with listening(App(), Front(BODY)) as port:
        long = b"GET / HTTP/1.1\r\nConnection: close\r\nX-a: " + b"b" * size + b"\r\n\r\n"
        many = b"POST / HTTP/1.1\r\nConnection: close\r\n" + most + b"Content-Length: %d\r\n\r\n" % BODY
        assert said(port, [long])[:2] == (200, b"0")
        assert said(port, [many, b"c" * BODY])[:2] == (200, str(BODY).encode())


@pytest.mark.parametrize(
    ("status", "begun"),
    [
        (0, b""),
        (408, b"\r\n"),
        (408, b"GET / HT"),
        (408, b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf"),
        (408, GET),
    ],
    ids=["nothing", "a line end", "half a line", "half a body", "half a second request"],
)
def test_who_keeps_the_server_waiting_is_let_go(status: int, begun: bytes) -> None:
    with listening(App(), Front(BODY, seconds=0.3)) as port, connected(port) as (client,):
        began = time.monotonic()
        client.sendall(begun)
        if begun.startswith(GET):
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
            client.sendall(begun[:8])
        assert answer(client)[0] == status
        assert time.monotonic() - began < 3


def test_a_byte_now_and_then_buys_no_time() -> None:
    with listening(App(), Front(BODY, seconds=0.5)) as port, connected(port) as (client,):
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - began < 20:
                client.sendall(b"\r\n")
                time.sleep(0.02)
        assert time.monotonic() - began < 5


def test_who_does_not_take_its_answer_is_let_go_and_who_waits_for_one_is_not() -> None:
    app = App()
    with listening(app, front := Front(BODY, seconds=0.2)) as port, connected(port) as (unread,):
        app.long = b"x" * (64 << 20)
        unread.sendall(GET)
        time.sleep(2)
        assert not front.waiting
        assert len(answer(unread)[1]) < 64 << 20
        app.long = b""
        app.gate.clear()
        with connected(port) as (patient,):
            patient.sendall(GET)
            time.sleep(1)
            app.gate.set()
            assert patient.recv(1 << 16).endswith(b"\r\n\r\n0")


def test_silent_connections_make_room_for_others_and_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    front = Front(BODY, files=128)
    with listening(App(), front) as port, connected(port, 3 * front.most) as silent:
        for _ in range(20):
            assert said(port, [GET[:-2] + b"Connection: close\r\n\r\n"])[:2] == (200, b"0")
        assert len(front.waiting) <= front.most
        assert answer(silent[0]) == (0, b"")
    assert [one.getMessage() for one in caplog.records if one.name == "relatum.serving"] == [
        f"there are more than {front.most} connections: those that wait longest are closed"
    ]


def test_connections_that_are_all_at_work_are_kept_and_another_is_refused() -> None:
    app, front = App(), Front(BODY, files=96)
    app.gate.clear()
    with listening(app, front) as port, connected(port, front.most) as busy:
        for client in busy:
            client.sendall(GET)
        while app.asked < front.most:
            time.sleep(0.01)
        assert said(port, [])[0] == 503
        app.gate.set()
        assert all(client.recv(1 << 16).startswith(b"HTTP/1.1 200") for client in busy)


def test_requests_that_do_not_wait_for_their_answers_are_few() -> None:
    app = App()
    app.gate.clear()
    with listening(app, Front(BODY)) as port, connected(port) as (client,):
        client.sendall(GET * 10)
        app.gate.set()
        found = b""
        while found.count(b"HTTP/1.1 200") < 10:
            found += client.recv(1 << 16)
        app.gate.clear()
        client.sendall(GET * 9000)
        assert answer(client) == (0, b"")
        app.gate.set()
    assert app.asked <= 11


def test_a_server_that_stood_still_does_not_hold_it_against_its_clients() -> None:
    app = App()
    with listening(app, Front(BODY, seconds=0.5)) as port, connected(port, 2) as (blocking, client):
        app.stands_still = 2.0
        blocking.sendall(GET)
        while not app.asked:
            time.sleep(0.01)
        client.sendall(GET)  # while it does not look
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
