"""A server under load: from its start to the first page, its answers at a fixed rate, as many as it can, and its memory.

python -m benchmarks.serving [RUN] [--seconds 60] [--processes 1] measures a run, by default one on JF17K after an
epoch of training. Questions differ: each is a fact of the run with one position open, in random order. Those that were asked
before are answered from what was sent; so what was never asked before is measured apart.
"""

from __future__ import annotations

import argparse
import asyncio
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

QUESTIONS, NEW = 2_000, 28_000
RATE = 100  # requests a second
CLIENTS = 64
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

    def wait_until_packed(self) -> None:
        """Wait until the candidates of all positions that there is memory for are packed, and it rests."""
        before = -1.0
        while self.cpu - before > 0.1:
            before = self.cpu
            time.sleep(2)


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


def paths_of(folder: Path, count: int = QUESTIONS + NEW) -> list[str]:
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


def at_a_rate(port: int, paths: list[str], seconds: float, rate: int = RATE) -> list[float]:
    """Return how long answers took, in seconds and ascending, at so many requests a second; what is refused never comes.

    Each is counted from when it was due, so that a slow answer is not hidden by the requests that wait behind it.
    """
    return sorted(asyncio.run(_at_a_rate(port, paths, int(seconds * rate), rate)))


async def _at_a_rate(port: int, paths: list[str], count: int, rate: int) -> list[float]:
    free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
    start = time.perf_counter() + 0.1

    async def ask(number: int) -> float:
        due = start + number / rate
        await asyncio.sleep(due - time.perf_counter())
        while free and free[-1][0].at_eof():  # idle for so long that the server closed it
            free.pop()[1].close()
        reader, writer = free.pop() if free else await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {paths[number % len(paths)]} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head)[0]))
        free.append((reader, writer))
        return time.perf_counter() - due if head.startswith(b"HTTP/1.1 200") else math.inf

    found = await asyncio.gather(*map(ask, range(count)))
    for _, writer in free:
        writer.close()
    return list(found)


@dataclass(frozen=True)
class Sustained:
    """What wrk counted: answers a second, errors of any sort, and the slowest of 50 % and of 99 % in milliseconds."""

    rate: float
    errors: int
    p50: float
    p99: float


def as_many_as_it_can(port: int, paths: list[str], clients: int, seconds: int) -> Sustained:
    """Return what wrk counts with so many connections, each of which asks as soon as it has its answer."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "paths.lua"
        listed = ",\n".join(f"[==[{path}]==]" for path in paths)
        script.write_text(
            f"local paths = {{ {listed} }}\nlocal number = 0\n"
            "request = function()\n number = number % #paths + 1\n return wrk.format('GET', paths[number])\nend\n"
        )
        url = f"http://127.0.0.1:{port}"
        command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds}", "--timeout", "30", "--latency", "-s", str(script), url]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wrong = sum(map(int, re.findall(r"(?:Non-2xx or 3xx responses: |connect |read |write |timeout )(\d+)", text)))
    p50, p99 = (_milliseconds(re.findall(rf"{share}%\s+([\d.]+)(us|ms|s|m)\b", text)[0]) for share in (50, 99))
    return Sustained(float(re.findall(r"Requests/sec:\s+([\d.]+)", text)[0]), wrong, p50, p99)


def _milliseconds(found: tuple[str, str]) -> float:
    return float(found[0]) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[found[1]]


def measured(folder: Path, seconds: int, processes: int = 1) -> Iterator[Ratio]:
    """Measure a run: each figure once, on a server of its own process that has answered some questions already."""
    every = paths_of(folder)
    paths, new = every[:QUESTIONS], every[QUESTIONS:] or every
    with server(folder, processes) as served:
        yield Ratio("front page", 4.0 / served.front, 0.25, "x", f"{served.front:.2f} s from relatum serve, of 4 s", 1.0)
        yield Ratio("page of the run", 4.0 / served.page, 0.1, "x", f"{served.page:.2f} s from relatum serve, of 4 s", 1.0)
        served.wait_until_packed()
        for path in paths:
            get(served.port, path)
        short = max(5, seconds // 3)
        first = at_a_rate(served.port, new, short)
        p50, p99 = (1000 * first[int(share * len(first))] for share in (0.5, 0.99))
        detail = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, {len(first)} answers at {RATE} a second, none asked before"
        yield Ratio("half of the answers to new questions within 5 ms", 5.0 / p50, 0.02, "x", detail, 1.0)
        yield Ratio("99 % of the answers to new questions within 30 ms", 30.0 / p99, 0.02, "x", detail, 1.0)
        before = served.cpu
        found = as_many_as_it_can(served.port, new[len(first) % len(new) :] or new, 8, short)
        each = 1000 * (served.cpu - before) / (found.rate * short)
        detail = f"{found.rate:.0f} a second with 8 clients, p50 {found.p50:.2f} ms, {each:.2f} ms of a processor each"
        yield Ratio("answers a second to new questions", found.rate / 600, 0.01, "x of 600", detail, 1.0)
        taken = at_a_rate(served.port, paths, short)
        p50, p99 = (1000 * taken[int(share * len(taken))] for share in (0.5, 0.99))
        detail = f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, {len(taken)} answers at {RATE} a second"
        yield Ratio("half of the answers within 5 ms", 5.0 / p50, 0.02, "x", detail, 1.0)
        yield Ratio("99 % of the answers within 30 ms", 30.0 / p99, 0.02, "x", detail, 1.0)
        before = served.cpu
        found = as_many_as_it_can(served.port, paths, 8, short)
        each = 1000 * (served.cpu - before) / (found.rate * short)
        detail = f"{found.rate:.0f} a second with 8 clients, p50 {found.p50:.2f} ms, {each:.2f} ms of a processor each"
        yield Ratio("answers a second", found.rate / 600, 0.01, "x of 600", detail, 1.0)
        start = served.memory
        found = as_many_as_it_can(served.port, paths, CLIENTS, seconds)
        grown = served.memory / start
        detail = (
            f"{found.rate:.0f} a second, p50 {found.p50:.0f} ms, p99 {found.p99:.0f} ms, {found.errors} errors, {seconds} s"
        )
        yield Ratio(f"{CLIENTS} clients without an error", float(not found.errors), 1.0, "yes", detail)
        detail = f"{start / 1e6:.0f} MB before {CLIENTS} clients, {served.memory / 1e6:.0f} MB after"
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
