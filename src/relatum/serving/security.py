"""What every request passes before anything looks at it, and what every answer carries.

Against DNS rebinding the name in `Host` must be one that the server goes by: a page of another site that has pointed its own
name at this machine sends that name. Against forged requests `Origin` must name the server itself. Plain ASGI, since this is
on the way of every request.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from relatum.listening import is_loopback
from relatum.serving.errors import RequestError, refusal_of
from relatum.serving.json_text import json_of
from relatum.serving.settings import ServerSettings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

COOKIE = "relatum_token"
BODY_BYTES = 1 << 16  # that a body may have
ADDRESS_BYTES = 1 << 15  # that an address may have, with what follows its question mark
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: list[tuple[bytes, bytes]] = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_SAFE = ("GET", "HEAD")


class Guard:
    """Refuses what must not pass, and adds to each answer what browsers are to keep to.

    Args:
        app: what answers.
        settings: those of the server.
    """

    def __init__(self, app: App, settings: ServerSettings) -> None:
        self._app = app
        self._names = frozenset(name.encode() for name in settings.names())
        self._any_address = not is_loopback(settings.host)
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no web sockets here

        head = scope["method"] == "HEAD"

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            elif head:
                message["body"] = b""
            await send(message)

        try:
            entry = self._checked(scope)
        except RequestError as error:
            await _refuse(guarded, error)
            return
        if entry is not None:
            await _send(guarded, 303, b"", entry)
            return
        if head:  # answered as GET is, without the body
            scope = {**scope, "method": "GET"}
        body = receive if scope["method"] in _SAFE else _Bounded(receive, BODY_BYTES)
        await self._app(scope, body, guarded)

    def _checked(self, scope: Scope) -> Headers | None:
        """Refuse what must not pass; return the headers that send a browser with a token in its address on its way."""
        host = source = authorization = cookie = length = site = None
        for name, value in scope["headers"]:
            if name == b"host":
                if host is not None:
                    raise RequestError(400, "the request names two hosts")
                host = value
            elif name == b"origin":
                source = value
            elif name == b"authorization":
                authorization = value
            elif name == b"cookie":
                cookie = value
            elif name == b"content-length":
                length = value
            elif name == b"sec-fetch-site":
                site = value
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > ADDRESS_BYTES:
            raise RequestError(414, f"the address is longer than {ADDRESS_BYTES:,} bytes")
        if host is None or not self._goes_by(host):
            raise RequestError(421, "the server does not go by the name in Host; start it with --allow-host NAME")
        if source is not None and _host_of(source) != host.lower():
            raise RequestError(403, "the request comes from another site")
        if scope["method"] not in _SAFE:
            if site is not None and site not in (b"same-origin", b"none"):
                raise RequestError(403, "the request comes from another site")
            if length is not None and not (length.isdigit() and int(length[:20]) <= BODY_BYTES):
                raise RequestError(413, f"the body is longer than {BODY_BYTES:,} bytes")
        return None if self._token is None else self._admitted(scope, authorization, cookie)

    def _goes_by(self, host: bytes) -> bool:
        name = host.lower()
        if name in self._names:
            return True
        name, colon, port = name.rpartition(b":")
        if not colon or not port.isdigit():  # without a port, or an address of IPv6 alone
            name = host.lower()
        return name in self._names or (self._any_address and _is_address(name))

    def _admitted(self, scope: Scope, authorization: bytes | None, cookie: bytes | None) -> Headers | None:
        """Refuse a request without the token; return where a browser goes on that has it in its address."""
        if authorization is not None and authorization[:7].lower() == b"bearer ":
            if self._is_token(authorization[7:].strip()):
                return None
            raise RequestError(401, "the token is wrong")
        if cookie is not None and self._is_token(_cookie(cookie)):
            return None
        if scope["method"] in _SAFE and b"token=" in scope["query_string"]:
            query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            given = [value for name, value in query if name == "token"]
            if given and self._is_token(given[0].encode()):
                rest = urlencode([(name, value) for name, value in query if name != "token"])
                path = "/" + (scope.get("raw_path") or b"").decode("latin-1").lstrip("/")  # `//x` would be another host
                secure = "; Secure" if scope.get("scheme") == "https" else ""
                kept = f"{COOKIE}={given[0]}; Path=/; HttpOnly; SameSite=Strict{secure}"
                return [
                    (b"location", (path + ("?" + rest if rest else "")).encode("latin-1", "replace")),
                    (b"set-cookie", kept.encode("latin-1")),
                    (b"cache-control", b"no-store"),
                ]
        raise RequestError(401, "a token is needed: send Authorization: Bearer TOKEN, or open the address with ?token=TOKEN")

    def _is_token(self, given: bytes) -> bool:
        return self._token is not None and hmac.compare_digest(given, self._token)


class _Bounded:
    """Hands on a body as long as it is short enough; one that says it is short and is not is cut off."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left = receive, most

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise RequestError(413, "the body is too long")
        return message


def _host_of(source: bytes) -> bytes:
    """Return the host in an `Origin`; none in `null`, which sandboxed pages send."""
    try:
        return urlsplit(source.decode("latin-1")).netloc.lower().encode("latin-1", "replace")
    except ValueError:
        return b""


def _is_address(name: bytes) -> bool:
    try:
        ipaddress.ip_address(name.decode("latin-1").strip("[]"))
    except ValueError:
        return False
    return True


def _cookie(header: bytes) -> bytes:
    try:
        found = SimpleCookie(header.decode("latin-1")).get(COOKIE)
    except CookieError:
        return b""
    return b"" if found is None else found.value.encode("latin-1")


async def _refuse(send: Send, error: RequestError) -> None:
    more = [(b"www-authenticate", b"Bearer")] if error.status == 401 else []
    await _send(send, error.status, json_of(refusal_of(error)), [(b"content-type", b"application/json"), *more])


async def _send(send: Send, status: int, body: bytes, headers: Headers) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
