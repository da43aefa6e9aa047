"""Streams that are closed, full or gone, and Ctrl-C at the very start: no traceback, and the right exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import relatum


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_obstacle(closed: str, example_run: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} -m relatum complete {example_run} 'sold(drew, ?, book)' -k 1 {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert ("sold(drew, ?, book)" in done.stdout) == (">&-" not in closed.replace("2>&-", ""))
    assert not list(tmp_path.iterdir())


def test_what_is_printed_to_a_closed_stream_does_not_end_up_in_a_file(example_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.jsonl"
    command = f"{sys.executable} -m relatum predict {example_run} --relation sold --top 3 --to {out} >&- 2>&-"
    subprocess.run(["sh", "-c", command], check=True)
    assert len(out.read_text().splitlines()) == 3


def test_a_full_disk_behind_standard_output_is_one_line(example_run: Path) -> None:
    command = f"{sys.executable} -m relatum complete {example_run} 'sold(drew, ?, book)' > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    *before, said = done.stderr.splitlines()
    assert (done.returncode, said) == (2, "relatum: No space left on device [machine]")
    assert set(before) <= {"compiling kernels, once per machine ..."}  # said where these are the first tests of a clone


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_what_an_encoding_lacks_is_escaped_and_json_stays_json(encoding: str, tmp_path: Path) -> None:
    names = ["日本", "naïve", "\x1b[2J", "\u202eevil", "\x9bc", "plain"]
    facts = [("r", one, other) for one in names for other in names]
    relatum.fit(facts, tmp_path / "run", dim=4, epochs=1, evidence=False, progress=False)
    command = [sys.executable, "-m", "relatum", "complete", str(tmp_path / "run"), "r(plain, ?)"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = subprocess.run(command, capture_output=True, env=environment)
    assert (shown.returncode, shown.stderr) == (0, b"")
    rows = [line for line in shown.stdout.decode(encoding).splitlines() if " in train " in line]
    assert len({len(row) for row in rows if "日" not in row}) == 1  # which is wide
    assert not set("\x1b\x9b\u202e") & set(shown.stdout.decode(encoding))
    assert (r"\u65e5\u672c" if encoding != "utf-8" else "日本") in shown.stdout.decode(encoding)
    plain = subprocess.run([*command, "--json"], capture_output=True, env=environment, check=True).stdout.decode(encoding)
    assert not set("\x1b\x9b\u202e") & set(plain)
    assert {one["entity"] for one in json.loads(plain)["answers"]} == set(names)


@pytest.mark.parametrize(("question", "code"), [("sold(drew, ?, book)", 0), ("nothing(?)", 2)])
def test_a_full_disk_behind_standard_error_changes_nothing_else(question: str, code: int, example_run: Path) -> None:
    command = f"{sys.executable} -m relatum complete {example_run} '{question}' 2> /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, bool(done.stdout)) == (code, code == 0)


def test_who_has_read_enough_ends_it_quietly(example_run: Path) -> None:
    command = f"{sys.executable} -m relatum complete {example_run} 'sold(drew, ?, ?)' --json -k 100 | head -c 1 > /dev/null"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_at_the_very_start_is_one_line(count: Callable[[int, int], int]) -> None:
    for number in range(count(3, 40)):
        started = subprocess.Popen([sys.executable, "-m", "relatum", "--help"], stdout=-3, stderr=-1, text=True)
        time.sleep(0.02 + 0.01 * number)
        started.send_signal(signal.SIGINT)
        said = started.communicate()[1]
        begun = "KeyboardInterrupt" not in said or "<frozen" in said or "site.py" in said  # Python itself may not be up yet
        assert begun, said
        assert started.returncode in (0, 130, -signal.SIGINT, 1)
