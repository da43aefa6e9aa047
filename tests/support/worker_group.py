"""Real groups of workers for tests: torchrun in a process group of its own, its workers by number, and what they write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

SETTINGS = (
    "model.dim=16",
    "training.epochs=8",
    "training.validate_every=1",
    "training.batch_size=32",
    "training.batches_per_step=5",
    "training.num_negatives=50",
    "training.evidence=false",
)
_PATIENCE = 120.0  # seconds
_ROOT = Path(__file__).parents[2]


def write_facts(folder: Path) -> Path:
    """Write a small dataset, and return its folder."""
    rng = np.random.default_rng(5)
    drawn = {
        (name, *(f"e{int(300 * rng.random() ** 2):03d}" for _ in range(arity)))
        for name, arity in (("likes", 2), ("sold", 3))
        for _ in range(400)
    }
    facts = sorted(drawn)
    rng.shuffle(facts)
    folder.mkdir()
    for part, lines in (("train", facts[:600]), ("valid", facts[600:680]), ("test", facts[680:])):
        (folder / f"{part}.txt").write_text("".join("\t".join(fact) + "\n" for fact in lines))
    return folder


def train_options(data: Path, out: Path) -> list[str]:
    """Return the arguments that train a small model."""
    changes = [word for change in SETTINGS for word in ("--set", change)]
    return ["train", "--data", str(data), "--out", str(out), *changes]


@contextmanager
def workers(
    count: int, arguments: list[str], restarts: int = 0, environment: Mapping[str, str] | None = None, module: bool = True
) -> Iterator[Workers]:
    """Yield workers that carry out a command of relatum, or a script; whatever is left of them is killed at the end."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    command += [f"--max-restarts={restarts}", *(["-m", "relatum"] if module else []), *arguments]
    paths = os.pathsep.join([str(_ROOT / "src"), str(_ROOT / "tests")])
    own = {**os.environ, "PYTHONPATH": paths, "RELATUM_THREADS": "1", "OMP_NUM_THREADS": "1", **(environment or {})}
    process = subprocess.Popen(
        command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    started = Workers(process)
    try:
        yield started
    finally:
        started.kill_all()


class Workers:
    """A launcher and the workers that it has started."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def pid(self, number: int) -> int:
        """Return the process of a worker, once it is there."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            for child in self._children():
                if f"\0RANK={number}\0" in _environment(child):
                    return child
            time.sleep(0.02)
        raise AssertionError(f"worker {number} did not start")

    def kill(self, number: int) -> bool:
        """Kill a worker, which cannot do anything about it, and return whether it was still there."""
        try:
            os.kill(self.pid(number), signal.SIGKILL)
        except (AssertionError, ProcessLookupError):
            if self.process.wait(_PATIENCE) != 0:
                raise
            return False  # all had ended well before
        return True

    def wait_for(self, path: Path) -> None:
        """Wait until a file is there."""
        end = time.monotonic() + _PATIENCE
        while not path.exists():
            assert time.monotonic() < end, f"{path} did not come"
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.02)

    def end(self) -> tuple[int, str, str]:
        """Return exit code, standard output and standard error."""
        out, err = self.process.communicate(timeout=_PATIENCE)
        return self.process.returncode, out, err

    def kill_all(self) -> None:
        """Kill the launcher and all workers."""
        children = self._children()
        for pid in [self.process.pid, *children]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.communicate()

    def _children(self) -> list[int]:
        try:
            text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except OSError:
            return []
        found = [int(word) for word in text.split()]
        if found and not any("\0RANK=" in _environment(child) for child in found):  # a shim may stand between
            return found
        return [child for child in found if "\0RANK=" in _environment(child)]


def _environment(pid: int) -> str:
    try:
        return "\0" + Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace") + "\0"
    except OSError:
        return ""
