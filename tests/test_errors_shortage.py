"""Where memory or threads are short, commands end in one line, or do without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from relatum.errors import shortage

LIMITED = """
import resource, sys
from pathlib import Path
import numba, torch  # which end the program by themselves where they cannot be loaded
from relatum.cli import main
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv.pop(1)) << 20),) * 2)
main()
"""


@pytest.mark.parametrize("room", [2000, 300, 60, 10])
def test_under_a_memory_limit_commands_end_well_or_in_one_line(room: int, example_run: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    train = ("train", "--data", "example", "--out", out, "--set", "training.epochs=1", "--set", "model.dim=8")
    (tmp_path / "shop.csv").write_text("name,kind\n" + "".join(f"g{number},tea\n" for number in range(50)))
    imported = ("import", str(tmp_path / "shop.csv"), "--out", str(tmp_path / "facts"))
    for arguments in (train, ("complete", str(example_run), "sold(drew, ?, book)"), imported):
        command = [sys.executable, "-c", LIMITED, str(room), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, 2), done.stderr
        assert "Traceback" not in done.stderr
        assert not done.returncode or done.stderr.splitlines()[-1].startswith("relatum: ")


def test_a_shortage_is_told_from_other_errors() -> None:
    assert "memory" in str(shortage(MemoryError()))
    assert "memory" in str(shortage(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")))
    assert "memory" in str(shortage(ImportError("libx.so: failed to map segment from shared object")))
    assert "threads" in str(shortage(RuntimeError("can't start new thread")))
    assert shortage(RuntimeError("something else")) is None
