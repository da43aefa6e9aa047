"""Requests whose client has gone: their work is given up."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Attended:
    """Cancels what answers a request once its client has closed the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for as long as its client waits for that."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        messages = asyncio.Queue[Message | Exception](1)

        async def listen() -> None:
            message: Message = {}
            while message.get("type") != "http.disconnect":
                try:
                    message = await receive()
                except Exception as error:  # such as that the body is too long, which is for those who read it
                    await messages.put(error)
                    return
                await messages.put(message)
            answering.cancel()

        async def hand_on() -> Message:
            message = await messages.get()
            if isinstance(message, Exception):
                raise message
            return message

        answering = asyncio.ensure_future(self._app(scope, hand_on, send))
        listening = asyncio.create_task(listen())
        try:
            await asyncio.wait({answering})
            with contextlib.suppress(asyncio.CancelledError):  # by `listen`; whoever cancels this is told by `wait`
                await answering
        finally:
            listening.cancel()
            answering.cancel()
