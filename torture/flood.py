"""`python -m torture.flood PORT SEED FIRST COUNT SOCKETS`: slow, endless and half requests to a server on loopback.

On standard output comes a line of JSON: by kind, how many there were, how long one was held at most, and what went wrong.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from collections.abc import Callable, Iterator

Pieces = Iterator[bytes]

LONGEST = 60.0  # seconds that the server may hold a connection that keeps it waiting
MOST = 4 << 20  # bytes of a request without end
EXPECTED = {200, 303, 400, 404, 405, 408, 413, 414, 421, 431, 503}
VALID = (
    b"GET /run/entity/drew HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nUser-Agent: flood\r\n\r\n",
    b"POST /run/what_if.json HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n{",
    b"GET /-/health HTTP/1.1\r\nHost: evil.example\r\n\r\n",
)


def _without_end(start: bytes, piece: bytes) -> Pieces:
    return itertools.chain([start], itertools.repeat(piece, MOST // len(piece)))


KINDS: dict[str, tuple[int, Callable[[random.Random], Pieces]]] = {
    # How often, and what is sent.
    "half a request": (60, lambda rng: iter([(one := rng.choice(VALID))[: rng.randrange(1, len(one))]])),
    "a request for another host": (10, lambda rng: iter([VALID[2]])),
    "no HTTP": (8, lambda rng: iter([rng.randbytes(rng.randrange(1, 3000))])),
    "an address without end": (4, lambda rng: _without_end(b"GET /", b"a" * 65536)),
    "a header without end": (4, lambda rng: _without_end(VALID[0][:-2] + b"X-A: ", b"b" * 65536)),
    "headers without end": (4, lambda rng: _without_end(VALID[0][:-2], b"X-A: " + b"b" * rng.randrange(1, 9000) + b"\r\n")),
    "a body without end": (3, lambda rng: _without_end(VALID[1].replace(b"Length: 40", b"Length: 999999999"), b" " * 65536)),
    "trailers without end": (
        3,
        lambda rng: _without_end(
            VALID[1].replace(b"Content-Length: 40\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n0\r\n"), b"X: y\r\n" * 5000
        ),
    ),
    "requests that do not wait": (3, lambda rng: iter([VALID[2] * 2000])),
    "a byte now and then": (1, lambda rng: iter([bytes([one]) for one in VALID[0][:-2] + b"X" * 1000])),
}
SLOW = "a byte now and then"


class Flood:
    """So many requests from so many sockets, and what came of them."""

    def __init__(self, port: int, seed: int, first: int, count: int, sockets: int) -> None:
        self._port, self._seed, self._sockets = port, seed, sockets
        self._numbers = iter(range(first, first + count))
        self.found: dict[str, dict[str, float]] = {kind: {"tried": 0, "slowest": 0.0} for kind in KINDS}
        self.faults: list[tuple[str, int, str]] = []

    async def run(self) -> None:
        """Send all of them."""
        await asyncio.gather(*(self._client() for _ in range(self._sockets)))

    async def _client(self) -> None:
        for number in self._numbers:
            rng = random.Random(f"server {self._seed} {number}")
            kind = rng.choices(list(KINDS), [share for share, _ in KINDS.values()])[0]
            began = time.monotonic()
            try:
                async with asyncio.timeout(LONGEST):
                    fault = await self._send(kind, KINDS[kind][1](rng), rng)
            except TimeoutError:
                fault = "the server did not let go"
            except OSError as error:
                fault = f"no connection: {error}"
            taken = time.monotonic() - began
            one = self.found[kind]
            one["tried"] += 1
            one["slowest"] = max(one["slowest"], taken)
            if fault or taken > LONGEST:
                self.faults.append((kind, number, fault or f"held for {taken:.1f} s"))

    async def _send(self, kind: str, pieces: Pieces, rng: random.Random) -> str | None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            try:
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    if kind == SLOW:
                        await asyncio.sleep(0.3)
                if kind != "half a request" or rng.random() < 0.02:  # most leave at once
                    return _fault(await reader.read(4096))
            except ConnectionError:
                pass
            return None
        finally:
            writer.transport.abort()


def _fault(said: bytes) -> str | None:
    if not said:
        return None
    status = said.split(b" ", 2)[1:2]
    return None if status and status[0].isdigit() and int(status[0]) in EXPECTED else f"said {said[:80]!r}"


def main() -> None:
    """Send what is asked for, and say what came of it."""
    flood = Flood(*map(int, sys.argv[1:]))
    asyncio.run(flood.run())
    print(json.dumps({"kinds": flood.found, "faults": flood.faults}))


if __name__ == "__main__":
    main()
