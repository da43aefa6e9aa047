"""JSON-RPC over standard input and output, in which what is malformed is answered: a client would wait for ever."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

_LONGEST = 1 << 20  # characters of a malformed line in which its id is looked for


class StdioServer(MCPServer):
    """A server that answers each line of standard input."""

    async def run_stdio_async(self) -> None:
        """Serve until standard input ends."""
        async with stdio_server() as (lines, answers), anyio.create_task_group() as tasks:
            sending, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def check() -> None:
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server has ended
                    async with sending:
                        async for one in lines:
                            if not isinstance(one, Exception):
                                await sending.send(one)
                            elif (refusal := refusal_of(one)) is not None:
                                await answers.send(SessionMessage(refusal))

            tasks.start_soon(check)
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(messages, answers, options)
            tasks.cancel_scope.cancel()


def refusal_of(error: Exception) -> JSONRPCError | None:
    """Return what is said to a line that is no message, by the id that it has, as far as that can be read.

    Nothing is said to an empty line.
    """
    found: list[Any] = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    broken = not found or found[0]["type"] == "json_invalid"
    code, text = (PARSE_ERROR, "this is not JSON") if broken else (INVALID_REQUEST, "this is no message of JSON-RPC")
    sent = next((one["input"] for one in found if isinstance(one["input"], dict | str)), None)
    if isinstance(sent, str) and not sent.strip():
        return None
    if isinstance(sent, str) and len(sent) <= _LONGEST:
        with contextlib.suppress(ValueError, RecursionError):
            sent = json.loads(sent)  # of lone surrogates, Python takes more
    number = sent.get("id") if isinstance(sent, dict) else None
    known = isinstance(number, int | str) and not isinstance(number, bool)
    reason = found[0]["msg"] if found else str(error)
    return JSONRPCError(
        jsonrpc="2.0", id=number if known else None, error=ErrorData(code=code, message=f"{text}: {reason[:500]}")
    )
