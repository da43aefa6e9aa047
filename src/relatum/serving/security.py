"""How a server is set up, what every request passes before anything looks at it, and what every answer carries.

Against DNS rebinding the name in `Host` must be one that the server goes by: a page of another site that has pointed its own
name at this machine sends that name. Against forged requests `Origin` must name the server itself. Plain ASGI, since this is
on the way of every request.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from relatum.errors import SettingError
from relatum.listening import check_token, is_loopback
from relatum.serving.errors import RequestError, refusal_of

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


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server is set up.

    Attributes:
        host: the address that it listens on.
        port: the port; 0 takes a free one.
        token: what a client must show; None lets everyone in, which only a loopback address may.
        allowed_hosts: more names that it goes by, such as that of a reverse proxy.
        decisions: the file that decisions are kept in; None keeps none, and nothing is ever written.
        seconds: that an answer may take.
        threads: that work on answers.
        waiting: requests that are taken at once, at work or waiting; more are refused with 503.
        candidate_bytes: of memory for packed candidates, for all runs and processes together; None takes a third of what is
            free.
        processes: that answer requests beside each other.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    decisions: Path | None = None
    seconds: float = 5.0
    threads: int = 2
    waiting: int = 256
    candidate_bytes: int | None = None
    processes: int = 1

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            reason = f"{self.host} can be reached from other machines, which needs a token: give --token"
            raise SettingError("token-needed", reason, place="host")
        if self.token is not None:
            check_token(self.token)
        if not 0 < self.seconds <= 3600:
            reason = f"must be above 0 and at most 3600, not {self.seconds}"
            raise SettingError("setting-out-of-range", reason, place="seconds")
        if min(self.threads, self.waiting, self.processes) < 1:
            raise SettingError("setting-out-of-range", "threads, waiting and processes: must be at least 1")

    def names(self) -> frozenset[str]:
        """Return the names that the server goes by, in small letters."""
        own = {"localhost", "127.0.0.1", "[::1]", *(name.lower() for name in self.allowed_hosts)}
        if not is_loopback(self.host):
            own |= {self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        return frozenset(own)


class Guard:
    """Refuses what must not pass, and adds to each answer what browsers are to keep to."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
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
            asked = {"www-authenticate": "Bearer"} if error.status == 401 else {}
            said = to_json(refusal_of(error), ensure_ascii=True)
            await Response(said, error.status, asked, "application/json")(scope, receive, guarded)
            return
        if entry is not None:
            await Response(status_code=303, headers=entry)(scope, receive, guarded)
            return
        if head:  # answered as GET is, without the body
            scope = {**scope, "method": "GET"}
        body = receive if scope["method"] in _SAFE else _bounded(receive, BODY_BYTES)
        await self._app(scope, body, guarded)

    def _checked(self, scope: Scope) -> dict[str, str] | None:
        """Refuse what must not pass; return the headers that send a browser with a token in its address on its way."""
        headers = dict[bytes, bytes](scope["headers"])
        host, source, site = headers.get(b"host"), headers.get(b"origin"), headers.get(b"sec-fetch-site")
        length = headers.get(b"content-length")
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise RequestError(400, "the request names two hosts")
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
        return None if self._token is None else self._admitted(scope, headers.get(b"authorization"), headers.get(b"cookie"))

    def _goes_by(self, host: bytes) -> bool:
        name = host.lower()
        if name in self._names:
            return True
        name, colon, port = name.rpartition(b":")
        if not colon or not port.isdigit():  # without a port, or an address of IPv6 alone
            name = host.lower()
        return name in self._names or (self._any_address and _is_address(name))

    def _admitted(self, scope: Scope, authorization: bytes | None, cookie: bytes | None) -> dict[str, str] | None:
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
                return {"location": path + ("?" + rest if rest else ""), "set-cookie": kept, "cache-control": "no-store"}
        raise RequestError(401, "a token is needed: send Authorization: Bearer TOKEN, or open the address with ?token=TOKEN")

    def _is_token(self, given: bytes) -> bool:
        return self._token is not None and hmac.compare_digest(given, self._token)


def _bounded(receive: Receive, most: int) -> Receive:
    """Return what hands on a body as long as it is short enough; one that says it is short and is not is cut off."""
    left = most

    async def bounded() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise RequestError(413, "the body is too long")
        return message

    return bounded


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
