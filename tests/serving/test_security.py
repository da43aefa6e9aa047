"""What must not pass is refused, and every answer carries what browsers are to keep to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from relatum.serving import security
from relatum.serving.errors import RequestError
from relatum.serving.security import POLICY, Guard, ServerSettings
from support.mistakes import mistake

TOKEN = "correct-horse-battery"  # noqa: S105
Message = MutableMapping[str, Any]


class Reply:
    """What a guard has sent."""

    def __init__(self) -> None:
        self.status, self.body = 0, b""
        self.headers: dict[str, str] = {}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")


async def _inner(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    body = b""
    while scope["method"] == "POST":
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
    await send({"type": "http.response.body", "body": b"passed " + body})


def ask(
    settings: ServerSettings | None = None,
    method: str = "GET",
    path: str = "/",
    query: bytes = b"",
    body: list[bytes] | None = None,
    host: str | None = "127.0.0.1:8321",
    **headers: str,
) -> Reply:
    """Return what a request gets; headers are written with _ for -."""
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    if host is not None:
        given += [(b"host", host.encode())] * (2 if headers.pop("host_twice", None) else 1)
    parts = list(body or [b""])
    reply = Reply()

    async def receive() -> Message:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": query}
    asyncio.run(Guard(_inner, settings or ServerSettings())({**scope, "headers": given}, receive, reply))
    return reply


LOCAL = "127.0.0.1:8321"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1234", "127.0.0.1", LOCAL, "[::1]", "[::1]:8321", "rel.example:443"]
)
def test_names_that_the_server_goes_by_pass(host: str) -> None:
    assert ask(ServerSettings(allowed_hosts=("Rel.Example",)), host=host).status == 200


# The address is that of another machine: this one listens on loopback only.
NAMES = ["evil.example", "evil.example:8321", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.7:8321"]
BROKEN = [None, "", "evil.example#localhost", "localhost:80:evil", "127.0.0.1 ", "[::1"]


@pytest.mark.parametrize("host", NAMES + BROKEN)
def test_another_name_is_refused_as_by_dns_rebinding(host: str | None) -> None:
    reply = ask(host=host)
    assert reply.status == 421
    assert b'"ok":false' in reply.body
    assert b"passed" not in reply.body


@pytest.mark.parametrize(
    ("status", "method", "headers"),
    [
        (400, "GET", {"host_twice": "yes"}),
        *(
            (403, method, {"origin": f"http://{one}"})
            for method in ("GET", "POST")
            for one in ("evil.example", "127.0.0.1:99", "")
        ),
        *((403, "POST", {"origin": one}) for one in ("null", "https://[::1")),
        *((403, "POST", {"sec_fetch_site": one}) for one in ("cross-site", "same-site", "anything")),
        (200, "POST", {"origin": f"http://{LOCAL}"}), (200, "POST", {"sec_fetch_site": "same-origin"}),
        (200, "GET", {"sec_fetch_site": "cross-site"}),  # a link on another page may lead here
    ],
)  # fmt: skip
def test_a_request_of_another_site_is_refused(status: int, method: str, headers: dict[str, str]) -> None:
    assert ask(method=method, **headers).status == status


def test_a_server_that_others_can_reach_needs_a_token() -> None:
    with mistake("token-needed"):
        ServerSettings(host="0.0.0.0")  # noqa: S104
    for token in ("short", TOKEN + "ü", TOKEN + "\n"):  # no header can hold the last two
        with mistake("unusable-token"):
            ServerSettings(token=token)


OPEN_TO_ALL = ServerSettings(host="0.0.0.0", token=TOKEN)  # noqa: S104


def test_without_the_token_nothing_passes_and_with_it_as_bearer_or_cookie() -> None:
    for given in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}, {"cookie": "relatum_token=wrong"}):
        reply = ask(OPEN_TO_ALL, **given)
        assert reply.status == 401
        assert reply.headers["www-authenticate"] == "Bearer"
    assert ask(OPEN_TO_ALL, query=b"token=wrong").status == 401
    assert ask(OPEN_TO_ALL, method="POST", query=b"token=" + TOKEN.encode()).status == 401
    assert ask(OPEN_TO_ALL, authorization=f"Bearer {TOKEN}").status == 200
    assert ask(OPEN_TO_ALL, cookie=f"a=b; relatum_token={TOKEN}").status == 200
    assert ask(OPEN_TO_ALL, host="192.168.0.7:8321", authorization=f"bearer {TOKEN}").status == 200
    assert ask(OPEN_TO_ALL, host="evil.example", authorization=f"Bearer {TOKEN}").status == 421


def test_a_token_in_the_address_becomes_a_cookie_and_leaves_the_address() -> None:
    reply = ask(OPEN_TO_ALL, path="/run/ask", query=f"q=a%26b&token={TOKEN}".encode())
    assert reply.status == 303
    assert reply.headers["location"] == "/run/ask?q=a%26b"
    assert reply.headers["set-cookie"] == f"relatum_token={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    away = ask(OPEN_TO_ALL, path="//evil.example/", query=f"token={TOKEN}".encode())
    assert away.headers["location"] == "/evil.example/"  # never another host


def test_what_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_BYTES", 10)
    monkeypatch.setattr(security, "ADDRESS_BYTES", 100)
    assert ask(query=b"q=" + b"a" * 200).status == 414
    for length in ("11", "-1", "9" * 4000):
        assert ask(method="POST", content_length=length).status == 413
    assert ask(method="POST", body=[b"12345", b"67890"]).body == b"passed 1234567890"
    with pytest.raises(RequestError, match="too long"):  # the app that reads the body answers with it
        ask(method="POST", body=[b"12345", b"678901"])


def test_every_answer_carries_what_browsers_are_to_keep_to() -> None:
    for reply in (ask(), ask(host="evil.example")):
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "same-origin"
    assert ask().headers["x-own"] == "1"
    assert "unsafe" not in POLICY
