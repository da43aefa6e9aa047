"""A real server on this machine whose answers a test sets, and the tar archives that it hands out."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from relatum.datasets.download import RemoteFile

CONTENT = bytes(range(256)) * 800  # more than one piece of a transfer
TIMEOUT = 0.5  # seconds, in place of those that a download waits for a byte

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Does what the test has said for the path; each connection carries one request."""

    server: Server

    def do_GET(self) -> None:
        with suppress(ConnectionError):  # the client has heard enough
            self.server.take(self.path)(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name in http.server)
        pass


class Server(ThreadingHTTPServer):
    """A server whose answers are set per path, and that remembers what was asked for."""

    daemon_threads = False  # so that closing waits for every answer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []
        self.closing = threading.Event()
        self._answers: dict[str, list[Answer]] = {}
        self._lock = threading.Lock()

    def at(self, path: str, *answers: Answer) -> str:
        """Give these answers at `path`, one per request, and the last one from then on; return the URL."""
        self._answers[path] = list(answers)
        return f"http://127.0.0.1:{self.server_port}{path}"

    def take(self, path: str) -> Answer:
        with self._lock:
            self.requests.append(path)
            answers = self._answers.get(path, [status(404)])
            return answers.pop(0) if len(answers) > 1 else answers[0]


def whole(content: bytes, promised: int | None = None) -> Answer:
    """Send this, and say that it is all, or that so many bytes are coming."""
    return raw(b"HTTP/1.1 200 fine\r\nContent-Length: %d\r\n\r\n%b" % (promised or len(content), content))


def hanging(handler: Handler) -> None:
    """Promise bytes that never come, and do not close."""
    handler.wfile.write(b"HTTP/1.1 200 fine\r\nContent-Length: 9\r\n\r\n")
    handler.server.closing.wait()


def pouring(handler: Handler) -> None:
    """Send far more than anyone wants, until the client hangs up."""
    handler.wfile.write(b"HTTP/1.1 200 fine\r\n\r\n")
    while not handler.server.closing.is_set():
        handler.wfile.write(CONTENT)


def status(code: int, location: str = "") -> Answer:
    """Answer with a status and nothing else."""
    return raw(f"HTTP/1.1 {code} so it is\r\nContent-Length: 0\r\nLocation: {location}\r\n\r\n".encode())


def raw(content: bytes) -> Answer:
    """Send bytes that need not be HTTP."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(content)

    return answer


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.005,))
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def remote(url: str, content: bytes = CONTENT, name: str = "train.txt") -> RemoteFile:
    return RemoteFile(name, url, len(content), hashlib.sha256(content).hexdigest())


def pack(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Return a tar.gz with these members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return packed.getvalue()


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    """Return a member; links and devices too claim the size of `content`."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info, content


def tree(path: Path) -> dict[str, bytes | None]:
    """Return everything below `path`: what is in each file, None for a folder."""
    return {str(found.relative_to(path)): found.read_bytes() if found.is_file() else None for found in path.rglob("*")}
