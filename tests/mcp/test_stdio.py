"""Every line of standard input is answered, and a ping at once, whatever is at work."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.mcp_server import MALFORMED, command, environment

COSTLY = "SELECT a.buyer FROM sold a JOIN sold b ON a.seller = b.buyer JOIN bought c ON b.seller = c.buyer JOIN sold d ON"
COSTLY += " c.item = d.item JOIN bought e ON d.seller = e.buyer JOIN sold f ON e.buyer = f.seller WHERE NOT known"


class Asked:
    """A server and the lines between it and its client."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def call(self, number: int, method: str, **parameters: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode())

    def answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def asked(example_run: Path) -> Iterator[Asked]:
    with subprocess.Popen(command(example_run), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        found = Asked(process)
        client = {"name": "test", "version": "1"}
        found.call(1, "initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo=client)
        assert found.answer()["id"] == 1
        found.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        yield found
        process.kill()


@pytest.mark.parametrize(("line", "number"), MALFORMED.items())
def test_what_is_malformed_is_answered(asked: Asked, line: bytes, number: int | None) -> None:
    asked.send(b"")
    asked.send(line)
    found = asked.answer()
    assert found["id"] == number
    assert found["error"]["code"] in (-32700, -32600)


def test_a_ping_is_answered_while_much_is_at_work(asked: Asked) -> None:
    for number in range(60):
        asked.call(100 + number, "tools/call", name="query", arguments={"text": COSTLY, "k": 1000, "seconds": 2})
    for number in range(10, 15):
        time.sleep(0.5)
        began = time.monotonic()
        asked.call(number, "ping")
        while asked.answer()["id"] != number:
            pass
        assert time.monotonic() - began < 2
