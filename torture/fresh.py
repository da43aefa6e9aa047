"""A really fresh `relatum ARGUMENTS`, with whatever surrounds it: variables, streams, limits, flags of Python, a signal."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from torture.areas import Area
from torture.commands import kernels_folder

PATIENCE = 60.0  # seconds of waiting, and of work if others are at work on the machine
_PIPE, _CLOSED = "pipe", "closed"


@dataclass(frozen=True)
class Fresh:
    """A command and what surrounds it.

    Attributes:
        arguments: what follows `relatum`.
        environment: variables that are set; None takes one away.
        flags: of Python.
        before: code that is run before relatum.
        limits: such as `{"RLIMIT_NOFILE": 20}`.
        out: a file for standard output, `closed`, or `pipe` for a reader that leaves after a line.
        err: a file for standard error, or `closed`.
        stdin: whether there is a standard input.
        umask: for new files.
        folder: where it runs, by default the area.
        signal: its number, and after how many seconds it is sent.
        inside: called in the new process before anything else.
    """

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    before: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    out: str = ""
    err: str = ""
    stdin: bool = True
    umask: int = 0o022
    folder: str = ""
    signal: tuple[int, float] | None = None
    inside: Callable[[], None] | None = None

    def of(self, arguments: tuple[str, ...]) -> Fresh:
        """Return the same for a command."""
        return replace(self, arguments=arguments)


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str
    seconds: float
    hangs: bool = False

    @property
    def fault(self) -> str | None:
        """What no command may do in any surrounding."""
        last = (self.err.strip().splitlines() or [""])[-1]
        if self.hangs:
            return f"no end after {self.seconds:.0f} s: {last}"
        if "Traceback (most recent call last)" in self.err or "Exception ignored" in self.err:
            return f"traceback: {last}"
        return None if self.code in (0, 2) else f"exit code {self.code}: {last}"


def run_fresh(area: Area, fresh: Fresh) -> Outcome:
    """Run a command to its end; one that takes too long is killed."""
    said = area.folder.with_name(f"{area.folder.name}-said")
    out, err = fresh.out or str(said / "fresh.out"), fresh.err or str(said / "fresh.err")
    program = ["-m", "relatum"] if not fresh.before else ["-c", f"{fresh.before}\n{_AS_MODULE}"]
    files = {name: _opened(path) for name, path in (("stdout", out), ("stderr", err))}
    begun = time.monotonic()
    started = subprocess.Popen(
        [sys.executable, *fresh.flags, *program, *fresh.arguments],
        stdin=subprocess.DEVNULL,
        stdout=files["stdout"],
        stderr=files["stderr"],
        cwd=fresh.folder or area.folder,
        env=_environment(area, fresh),
        preexec_fn=lambda: _surround(fresh),
    )
    for file in files.values():
        if file >= 0:
            os.close(file)
    if fresh.out == _PIPE and started.stdout is not None:
        started.stdout.readline()
        started.stdout.close()
    hangs = _wait(started, fresh)
    code = started.wait()
    texts = [Path(name).read_text(encoding="utf-8", errors="replace") if _is_own(name) else "" for name in (out, err)]
    return Outcome(code, texts[0], texts[1], time.monotonic() - begun, hangs)


_AS_MODULE = "import runpy, sys\nsys.argv[0] = 'relatum'\nrunpy.run_module('relatum', run_name='__main__', alter_sys=True)"


def _opened(path: str) -> int:
    if path == _PIPE:
        return subprocess.PIPE
    return os.open(os.devnull if path == _CLOSED else path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if _is_own(path) else 0))


def _is_own(path: str) -> bool:
    return path not in (_PIPE, _CLOSED) and not path.startswith("/dev/")


def _environment(area: Area, fresh: Fresh) -> dict[str, str]:
    whole: dict[str, str | None] = {
        **os.environ,
        "RELATUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "RELATUM_CACHE": str(area.folder / "cache"),
        "TMPDIR": str(area.folder / "tmp"),
        "NUMBA_CACHE_DIR": str(kernels_folder()),
        "HOME": str(area.folder / "tmp"),
        **fresh.environment,
    }
    if "COLUMNS" not in fresh.environment:
        whole.pop("COLUMNS", None)
    return {name: value for name, value in whole.items() if value is not None}


def _surround(fresh: Fresh) -> None:
    os.umask(fresh.umask)
    if fresh.out == _CLOSED:
        os.close(1)
    if fresh.err == _CLOSED:
        os.close(2)
    if not fresh.stdin:
        os.close(0)
    if fresh.inside is not None:
        fresh.inside()
    for limit, value in fresh.limits.items():
        number = getattr(resource, limit)
        resource.setrlimit(number, (value, resource.getrlimit(number)[1]))


def _wait(started: subprocess.Popen[bytes], fresh: Fresh) -> bool:
    """Wait for the end, with a signal on the way; return whether the process had to be killed."""
    if fresh.signal is not None:
        with suppress(subprocess.TimeoutExpired):
            started.wait(fresh.signal[1])
        if started.poll() is None:
            started.send_signal(fresh.signal[0])
    until = time.monotonic() + PATIENCE
    while True:
        with suppress(subprocess.TimeoutExpired):
            started.wait(max(until - time.monotonic(), 0.1))
            return False
        if _spent(started.pid) > PATIENCE or time.monotonic() > until + 2 * PATIENCE:
            started.send_signal(signal.SIGKILL)
            return True


def _spent(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
