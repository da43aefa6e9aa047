"""A socket to listen on, and uvicorn on it until a signal comes: what pages and tools for planners have in common."""

from __future__ import annotations

import ipaddress
import logging
import socket
import warnings
from typing import TYPE_CHECKING, Any

from relatum.errors import RelatumError, SettingError
from relatum.progress import silence

if TYPE_CHECKING:
    from uvicorn import Config

_BACKLOG = 1024  # connections that wait to be taken until uvicorn says how many may
_SHORTEST_TOKEN = 16  # characters


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_token(token: str) -> None:
    """Refuse a token that can be guessed, or that a header cannot hold."""
    if len(token) < _SHORTEST_TOKEN or not (token.isascii() and token.isprintable()):
        raise SettingError(
            "unusable-token", f"must have at least {_SHORTEST_TOKEN} characters, all of them printable ASCII", place="token"
        )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; a port that is taken is an error of one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        text = error.strerror or str(error)
        raise RelatumError(
            "cannot-listen",
            f"cannot listen there: {text}",
            place=f"{host}:{port}",
            remedy="choose another with --port or --host",
        ) from None
    listening.listen(_BACKLOG)
    return listening


def settings_of(app: object, body_bytes: int, **others: Any) -> Config:
    """Return how uvicorn is to serve an app, with limits on connections and on what comes before a request is looked at."""
    from uvicorn import Config  # of an extra

    from relatum.connections import Front

    front = Front(body_bytes)
    return Config(
        app,  # type: ignore[arg-type]
        http=front,  # type: ignore[arg-type]  # it makes what the class of a protocol would
        ws="none",
        backlog=front.backlog,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        **others,
    )


def serve_until_signal(config: Config, listening: socket.socket) -> None:
    """Serve on a socket until a signal comes; a second one ends what is still being answered, without a word."""
    from uvicorn import Server  # of an extra

    server = Server(config)
    # A signal that comes before uvicorn is ready ends it; that it never began is nothing to warn of.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    # What a second signal cuts short would be told as an error, with a traceback.
    logging.getLogger("uvicorn.error").addFilter(lambda _: not server.force_exit)
    with silence():
        server.run(sockets=[listening])
