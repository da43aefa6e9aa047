"""A run is served by a real process, over standard input and output and over HTTP, to those who may ask."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from relatum.listening import is_loopback
from relatum.mcp.tools import TOOLS
from support.command_line import Relatum
from support.mcp_server import MALFORMED, Caller, command, environment, http_server
from support.mistakes import code_of

TOKEN = "a token of the tests"  # noqa: S105


@pytest.fixture(scope="module")
def address(example_run: Path) -> Iterator[str]:
    """Yield the address of a server on this machine."""
    with http_server(example_run) as found:
        yield found


async def ask(client: Client) -> None:
    """List the tools, and call two of them; that all answer is tested in one process."""
    assert tuple(one.name for one in (await client.list_tools()).tools) == TOOLS
    call = Caller(client)
    assert (await call("complete", question="sold(drew, ?, book)"))["answers"]
    assert (await call("rules", relation="sold"))["soft"]


def test_tools_are_called_over_standard_input_and_output(example_run: Path) -> None:
    first, *rest = command(example_run)

    async def main() -> None:
        async with Client(StdioServerParameters(command=first, args=rest, env=environment())) as client:
            await ask(client)

    anyio.run(main)


def test_tools_are_called_over_http(address: str) -> None:
    async def main() -> None:
        async with Client(address) as client:
            await ask(client)

    anyio.run(main)


def status(address: str, **headers: str) -> int:
    """Return the status of a request to an address with some headers."""
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    wanted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(address, body, wanted)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as found:  # noqa: S310
            return int(found.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("body", MALFORMED)
def test_what_is_malformed_is_answered_over_http(address: str, body: bytes) -> None:
    accepted = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, body, accepted)  # noqa: S310
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=30)  # noqa: S310
    with caught.value as answer:
        assert answer.code == 400
        assert json.loads(answer.read())["error"]["code"] in (-32700, -32600, -32602)


def test_another_host_or_origin_is_refused(address: str) -> None:
    assert status(address) not in (403, 421)
    assert status(address, Host="evil.example") in (403, 421)
    assert status(address, Origin="http://evil.example") == 403


def test_without_the_token_nothing_is_answered(example_run: Path) -> None:
    with http_server(example_run, "--token", TOKEN) as address:
        assert status(address) == 401
        assert status(address, Authorization="Bearer wrong") == 401
        assert status(address, Authorization=f"Bearer {TOKEN}") not in (401, 403)


def test_loopback_is_told_from_the_rest() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.0.1", "::", "example.org")))  # noqa: S104


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--port", "80"), "option-needs-option"),
        (("--http", "--token", "short"), "unusable-token"),
    ],
)
def test_a_mistake_is_one_line(run: Relatum, example_run: Path, options: tuple[str, ...], text: str) -> None:
    code, out, err = run("mcp", str(example_run), *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert code_of(err) == text
