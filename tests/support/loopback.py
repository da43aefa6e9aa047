"""A real server on this machine that cuts, lies, hangs and redirects, and the tar archives it hands out."""

from __future__ import annotations

import hashlib
import io
import random
import socket
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from relatum.datasets.download import RemoteFile

CONTENT = random.Random(1).randbytes(200_000)  # more than one piece of a transfer, and nothing gzip could shorten

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Does what the test has said for the path; each connection carries one request."""

    server: Server

    def do_GET(self) -> None:
        self.server.take(self.path, self.headers["Range"])(self)

    def start(self, code: int, **headers: object) -> None:
        """Send the status line and the headers; `Content_Length=3` becomes `Content-Length: 3`."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def body(self, content: bytes) -> None:
        """Send bytes; a client that has heard enough and hung up is fine."""
        try:
            self.wfile.write(content)
            self.wfile.flush()
        except ConnectionError:
            pass

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name in http.server)
        pass


class Server(ThreadingHTTPServer):
    """A server whose answers are set per path, and that remembers each request with its Range header."""

    daemon_threads = False  # so that closing waits for every answer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None]] = []
        self.closing, self.hung_up = threading.Event(), threading.Event()
        self._answers: dict[str, list[Answer]] = {}
        self._lock = threading.Lock()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def at(self, path: str, *answers: Answer) -> str:
        """Give these answers at `path`, one per request, and the last one from then on; return the URL."""
        self._answers[path] = list(answers)
        return self.url(path)

    def take(self, path: str, wanted: str | None) -> Answer:
        with self._lock:
            self.requests.append((path, wanted))
            answers = self._answers.get(path, [status(404)])
            return answers.pop(0) if len(answers) > 1 else answers[0]

    @property
    def ranges(self) -> list[str | None]:
        return [wanted for _, wanted in self.requests]


def whole(content: bytes) -> Answer:
    """Send all of it, whatever part was asked for."""

    def answer(handler: Handler) -> None:
        handler.start(200, Content_Length=len(content))
        handler.body(content)

    return answer


def unannounced(content: bytes) -> Answer:
    """Send all of it without saying how much that will be."""

    def answer(handler: Handler) -> None:
        handler.start(200)
        handler.body(content)

    return answer


def ranged(content: bytes, most: int | None = None) -> Answer:
    """Send the part that was asked for, but cut the connection after `most` bytes."""

    def answer(handler: Handler) -> None:
        first = int((handler.headers["Range"] or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        rest = content[first:]
        if not first:
            handler.start(200, Content_Length=len(rest))
        elif not rest:
            handler.start(416, Content_Range=f"bytes */{len(content)}")
        else:
            extent = f"bytes {first}-{len(content) - 1}/{len(content)}"
            handler.start(206, Content_Length=len(rest), Content_Range=extent)
        handler.body(rest[:most])

    return answer


def chunked_and_cut(content: bytes) -> Answer:
    """Send one chunk and close without the last, empty one."""

    def answer(handler: Handler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.close_connection = True
        handler.start(200, Transfer_Encoding="chunked")
        handler.body(b"%x\r\n%b\r\n" % (len(content), content))

    return answer


def hanging(content: bytes, most: int) -> Answer:
    """Promise all of it, send `most` bytes, and then neither send nor close."""

    def answer(handler: Handler) -> None:
        if most:
            handler.start(200, Content_Length=len(content))
            handler.body(content[:most])
        handler.server.closing.wait()

    return answer


def pouring(head: bytes = b"HTTP/1.1 200 fine\r\n\r\n") -> Answer:
    """Send `head` and then far more than anyone wants, until the client hangs up; `server.hung_up` tells that it did."""

    def answer(handler: Handler) -> None:
        try:
            handler.wfile.write(head)
            for _ in range(1000):  # 200 MB: endless enough
                handler.wfile.write(CONTENT)
        except ConnectionError:
            handler.server.hung_up.set()

    return answer


def status(code: int, **headers: object) -> Answer:
    """Answer with a status and nothing else."""
    return lambda handler: handler.start(code, **headers)


def raw(content: bytes) -> Answer:
    """Send bytes that need not be HTTP."""
    return lambda handler: handler.body(content)


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


@contextmanager
def nobody_listening() -> Iterator[str]:
    """Yield the URL of a port that refuses connections: it is taken, but nobody listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/train.txt"


def remote(url: str, content: bytes = CONTENT, name: str = "train.txt") -> RemoteFile:
    return RemoteFile(name, url, len(content), hashlib.sha256(content).hexdigest())


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """Return the header of a member; links and devices too claim the size of `content`."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info


def pack(members: Iterable[tuple[tarfile.TarInfo, bytes]], mode: str = "w:gz") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return packed.getvalue()


def files_of(*members: tuple[str, bytes]) -> bytes:
    """Return a tar.gz with these regular files."""
    return pack((member(name, content), content) for name, content in members)


def tree(path: Path) -> dict[str, bytes | None]:
    """Return everything below `path`: what is in each file, None for a folder."""
    return {str(found.relative_to(path)): found.read_bytes() if found.is_file() else None for found in path.rglob("*")}
