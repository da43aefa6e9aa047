"""A request is answered for as long as its client waits."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest
from starlette.types import Message, Receive, Scope, Send

from relatum.serving.attended import Attended


async def _ask(messages: list[Message | Exception | None], answered: list[str]) -> None:
    """Send messages to an app that reads the body and then works for ever, None being that no more comes."""
    given = iter(messages)

    async def receive() -> Message:
        await asyncio.sleep(0)
        message = next(given, None)
        if isinstance(message, Exception):
            raise message
        return message or await asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        more = True
        while more:
            message = await receive()
            answered.append(message.get("body", b"").decode())
            more = message.get("more_body", False)
        try:
            await asyncio.sleep(0.2)
        except asyncio.CancelledError:
            answered.append("given up")
            raise
        answered.append("answered")

    async def send(message: Message) -> None:
        raise AssertionError

    await Attended(app)({"type": "http"}, receive, send)


_BODY: list[Message | Exception | None] = [{"type": "http.request", "body": b"a", "more_body": True}]
_BODY += [{"type": "http.request", "body": b"b"}]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([*_BODY, None], ["a", "b", "answered"]),
        ([*_BODY, {"type": "http.disconnect"}], ["a", "b", "given up"]),
        ([_BODY[0], ZeroDivisionError()], ["a"]),
    ],
    ids=["a client that waits", "one that has gone", "one whose body is wrong"],
)
def test_work_is_done_for_a_client_that_waits(messages: list[Message | Exception | None], said: list[str]) -> None:
    answered = list[str]()
    with pytest.raises(ZeroDivisionError) if said == ["a"] else nullcontext():
        asyncio.run(_ask(messages, answered))
    assert answered == said
