"""Marks of processes: those of living ones never count as ended."""

from __future__ import annotations

import re
import subprocess
import sys

from relatum.processes import MARK, exists, has_ended, is_of_here, mark


def test_a_mark_tells_whether_its_process_has_ended() -> None:
    assert re.fullmatch(MARK, mark())
    assert is_of_here(mark())
    assert not has_ended(mark())
    code = "import sys; from relatum.processes import mark; print(mark(), flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        other = child.stdout.readline().strip()
        assert is_of_here(other)
        assert not has_ended(other)
        child.kill()
    assert not exists(child.pid)
    assert has_ended(other)


def test_of_other_machines_nothing_is_known() -> None:
    elsewhere = f"{(int(mark()[:6], 16) + 1) % (1 << 24):06x}{mark()[6:]}"
    assert not is_of_here(elsewhere)
    assert not has_ended(f"{elsewhere[:6]}3ffff0")
