"""Expensive requests with little time: by Python, on the command line and of a server, whose other clients go on.

None may take longer than 1.5 times its limit. Beside that each has a quarter of a second, and the time that it waited for a
processor after its limit, since others had it: Linux counts that for each thread. Compiling and loading kernels counts for
no limit. A command also has the time that the cheapest question takes, most of it to start.

A request to the server must leave it without work, whether it was answered, refused or abandoned. A plain question that a
second client asks meanwhile is answered at once; it may be refused only if it was without a processor for half of its time.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

from torture.campaign import Campaign
from torture.expensive import Asked, expensive
from torture.workbench import Workbench, workbench

if TYPE_CHECKING:
    from relatum.api import Run

MOST, ALLOWANCE = 1.5, 0.25  # times the limit, and seconds beside
_LIMITS = (0.3, 0.5, 1.0, 2.0)  # seconds
_SERVER_LIMIT = 1.0
_QUICK = 1.0  # seconds in which the second client has its answer
_LOOK = 0.02  # seconds between two looks at how long threads have waited
_COMPILED = 30  # requests before all others, for which kernels are compiled, once per machine
_PATIENCE = 120.0  # seconds after which something hangs
_DOORS, _SHARES = ("Python", "command", "server"), (14, 3, 3)
_ASSUMED = ("sold(drew, kim, tea)", "bought(kim, drew, book)", "sold(ana, kim, lamp)")
_PLAIN = ("ask.json?q=sold(drew, ?, book)", "query.json?q=SELECT buyer FROM sold WHERE item = 'tea'")


def attack(campaign: Campaign) -> None:
    """Ask random expensive things: most by Python, some by commands and of a server."""
    bench = workbench()
    attacker = _Attacker(bench)
    with _served(bench) as server:
        for number, rng in campaign.trials():
            asked = expensive(rng)
            (door,) = rng.choices(_DOORS, _SHARES)
            if door == "server" and asked.language in ("algebra", "sql", "question"):
                trial = server.trial
            elif door == "command" and asked.language in ("algebra", "sql", "coverage"):
                trial = attacker.command
            else:
                door, trial = "Python", attacker.python
            begun = time.monotonic()
            fault = trial(asked, rng)
            shown = asked.text if len(asked.text) < 200 else f"{asked.text[:200]}... ({len(asked.text):,} characters)"
            campaign.record(f"{door}: {asked.kind}", number, fault and f"{fault}: {shown}", time.monotonic() - begun)


class _Waiting:
    """How long a thread of a process waited for a processor after a moment, while this is entered: the longest counts."""

    def __init__(self, process: int, after: float) -> None:
        self._process, self._after, self._over = process, after, threading.Event()
        self._before: dict[str, float] | None = None
        self._last: dict[str, float] = {}
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> _Waiting:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    @property
    def seconds(self) -> float:
        """Seconds that were waited for."""
        before = self._before or {}
        return max((waited - before.get(thread, 0.0) for thread, waited in self._last.items()), default=0.0)

    def _watch(self) -> None:
        begun = time.monotonic()
        self._look()
        while not self._over.wait(_LOOK):
            if self._before is None and time.monotonic() - begun >= self._after:
                self._before = dict(self._last)  # as it was before: this thread may come late itself
            self._look()

    def _look(self) -> None:
        for path in Path(f"/proc/{self._process}/task").glob("*/schedstat"):
            try:
                self._last[path.parent.name] = int(path.read_text().split()[1]) / 1e9
            except (OSError, IndexError):  # it has ended
                continue


def _too_long(taken: float, limit: float, waiting: _Waiting) -> str | None:
    """Return that something took too long, if it did."""
    if taken <= limit:
        return None  # it never waited after its limit
    if taken > MOST * limit + ALLOWANCE + waiting.seconds:
        return f"{taken:.2f} s with a limit of {limit:g} s, {waiting.seconds:.2f} s of it without a processor"
    return None


class _Attacker:
    """Asks by Python and by commands."""

    def __init__(self, bench: Workbench) -> None:
        import relatum

        self._bench = bench
        self._runs: dict[str, Run] = {name: relatum.open(bench.prepared / name) for name in ("run", "shop-run")}
        area = bench.area(("run",))
        cheapest = [area.run("complete", "run", "sold(drew, ?, book)") for _ in range(3)]
        assert not any(ended.code for ended in cheapest), cheapest
        self._start = min(ended.seconds for ended in cheapest)
        area.remove()
        for number in range(_COMPILED):
            self.python(expensive(random.Random(number)), random.Random(number))

    def python(self, asked: Asked, rng: random.Random) -> str | None:
        """Ask by Python."""
        from relatum.errors import RelatumError
        from relatum.time_limit import now

        limit = rng.choice(_LIMITS)
        with _Waiting(os.getpid(), limit) as waiting:
            begun = now()
            try:
                self._ask(self._runs[asked.run], asked, rng, limit)
            except RelatumError:
                pass
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            taken = now() - begun
        return _too_long(taken, limit, waiting)

    def _ask(self, run: Run, asked: Asked, rng: random.Random, seconds: float) -> None:
        from relatum.resources.queries import query
        from relatum.resources.what_if import what_if
        from relatum.runs.joining import has_joins

        if asked.language == "sql":
            run.sql(asked.text, seconds=seconds)
        elif asked.language == "question":
            rng.choice((query, _complete))(run, asked.text, seconds=seconds)
        elif asked.language == "what if":
            facts = rng.sample(
                ("sold(drew, kim, tea)", "bought(kim, drew, book)", "sold(ana, kim, lamp)"), rng.randint(0, 3)
            )
            what_if(run, asked.text, facts, {"own": "union(sold, bought)"} if rng.random() < 0.3 else {}, seconds=seconds)
        elif asked.language == "coverage":
            run.joined(asked.text, seconds=seconds, coverage=0.8)
        elif rng.random() < 0.5 or has_joins(run.parsed(asked.text).expression):
            run.joined(asked.text, seconds=seconds, new_only=rng.random() < 0.3)
        else:
            run.query(asked.text, seconds=seconds, mode=rng.choice(("exact", "closed")))

    def command(self, asked: Asked, rng: random.Random) -> str | None:
        """Ask by a command."""
        limit, area = rng.choice(_LIMITS), self._bench.area((asked.run,))
        arguments = ["sql" if asked.language == "sql" else "query", asked.run, asked.text, "--seconds", str(limit)]
        if asked.language == "coverage":
            arguments += ["--coverage", "0.8"]
        elif asked.language == "algebra" and rng.random() < 0.3:
            arguments.append("--explain")
        try:
            started = area.start(*arguments)
            with _Waiting(started.process, limit) as waiting:
                ended = started.wait(_PATIENCE)
            return ended.fault or _too_long(ended.seconds - self._start, limit, waiting)
        finally:
            area.remove()


def _complete(run: Run, text: str, *, seconds: float) -> None:
    run.complete(text, seconds=seconds)


class _Server:
    """A server in a process of its own, with two threads for slow answers, and two clients."""

    def __init__(self, process: int, port: int) -> None:
        self._process, self._port = process, port
        self._second = ThreadPoolExecutor(1)

    def trial(self, asked: Asked, rng: random.Random) -> str | None:
        """Ask something expensive, and something plain beside it."""
        path = f"/{asked.run}/query.json?q={quote(asked.text)}"
        later, plain = rng.uniform(0.02, 0.8), rng.choice(_PLAIN)
        other: Future[str | None] = self._second.submit(self._plain, later, f"/run/{quote(plain, safe='?=/')}")
        leaves = rng.uniform(0.05, 0.7) if rng.random() < 0.3 else None
        with _Waiting(self._process, 0.0 if leaves else _SERVER_LIMIT) as waiting:
            begun = time.monotonic()
            status = self.get(path, leaves)
            taken = time.monotonic() - begun
            free = self._free(waiting)
        fault = _too_long(taken, _SERVER_LIMIT, waiting)
        if status not in (None, 200, 400, 404, 503):
            fault = f"status {status}"
        return fault or free or other.result()

    def _plain(self, later: float, path: str) -> str | None:
        time.sleep(later)
        with _Waiting(self._process, 0.0) as waiting:
            begun = time.monotonic()
            status = self.get(path)
            taken = time.monotonic() - begun
        starved = waiting.seconds > _SERVER_LIMIT / 2  # then its own time may be over, too
        if taken > _QUICK + waiting.seconds or not (status == 200 or (status == 503 and starved)):
            late = f"{waiting.seconds:.2f} s of it without a processor"
            return f"a second client's plain question: status {status} after {taken:.2f} s, {late}"
        return None

    def _free(self, waiting: _Waiting) -> str | None:
        """Return that the server still works for a client that is answered, refused or gone, if it does for long."""
        begun = time.monotonic()
        while time.monotonic() - begun < _QUICK + waiting.seconds:
            if self._taken() <= 1:  # perhaps that of the second client
                return None
            time.sleep(_LOOK)
        return f"{self._taken()} requests are at work, {_QUICK:g} s after the first is over"

    def _taken(self) -> int:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        connection.request("GET", "/-/health.json")
        found: int = json.loads(connection.getresponse().read())["at_work"]
        connection.close()
        return found

    def get(self, path: str, leaves: float | None = None) -> int | None:
        """Return the status of an answer; None if the client leaves before there is one, after so many seconds."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=leaves or _PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except TimeoutError:
            return None
        except (HTTPException, OSError):
            return 0
        finally:
            connection.close()


@contextmanager
def _served(bench: Workbench) -> Iterator[_Server]:
    """Yield a server of the prepared runs, whose kernels are compiled."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    words = ("serve", "run", "shop-run", "--port", "0", "--seconds", f"{_SERVER_LIMIT:g}")
    with subprocess.Popen(
        [sys.executable, "-m", "relatum", *words],
        cwd=bench.prepared,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            line = next(one for one in process.stdout if "http://" in one)
            server = _Server(process.pid, int(line.partition("127.0.0.1:")[2].partition("/")[0]))
            threading.Thread(target=process.stdout.read, daemon=True).start()
            for path in (*_PLAIN, "query.json?q=difference(sold, bought)", "query.json?q=union(sold, bought)"):
                while server.get(f"/run/{quote(path, safe='?=/')}") != 200:  # it loads, and compiles
                    time.sleep(0.2)
            yield server
        finally:
            process.terminate()
