"""A server that is killed while decisions are written loses none that it acknowledged, and never leaves a torn file."""

from __future__ import annotations

import itertools
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from relatum.serving.decisions import Decisions

WRITER = """
import sys
from pathlib import Path
from relatum.serving.decisions import Decisions
decisions, name = Decisions(Path(sys.argv[1])), sys.argv[2]
number = 0
while True:
    one = decisions.decide("shop", "sold", (name, str(number)), "accept" if number % 3 else "reject")
    print(one.id, flush=True)  # only now it is acknowledged
    if number % 5 == 4:
        decisions.undo("shop", one.id)
        print(-one.id, flush=True)
    number += 1
"""


def whole(path: Path) -> set[int]:
    """Return the numbers of the decisions that stand; the file must be whole."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found = {number for (number,) in connection.execute("SELECT id FROM decisions WHERE undone IS NULL")}
    connection.close()
    return found


def acknowledged(lines: list[str]) -> tuple[set[int], set[int]]:
    """Return which decisions were acknowledged and stand, and which were undone; a last line without its end is none."""
    numbers = [int(line) for line in lines if line.endswith("\n")]
    undone = {-number for number in numbers if number < 0}
    return {number for number in numbers if number > 0} - undone, undone


def test_a_writer_that_is_killed_at_a_random_moment(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    path, rng = tmp_path / "decisions.db", random.Random(7)
    standing: set[int] = set()
    undone: set[int] = set()
    for number in range(count(5, 50)):
        command = [sys.executable, "-c", WRITER, str(path), f"writer {number}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            more, taken = acknowledged([first, *writer.stdout.readlines()])
        standing |= more
        undone |= taken
        found = whole(path)
        # What was written but not acknowledged may be there: the kill came between the two.
        lost, back = standing - found, undone & found
        late = {max(standing)}  # undone on disk, not acknowledged yet
        assert lost <= late
        assert not back
        standing -= lost
    assert len(standing) > 20
    reopened = Decisions(path)
    assert sum(reopened.counts("shop").values()) == len(whole(path))


def test_a_server_that_is_killed_while_clients_decide(
    example_run: Path, tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    path, rng = tmp_path / "decisions.db", random.Random(3)
    kept: dict[int, str] = {}
    missed = 0
    for _ in range(count(1, 10)):
        command = [sys.executable, "-m", "relatum", "serve", str(example_run), "--port", "0", "--decisions", str(path)]
        command += ["--seconds", "60"]  # the first answer may wait for kernels that are compiled
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
            timer = threading.Timer(rng.uniform(0.1, 1.0), server.kill)
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("GET", "/example/decisions.json")
                csrf = json.loads(connection.getresponse().read())["csrf"]
                fact = _facts(connection)
                while True:
                    body = json.dumps({**next(fact), "verdict": rng.choice(["accept", "reject"])})
                    headers = {"Content-Type": "application/json", "X-Relatum-Csrf": csrf}
                    connection.request("POST", "/example/decisions.json", body, headers)
                    answer = connection.getresponse()
                    content = json.loads(answer.read())
                    assert answer.status == 200, content
                    kept[content["id"]] = content["verdict"]
                    if timer.ident is None:  # the first one compiles kernels: the kill comes after it
                        timer.start()
            except (OSError, HTTPException):
                timer.join()
            finally:
                connection.close()
                timer.cancel()
                server.kill()
        whole(path)
        with sqlite3.connect(path) as database:
            found = dict(database.execute("SELECT id, verdict FROM decisions"))
        database.close()
        assert kept.items() <= found.items()
        assert len(found) <= len(kept) + 1 + missed  # at most one more in each round, whose answer was cut off
        missed = len(found) - len(kept)
    assert len(kept) >= 2


def _facts(connection: HTTPConnection) -> Iterator[dict[str, object]]:
    """Yield facts to decide on, over and over."""
    connection.request("GET", "/example/facts.json?relation=sold&limit=20")
    listed = json.loads(connection.getresponse().read())["facts"]
    for one in itertools.cycle(listed):
        yield {"relation": one["relation"], "entities": [entity["name"] for entity in one["entities"]]}
