"""A request is answered for as long as its client waits."""

from __future__ import annotations

import asyncio

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


_BODY: list[Message | Exception | None] = [
    {"type": "http.request", "body": b"a", "more_body": True},
    {"type": "http.request", "body": b"b"},
]


def test_what_a_client_has_sent_reaches_what_answers() -> None:
    answered = list[str]()
    asyncio.run(_ask([*_BODY, None], answered))
    assert answered == ["a", "b", "answered"]


def test_work_for_a_client_that_has_gone_is_given_up() -> None:
    answered = list[str]()
    asyncio.run(_ask([*_BODY, {"type": "http.disconnect"}], answered))
    assert answered == ["a", "b", "given up"]


def test_what_is_wrong_with_a_body_is_told_to_whoever_reads_it() -> None:
    answered = list[str]()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(_ask([_BODY[0], ZeroDivisionError()], answered))
    assert answered == ["a"]
