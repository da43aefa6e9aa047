"""A damaged file of decisions, which a server would open: it lists what is there, or says in one sentence why not."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from torture.spoiling import spoil

PATIENCE = 60.0  # seconds


def decisions_trial(folder: Path, rng: random.Random) -> str | None:
    """Return what goes wrong with a damaged file of decisions."""
    from relatum.serving.decisions import Decisions

    path = folder / "decisions.db"
    kept = Decisions(path)
    for number in range(20):
        kept.decide("run", "sold", (f"e{number}", "alex"), "accept" if number % 2 else "reject", 0.5)
    kept.close()
    how = spoil(path, [], rng)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            (folder / "fault").write_text(_use(path) or "", encoding="utf-8")
            code = 0
        finally:
            os._exit(code)
    fault = _wait(child) or (folder / "fault").read_text(encoding="utf-8")
    for left in folder.glob("decisions.db*"):
        left.rmdir() if left.is_dir() and not left.is_symlink() else left.unlink()
    return f"{how}: {fault}" if fault else None


def _use(path: Path) -> str | None:
    from relatum.errors import RelatumError
    from relatum.serving.decisions import Decisions
    from relatum.serving.errors import RequestError

    try:
        opened = Decisions(path)
        listed = opened.standing("run")
        opened.counts("run")
        list(opened.accepted("run"))
        opened.of_relation("run", "sold")
        if listed:
            opened.undo("run", listed[0].id)
        opened.decide("run", "sold", ("drew", "alex"), "accept", 0.5)
        opened.close()
    except (RelatumError, RequestError) as error:  # the second is what a client of the server is told
        return f"more than one line: {error}" if "\n" in str(error) else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _wait(child: int) -> str | None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return None if status == 0 else f"the process ended with {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"no end after {PATIENCE:.0f} s"
