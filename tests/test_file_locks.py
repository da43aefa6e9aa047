"""A lock keeps others off, may be taken again by its holder, and is free once its process is dead."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from relatum.file_locks import LockTakenError, locked
from support.locks import locked_elsewhere

HOLDER = """
import sys, time
from pathlib import Path
from relatum.file_locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_keeps_other_threads_off_for_as_long_as_they_wait(tmp_path: Path) -> None:
    with locked_elsewhere(tmp_path / "lock"):
        for patience in (0.0, 0.2):
            began = time.monotonic()
            with pytest.raises(LockTakenError), locked(tmp_path / "lock", patience):
                pass
            assert time.monotonic() - began >= patience
    with locked(tmp_path / "lock", 0), locked(tmp_path / "lock", 0), locked(tmp_path / "other", 0):
        pass
    with locked_elsewhere(tmp_path / "lock"):  # was given back, and is the file that it was
        assert {path.name for path in tmp_path.iterdir()} == {"lock", "other"}


def test_a_lock_is_free_when_its_process_is_killed_and_what_is_in_its_file_stays(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockTakenError), locked(tmp_path / "lock", 0):
            pass
        holder.kill()
        holder.wait()
        with locked(tmp_path / "lock", 0):
            pass
    (tmp_path / "lock").write_bytes(b"content")
    with locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "lock").read_bytes() == b"content"
