"""A real server on loopback, in a thread of this process, and what a client gets from it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from relatum.connections import Front
from relatum.serving.app import create_app
from relatum.serving.security import BODY_BYTES, ServerSettings


class Got(NamedTuple):
    """What a client got."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    """Sends requests to a server as they are given: the path is not normalised, `Host` is what a test says."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Got:
        return self.send(method, path, None, headers)

    def post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Got:
        """Send a dictionary as JSON, a text as a form."""
        kind = "application/x-www-form-urlencoded" if isinstance(body, str) else "application/json"
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return self.send("POST", path, content, {"Content-Type": kind, **(headers or {})})

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None) -> Got:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
            if body is not None:
                given.setdefault("Content-Length", str(len(body)))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()


@contextmanager
def served(folders: Iterable[Path], settings: ServerSettings | None = None) -> Iterator[Client]:
    """Yield a client of a server that shows these runs."""
    app = create_app(folders, settings or ServerSettings(seconds=60.0))
    with listening(app) as port:
        yield Client(port)


@contextmanager
def listening(app: Any, front: Front | None = None) -> Iterator[int]:
    """Yield the port at which an app is served, behind the limits that servers have."""
    http: Any = front or Front(BODY_BYTES)
    config = uvicorn.Config(app, port=0, http=http, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
