"""Claims: one process has one, a dead process none, and a file system whose locks do not do is refused."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from relatum.errors import RelatumError
from relatum.heartbeat import sign_of_life
from relatum.runs import run_claims
from relatum.runs.run_claims import Claims
from support.no_locks import LOCKLESS, WITHOUT_LOCKS

HOLD = """
import sys, time
from pathlib import Path
from relatum.runs.run_claims import Claims
with Claims(Path(sys.argv[1])).claimed("it") as claim:
    print("held" if claim else "not held", flush=True)
    time.sleep(600)
"""


def write_sign(folder: Path, **changed: object) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "it.json").write_text(json.dumps({**sign_of_life(), "since": time.time() - 3600, **changed}))


def can_claim(folder: Path) -> bool:
    with Claims(folder).claimed("it") as claim:
        return claim is not None


def test_one_has_it_until_it_is_given_back(tmp_path: Path) -> None:
    claims = Claims(tmp_path / "claims")
    with claims.claimed("it") as first:
        assert first is not None
        assert not can_claim(tmp_path / "claims")
        with claims.claimed("else") as other:
            assert other is not None
        holder = claims.holder("it")
        assert holder is not None
        assert (holder.process, holder.is_dead()) == (os.getpid(), False)
        assert claims.describe("it").startswith(f"{holder.name}:{os.getpid()}, since 20")
    assert claims.holder("it") is None
    with pytest.raises(KeyError), claims.claimed("it"):
        raise KeyError
    assert can_claim(tmp_path / "claims")


def test_a_killed_process_has_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert not can_claim(tmp_path)
        assert f":{child.pid}, since" in Claims(tmp_path).describe("it")
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert (tmp_path / "it.json").exists()
    (tmp_path / ".it.json.0123456789ab-0123456789ab.tmp").write_text("half")
    (tmp_path / ".others.json.0123456789ab-0123456789ab.tmp").write_text("half")
    assert can_claim(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".others.json.0123456789ab-0123456789ab.tmp", "it.lock"]


def test_what_a_killed_process_had_of_what_is_done_is_cleared_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    write_sign(tmp_path)
    Claims(tmp_path).clear("it")
    assert not (tmp_path / "it.json").exists()
    Claims(tmp_path).clear("it")  # there is nothing to clear
    with Claims(tmp_path).claimed("it"):
        Claims(tmp_path).clear("it")
        assert (tmp_path / "it.json").exists()


def test_on_the_same_host_a_free_lock_is_enough(tmp_path: Path) -> None:
    write_sign(tmp_path)  # its number is that of this process, which is alive
    assert can_claim(tmp_path)


def test_on_another_host_a_quarter_of_an_hour_must_pass_as_well(tmp_path: Path) -> None:
    for age, free in ((60, False), (14 * 60, False), (16 * 60, True)):
        write_sign(tmp_path, host="elsewhere", time=time.time() - age)
        assert can_claim(tmp_path) is free, age


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"host": 1, "process": "x", "since": 0, "time": 0}', "\0"])
def test_a_sign_that_is_something_else_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "it.json").write_text(content)
    assert Claims(tmp_path).describe("it") == "another process"
    assert can_claim(tmp_path)


def test_life_beside_a_free_lock_shows_that_locks_do_not_reach_other_hosts(tmp_path: Path) -> None:
    claims, now = Claims(tmp_path), time.time()
    for age in (240, 180, 120, 60):
        write_sign(tmp_path, host="elsewhere", since=now - 600, time=now - age)
        with claims.claimed("it") as claim:
            assert claim is None
    write_sign(tmp_path, host="elsewhere", since=now - 600, time=now)
    with pytest.raises(RelatumError, match="its locks do not reach other hosts"), claims.claimed("it"):
        pass


def test_a_claim_that_another_has_taken_over_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_claims, "BEAT", 0.0)  # it looks at once, as after a sleep of the machine
    with Claims(tmp_path).claimed("it") as claim:
        assert claim is not None
        claim.check()
        write_sign(tmp_path, host="elsewhere")
        with pytest.raises(RelatumError, match="another process has taken this over"):
            claim.check()
    found = Claims(tmp_path).holder("it")
    assert found is not None
    assert found.host == "elsewhere"


def test_life_is_shown_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_claims, "_SOON", 0.02)
    monkeypatch.setattr(run_claims, "BEAT", 0.02)
    claims, seen = Claims(tmp_path), set()
    deadline = time.monotonic() + 30
    with claims.claimed("it"):
        while len(seen) < 5 and time.monotonic() < deadline:
            seen.add(claims.holder("it"))
    assert len({holder.time for holder in seen if holder}) == 5
    assert len({holder.since for holder in seen if holder}) == 1


def test_a_lock_that_a_lost_machine_holds_is_named(tmp_path: Path) -> None:
    with Claims(tmp_path).claimed("it"):
        write_sign(tmp_path, host="elsewhere", process=7, time=time.time() - 1200)
        assert not can_claim(tmp_path)
        line = Claims(tmp_path).describe("it")
        began = threading.Timer(0.2, write_sign, (tmp_path,), {"host": "another", "process": 8})
        began.start()
        assert Claims(tmp_path).describe("it").startswith("another:8, since ")
    assert line.startswith("elsewhere:7, since ")
    assert ", silent for 20 min" in line
    assert line.endswith(f", but it holds its lock; if that machine is off, delete {tmp_path / 'it.lock'}")


@LOCKLESS
@pytest.mark.parametrize("error", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP], ids=errno.errorcode.get)
def test_a_file_system_without_locks_is_refused(tmp_path: Path, error: int) -> None:
    code = WITHOUT_LOCKS + "from relatum.cli import main; main()"
    (tmp_path / "small.toml").write_text('data = "example"\n')
    command = ["run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "runs")]
    done = subprocess.run([sys.executable, "-c", code, str(error), *command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"relatum: {tmp_path / 'runs'}: its file system has no locks, by which workers share a list; "
        "mount it with locks, or choose another --out\n",
    )
