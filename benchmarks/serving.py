"""A server under load: from its start to the first page, its answers at a fixed rate, as many as it can, and its memory.

python -m benchmarks.serving [RUN] [--seconds 60] [--processes 1] measures a run, by default one on JF17K after an
epoch of training. Questions differ: each is a fact of the run with one position open, in random order. The clients are
this process, and share the processors with the server.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

from benchmarks.measure import Ratio
from relatum import Run

QUESTIONS, WARMING = 30_000, 500
RATE = 100  # requests a second
FEW, MANY = 8, 64  # clients
KNOWN_AS = "RELATUM_SERVED_RUN"


@dataclass(frozen=True)
class Served:
    """A server that runs: its process, its port, and the seconds until its front page and the run's page were there."""

    process: subprocess.Popen[str]
    port: int
    front: float
    page: float

    def _numbers(self) -> list[int]:
        """Return those of the process and of its children."""
        own = self.process.pid
        return [own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())]

    @property
    def memory(self) -> int:
        """The resident memory in bytes; what processes share counts once."""
        texts = [Path(f"/proc/{number}/smaps_rollup").read_text() for number in self._numbers()]
        return 1024 * sum(int(re.findall(r"\nPss:\s+(\d+)", text)[0]) for text in texts)

    @property
    def cpu(self) -> float:
        """The seconds of processors that it has taken."""
        stats = [Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split() for number in self._numbers()]
        return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(folder: Path, processes: int) -> Iterator[Served]:
    """Yield a server of a run, started as people start it."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "relatum", "serve", str(folder), "--port", "0", "--seconds", "30"]
    command += ["--processes", str(processes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
            assert get(port, "/") == 200
            front = time.perf_counter() - began
            assert get(port, f"/{folder.resolve().name}") == 200
            yield Served(process, port, front, time.perf_counter() - began)
        finally:
            process.terminate()


def get(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def paths_of(folder: Path, count: int = QUESTIONS) -> list[str]:
    """Return the addresses of questions: facts with one position open, each once."""
    run, rng, found = Run.load(folder), random.Random(0), dict[str, None]()
    blocks = [(one.name, run.table(one.name).columns) for one in run.schema]
    weights = [columns.shape[1] for _, columns in blocks]
    for _ in range(4 * count):  # a small run has fewer questions
        if len(found) == count:
            break
        name, columns = rng.choices(blocks, weights)[0]
        fact = columns[:, rng.randrange(columns.shape[1])].tolist()
        gap = rng.randrange(len(fact))
        arguments = ", ".join("?" if at == gap else _quoted(run.entities[one]) for at, one in enumerate(fact))
        question = quote(f"{_quoted(name)}({arguments})", safe="")
        found[f"/{folder.resolve().name}/ask.json?q={question}&k=10"] = None
    return list(found)


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Client:
    """Connections that stay open between questions, as browsers keep them."""

    def __init__(self, port: int) -> None:
        self._port, self._free = port, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()

    async def asks(self, path: str) -> bool:
        """Ask, and return whether an answer came."""
        while self._free and self._free[-1][0].at_eof():  # idle for so long that the server closed it
            self._free.pop()[1].close()
        reader, writer = self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head)[0]))
        self._free.append((reader, writer))
        return head.startswith(b"HTTP/1.1 200")

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()


@dataclass(frozen=True)
class Counted:
    """How long answers took, ascending, what was refused, and in how many seconds all of it was asked."""

    times: list[float]
    refused: int
    seconds: float

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def slowest(self, share: float) -> float:
        """Return the milliseconds within which such a share of the answers came."""
        return 1000 * self.times[int(share * len(self.times))] if self.times else math.inf

    def __str__(self) -> str:
        return f"{self.rate:.0f} a second, p50 {self.slowest(0.5):.1f} ms, p99 {self.slowest(0.99):.1f} ms"


async def at_a_rate(port: int, paths: Iterator[str], seconds: float, rate: int = RATE) -> Counted:
    """Return how long answers took at so many requests a second.

    Each is counted from when it was due, so that a slow answer is not hidden by the requests that wait behind it.
    """
    client, start, times = Client(port), time.perf_counter() + 0.1, list[float]()

    async def ask(number: int) -> bool:
        due = start + number / rate
        await asyncio.sleep(due - time.perf_counter())
        came = await client.asks(next(paths))
        if came:
            times.append(time.perf_counter() - due)
        return came

    found = await asyncio.gather(*map(ask, range(int(seconds * rate))))
    client.close()
    return Counted(sorted(times), found.count(False), seconds)


async def as_many_as_it_can(port: int, paths: Iterator[str], clients: int, seconds: float) -> Counted:
    """Return how long answers took to so many clients, each of which asks as soon as it has its answer."""
    client, times, refused = Client(port), list[float](), 0
    start = time.perf_counter()

    async def ask() -> None:
        nonlocal refused
        while (began := time.perf_counter()) < start + seconds:
            if await client.asks(next(paths)):
                times.append(time.perf_counter() - began)
            else:
                refused += 1

    await asyncio.gather(*(ask() for _ in range(clients)))
    client.close()
    return Counted(sorted(times), refused, time.perf_counter() - start)


def measured(folder: Path, seconds: int, processes: int = 1) -> Iterator[Ratio]:
    """Measure a run: each figure once, on a server of its own process that has answered some questions already."""
    paths = itertools.cycle(paths_of(folder))
    with server(folder, processes) as served:
        yield Ratio("front page", 4.0 / served.front, 0.25, "x", f"{served.front:.2f} s from relatum serve, of 4 s", 1.0)
        yield Ratio("page of the run", 4.0 / served.page, 0.1, "x", f"{served.page:.2f} s from relatum serve, of 4 s", 1.0)
        for path in itertools.islice(paths, WARMING):
            get(served.port, path)
        short = max(5, seconds // 3)
        found = asyncio.run(at_a_rate(served.port, paths, short))
        detail = f"asked at {RATE} a second: {found}"
        yield Ratio("half of the answers within 10 ms", 10.0 / found.slowest(0.5), 0.02, "x", detail, 1.0)
        yield Ratio("99 % of the answers within 50 ms", 50.0 / found.slowest(0.99), 0.02, "x", detail, 1.0)
        before = served.cpu
        found = asyncio.run(as_many_as_it_can(served.port, paths, FEW, short))
        each = 1000 * (served.cpu - before) / max(1, len(found.times))
        detail = f"{found} with {FEW} clients, {each:.2f} ms of a processor each"
        yield Ratio("answers a second", found.rate / 100, 0.01, "x of 100", detail, 1.0)
        start = served.memory
        found = asyncio.run(as_many_as_it_can(served.port, paths, MANY, seconds))
        grown = served.memory / start
        yield Ratio(f"{MANY} clients without a refusal", float(not found.refused), 1.0, "yes", f"{found}, {seconds} s")
        detail = f"{start / 1e6:.0f} MB before {MANY} clients, {served.memory / 1e6:.0f} MB after"
        yield Ratio("memory within 5 %", 1.05 / grown, 1.0, "x", detail)


def ratios() -> Iterator[Ratio]:
    """Measure the run that RELATUM_SERVED_RUN names or, without it, one on JF17K after an epoch: its time is the same."""
    if named := os.environ.get(KNOWN_AS):
        yield from measured(Path(named), 60)
        return
    with tempfile.TemporaryDirectory() as folder:
        import relatum

        relatum.fit("jf17k", Path(folder) / "jf17k", epochs=1, progress=False)
        yield from measured(Path(folder) / "jf17k", 60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    for one in measured(given.run, given.seconds, given.processes):
        print(f"{one.name}: {one.detail}{'' if one.value >= (one.aim or one.floor) else '  (misses its aim)'}", flush=True)


if __name__ == "__main__":
    main()
