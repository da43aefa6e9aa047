"""A run served over MCP by a real process, and a client that checks every result against the tool's own schema."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
from mcp import Client
from mcp.types import TextContent

from relatum import Run
from relatum.mcp.tools import server_of

MALFORMED = {
    rb'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "score", "arguments": {"fact": "\ud800"}}}': 7,
    b'{"jsonrpc": "2.0", "id": 8, "method": "ping",}': None,
    b'{"jsonrpc": "2.0", "id": 9}': 9,
    b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}': None,
    b"[]": None,
    b"\xff\xfe": None,
    b"[" * 100_000: None,
}
"""Lines that are no messages of JSON-RPC, and by which id each is answered."""


def command(run: Path, *options: str) -> list[str]:
    """Return the command that serves a run."""
    return [sys.executable, "-m", "relatum", "mcp", str(run), *options]


def environment() -> dict[str, str]:
    """Return the environment of the server: that of the tests, on one thread."""
    return {**os.environ, "RELATUM_THREADS": "1"}


def asked(run: Run, work: Callable[[Caller], Awaitable[Any]]) -> Any:
    """Return what some work with a client gives that is connected to the tools of a run in this process."""

    async def main() -> Any:
        async with Client(server_of(run, "shop")) as client:
            return await work(Caller(client))

    return anyio.run(main)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def http_server(run: Path, *options: str) -> Iterator[str]:
    """Serve a run over HTTP, and yield its address once it is there."""
    port = free_port()
    given = command(run, "--http", "--port", str(port), *options)
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "serving" in line:
                    break
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server does not listen")


class Caller:
    """Calls tools through the official client; what comes back is checked against the tool's output schema."""

    def __init__(self, client: Client) -> None:
        self.client, self.calls = client, list[str]()
        self._schemas: dict[str, dict[str, Any]] = {}

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """Return the structured result of a tool."""
        if not self._schemas:
            listed = (await self.client.list_tools()).tools
            self._schemas = {one.name: one.output_schema or {} for one in listed}
        self.calls.append(tool)
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        jsonschema.validate(result.structured_content, self._schemas[tool])
        return result.structured_content

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Return the text with which a tool refuses."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        (content,) = result.content
        assert isinstance(content, TextContent)
        return content.text
