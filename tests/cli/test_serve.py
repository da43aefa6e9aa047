"""`relatum serve`: a server that starts, answers and stops, and mistakes in one line."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path

import pytest

from support.command_line import Relatum


def get(port: int, path: str, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_a_server_starts_answers_and_stops(example_run: Path) -> None:
    command = [sys.executable, "-m", "relatum", "serve", str(example_run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        port = int(line.split("http://127.0.0.1:")[1].split("/")[0])
        assert get(port, "/")[0] == 200
        status, body = get(port, "/example/ask.json?q=sold(drew,%20%3F,%20book)")
        assert status == 200
        assert json.loads(body)["answers"]
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in (0, 130, -signal.SIGINT)


def test_others_need_the_token_that_is_shown(example_run: Path) -> None:
    command = [sys.executable, "-m", "relatum", "serve", str(example_run), "--port", "0", "--host", "0.0.0.0"]  # noqa: S104
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
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
    code, _, text = run("serve", str(tmp_path))
    assert (code, text.count("\n")) == (2, 1)
    assert "not a run directory" in text
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, text = run("serve", str(example_run), "--port", str(taken.getsockname()[1]))
    assert (code, text.count("\n")) == (2, 1)
    assert "cannot listen there" in text
    code, _, text = run("serve", str(example_run), "--host", "0.0.0.0", "--token", "short")  # noqa: S104
    assert (code, text.count("\n")) == (2, 1)
    assert "at least 16 characters" in text
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
    assert (code, text) == (2, f"relatum: {missing} is not installed; install it with: pip install 'relatum[serve]'\n")
