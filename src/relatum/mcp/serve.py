"""A run as an MCP server: over standard input and output, or over streamable HTTP."""

from __future__ import annotations

import contextlib
import hmac
import secrets
import sys
from typing import TYPE_CHECKING, Any

from relatum.api import Run
from relatum.extras import require
from relatum.listening import check_token, is_loopback, listen, serve_until_signal, settings_of
from relatum.mcp.tools import server_of
from relatum.progress import silence

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
_BODY = 1 << 20  # bytes of a request


def serve_stdio(run: Run, name: str) -> None:
    """Answer on standard output what comes in on standard input, until that ends; nothing else is written there."""
    server = server_of(run, name)
    with silence(), contextlib.suppress(KeyboardInterrupt):
        server.run("stdio")


def serve_http(run: Run, name: str, *, host: str = "127.0.0.1", port: int = 8322, token: str | None = None) -> None:
    """Answer over streamable HTTP at `/mcp`, until interrupted.

    Args:
        run: the run that is asked.
        name: what it is called.
        host: the address to listen on; not on loopback, there must be a token, and one is made where none is given.
        port: the port.
        token: what clients must send as `Authorization: Bearer TOKEN`; None asks for none.
    """
    for library in ("uvicorn", "httptools"):
        require(library, extra="mcp")
    from mcp.server.transport_security import TransportSecuritySettings

    if token is not None:
        check_token(token)
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
        sys.stderr.write(f"relatum: clients send the header Authorization: Bearer {token}\n")
    names = [host, "127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [host if ":" not in host else f"[{host}]"]
    hosts = [f"{one}:{port}" for one in dict.fromkeys(names)]
    allowed = {"allowed_hosts": hosts, "allowed_origins": [f"http://{one}" for one in hosts]}
    security = TransportSecuritySettings.model_validate(allowed)
    if host in ("0.0.0.0", "::"):  # noqa: S104  # every address has a name of its own; the token keeps others out
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: Any = server_of(run, name).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=_BODY,
        transport_security=security,
        host=host,
    )
    if token is not None:
        app = _with_token(app, token)
    listening = listen(host, port)
    sys.stderr.write(f"relatum: serving {name} at http://{hosts[0]}{PATH}\n")
    sys.stderr.flush()
    serve_until_signal(settings_of(app, _BODY), listening)


def _with_token(app: ASGIApp, token: str) -> ASGIApp:
    """Return an app that answers only those who send the token; it is compared in constant time."""
    from relatum.connections import refusal  # of libraries of an extra

    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        sent = next((value for name, value in scope.get("headers", ()) if name == b"authorization"), b"")
        if scope["type"] != "http" or hmac.compare_digest(sent, wanted):
            await app(scope, receive, send)
            return
        body = refusal(401, "no-token", "this server wants a token")
        headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return guarded
