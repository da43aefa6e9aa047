"""`relatum serve`: a server that starts, answers and stops, and mistakes in one line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from support.command_line import Relatum
from support.mistakes import code_of


def get(port: int, path: str, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@contextmanager
def serving(run: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Yield a server that is ended if nothing else has done that."""
    command = [sys.executable, "-m", "relatum", "serve", str(run), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server
        finally:
            server.terminate()


def test_a_server_starts_answers_and_stops(example_run: Path) -> None:
    with serving(example_run) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        port = int(line.split("http://127.0.0.1:")[1].split("/")[0])
        assert get(port, "/")[0] == 200
        status, body = get(port, "/example/ask.json?q=sold(drew,%20%3F,%20book)")
        assert status == 200
        assert json.loads(body)["answers"]
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in (0, 130, -signal.SIGINT)


@pytest.mark.parametrize(("again", "pause"), [(signal.SIGINT, 0.0), (signal.SIGTERM, 0.01), (signal.SIGINT, 0.2)])
def test_two_signals_end_it_without_a_traceback(example_run: Path, again: signal.Signals, pause: float) -> None:
    with serving(example_run) as server:
        assert server.stdout is not None
        server.stdout.readline()
        server.send_signal(signal.SIGINT)
        time.sleep(pause)
        server.send_signal(again)
        out, err = server.communicate(timeout=60)
    assert (out, err.removeprefix("relatum: interrupted\n")) == ("", "")
    assert server.returncode in (130, -signal.SIGINT, -signal.SIGTERM)


def test_processes_share_the_port_and_go_together(example_run: Path, tmp_path: Path) -> None:
    with serving(example_run, "--processes", "2", "--decisions", str(tmp_path / "decisions.db")) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().split("http://127.0.0.1:")[1].split("/")[0])
        found = {get(port, "/example/ask.json?q=sold(drew,%20%3F,%20book)") for _ in range(20)}
        assert [status for status, _ in found] == [200], "all processes give the same bytes"
        workers = workers_of(server.pid)
        os.kill(workers[0], signal.SIGKILL)  # another takes its place
        wait_for(lambda: len(set(workers_of(server.pid)) - {workers[0]}) == 2)
        assert {get(port, "/-/health")[0] for _ in range(5)} == {200}
        server.send_signal(signal.SIGINT)
        assert server.wait(30) in (0, 130, -signal.SIGINT)
    assert not Path(f"/proc/{workers[1]}").exists()


def workers_of(server: int) -> list[int]:
    """Return the processes that a server has started to answer, by their names, for Python starts one more to clean up."""
    children = map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())
    return [one for one in children if b"resource_tracker" not in Path(f"/proc/{one}/cmdline").read_bytes()]


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_others_need_the_token_that_is_shown(example_run: Path) -> None:
    with serving(example_run, "--host", "0.0.0.0") as server:  # noqa: S104
        assert server.stdout is not None
        address = server.stdout.readline().split("http://127.0.0.1:")[1].split()[0]
        port, token = int(address.split("/")[0]), address.split("?token=")[1]
        assert len(token) >= 32
        assert get(port, "/-/health")[0] == 401
        assert get(port, "/-/health", Authorization=f"Bearer {token}")[0] == 200
        assert get(port, f"/-/health?token={token}")[0] == 303
        server.terminate()
        server.wait(20)


def test_mistakes_are_one_line(run: Relatum, tmp_path: Path, example_run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, text = run("serve", str(example_run), "--port", str(taken.getsockname()[1]))
    assert (code, text.count("\n")) == (2, 1)
    assert "cannot listen there" in text
    other = tmp_path / "file.txt"
    other.write_text("no database" * 100)
    code, _, text = run("serve", str(example_run), "--decisions", str(other))
    assert (code, text.count("\n")) == (2, 1)
    assert "file of decisions" in text


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn"])
def test_without_the_extra_one_line_says_how_to_install_it(
    run: Relatum, example_run: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in [name for name in sys.modules if name.startswith("relatum.serving.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    code, _, text = run("serve", str(example_run))
    assert (code, code_of(text), text.count("\n")) == (2, "missing-extra", 1)
    assert missing in text
    assert "'relatum[serve]'" in text
