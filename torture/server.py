"""Attack a server on loopback: requests without end, no descriptors left, and one client that wants all of its time.

A client beside the attackers must have its answers: as fast as before them, within three times, and never refused. Attackers
have machines of their own, but not here: what is waited for a processor is not counted.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from torture.campaign import Campaign

MEMORY = 200  # MB that a server may grow by
SLOWER = 3.0  # times that a client may wait for its answers
LEAST = 0.05  # seconds that are no matter
FULL = 10_000  # requests from which on the times of the client beside are compared
QUIET, LASTING = 20.0, 60.0  # seconds
FILES = 128
JOIN = (
    "SELECT a.buyer FROM sold a JOIN sold b ON a.seller = b.buyer JOIN sold c ON b.seller = c.buyer JOIN bought d"
    " ON c.seller = d.buyer JOIN bought e ON d.item = e.item JOIN sold f ON e.buyer = f.seller WHERE NOT known"
)
PAGES = (
    "/",
    "/run",
    "/run/ask?q=" + quote("sold(drew, ?, book)"),
    "/run/missing",
    "/run/missing/sold",
    "/run/entity/drew",
    "/run/relation/sold",
    "/-/health",
)


def attack(campaign: Campaign) -> None:
    """Attack a server of a small run in three ways."""
    import relatum

    folder = campaign.folder / "run"
    relatum.fit("example", folder, dim=20, epochs=20, progress=False)
    full = campaign.size >= FULL
    _flood(campaign, folder, full=full)
    _silence(campaign, folder)
    _joins(campaign, folder, *((80, 30.0) if full else (16, 6.0)))


class View(NamedTuple):
    """A page that was looked at, the seconds that it took, and those without what was waited for a processor."""

    path: str
    status: int
    seconds: float
    own: float


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    @property
    def memory(self) -> int:
        """The resident memory in MB."""
        return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())[0]) // 1024

    @property
    def waited(self) -> float:
        """The seconds that its threads, and this one, have waited for a processor."""
        threads = [*Path(f"/proc/{self.process.pid}/task").iterdir(), Path(f"/proc/self/task/{threading.get_native_id()}")]
        return sum(int((one / "schedstat").read_text().split()[1]) for one in threads) / 1e9

    def get(self, path: str, source: str = "127.0.0.1") -> tuple[int, float]:
        """Return the status of an address, 0 for none, and the seconds that it took."""
        began = time.monotonic()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30, source_address=(source, 0))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return answer.status, time.monotonic() - began
        except OSError:
            return 0, time.monotonic() - began
        finally:
            connection.close()

    def views(self, until: threading.Event, a_second: float = 10.0) -> list[View]:
        """Look at pages until something has happened."""
        found = list[View]()
        while not until.wait(1 / a_second):
            path, before = PAGES[len(found) % len(PAGES)], self.waited
            status, seconds = self.get(path)
            found.append(View(path, status, seconds, max(0.0, seconds - (self.waited - before))))
        return found


@contextmanager
def _server(folder: Path, files: int = 4096, seconds: int = 30) -> Iterator[Server]:
    """Yield a server that has answered each page once."""
    command = [sys.executable, "-m", "relatum", "serve", str(folder), "--port", "0", "--seconds", str(seconds)]
    limited = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    with (
        tempfile.NamedTemporaryFile(prefix="log", dir=folder.parent) as log,
        subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            server = Server(process, int(line.split("http://127.0.0.1:")[1].split("/")[0]), Path(log.name))
            for path in PAGES * 3:
                server.get(path)
            yield server
        finally:
            process.terminate()


def _after(seconds: float) -> threading.Event:
    event = threading.Event()
    clock = threading.Timer(seconds, event.set)
    clock.daemon = True
    clock.start()
    return event


def _flood(campaign: Campaign, folder: Path, *, full: bool) -> None:
    """Send slow, endless and half requests from many sockets beside a client that looks at pages."""
    sockets = 500 if full else 60
    with _server(folder) as server:
        quiet, start = server.views(_after(QUIET if full else 2.0)), server.memory
        given = [str(one) for one in (server.port, campaign.seed, campaign.first, campaign.size, sockets)]
        ended, most, began = threading.Event(), start, time.monotonic()
        command = [sys.executable, "-m", "torture.flood", *given]
        # Attackers have machines of their own; here they leave the processors to the server.
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.nice(4)) as flood:

            def watch() -> None:
                nonlocal most
                while flood.poll() is None:
                    most = max(most, server.memory)
                    time.sleep(0.1)
                ended.set()

            watching = threading.Thread(target=watch)
            watching.start()
            said, beside = list[str](), list[View]()
            assert flood.stdout is not None
            reading = threading.Thread(target=lambda: said.append(flood.stdout.read() if flood.stdout else ""))
            reading.start()
            beside = server.views(ended)
            reading.join()
            watching.join()
        lasted = time.monotonic() - began
        log = server.log.read_text()
    found = json.loads(said[0])
    for kind, one in found["kinds"].items():
        campaign.record(kind, campaign.first, tried=int(one["tried"]), slowest=one["slowest"])
    for kind, number, fault in found["faults"]:
        campaign.record(kind, number, fault, tried=0)
    before, after = _slowest(quiet), _slowest(beside)
    faults = [f"{path} is {status}" for path, status, *_ in beside if status != 200]
    if full and after > max(SLOWER * before, LEAST):
        faults.append(f"99 % of pages came within {1000 * after:.0f} ms, without the attack within {1000 * before:.0f} ms")
    if most - start > MEMORY:
        faults.append(f"memory grew by {most - start} MB")
    if "Traceback" in log:
        faults.append("a traceback in the log")
    _record(campaign, "pages beside these", faults, beside)
    print(
        f"server: {campaign.size:,} requests from {sockets} sockets in {lasted:.0f} s; 99 % of pages within "
        f"{1000 * after:.0f} ms, quiet {1000 * before:.0f} ms; memory {start} MB, at most {most} MB"
    )


def _slowest(views: list[View]) -> float:
    times = sorted(one.own for one in views)
    return times[int(0.99 * len(times))]


def _record(campaign: Campaign, kind: str, faults: list[str], views: list[View]) -> None:
    campaign.record(kind, campaign.first, tried=len(views), slowest=max(one.seconds for one in views))
    for fault in faults:
        campaign.record(kind, campaign.first, fault, tried=0)


def _silence(campaign: Campaign, folder: Path) -> None:
    """Open more connections than the server may have files, and say nothing."""
    with _server(folder, FILES) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        views = server.views(_after(3.0))
        for one in silent:
            one.close()
        views += server.views(_after(1.0))
        lines = [line for line in server.log.read_text().splitlines() if "compiling kernels" not in line]
    faults = [f"{path} is {status}" for path, status, *_ in views if status != 200]
    if len(lines) != 1 or "connections" not in lines[0]:
        faults.append(f"the log has {len(lines)} lines: {' '.join(lines)[:200]}")
    _record(campaign, "pages while descriptors are exhausted", faults, views)


def _joins(campaign: Campaign, folder: Path, connections: int, seconds: float) -> None:
    """Ask a costly join from one address, again and again, and look at pages from another."""
    statuses = Counter[int]()
    with _server(folder, seconds=5) as server:
        over, path = _after(seconds), f"/run/ask.json?k=1000&q={quote(JOIN)}"

        def ask() -> None:
            while not over.is_set():
                statuses[server.get(path, "127.0.0.2")[0]] += 1

        asking = [threading.Thread(target=ask) for _ in range(connections)]
        for one in asking:
            one.start()
        views = server.views(over)
        for one in asking:
            one.join()
    faults = [f"{path} is {status}" for path, status, *_ in views if status != 200]
    if not statuses[200]:
        faults.append(f"nobody had an answer: {dict(statuses)}")
    _record(campaign, "pages beside costly joins", faults, views)
    campaign.record("costly joins", campaign.first, tried=statuses.total())
    print(f"server: costly joins from {connections} connections: {statuses[200]} answered, {statuses[503]} refused")
