"""Running `relatum ARGUMENTS` in child processes: forked from a server in milliseconds, or really fresh ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType

PATIENCE = 120.0  # seconds after which a command hangs
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Command:
    """One `relatum ARGUMENTS` with what surrounds it.

    Attributes:
        arguments: what follows `relatum`.
        folder: where it runs.
        out: the file of its standard output.
        err: the file of its standard error.
        environment: variables that are set beside those of the server.
        limits: such as `{"RLIMIT_NOFILE": 40}`.
        torture: what the shim does to it, as `torture/shim.c` says; empty for nothing.
    """

    arguments: tuple[str, ...]
    folder: str
    out: str
    err: str
    environment: dict[str, str] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    torture: str = ""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (-9: killed), what it wrote, and after how many seconds."""

    code: int
    out: str
    err: str
    seconds: float = 0.0

    @property
    def fault(self) -> str | None:
        """What no command may do, whatever happens to it: print a traceback, crash, hang, or fail without a line."""
        last = self.err.strip().splitlines()[-1:] or [""]
        if "Traceback (most recent call last)" in self.err:
            return f"traceback: {last[0]}"
        if self.code == -signal.SIGALRM:
            return f"no end after {PATIENCE:.0f} s: {last[0]}"
        if self.code not in (0, 2, -signal.SIGKILL):
            return f"exit code {self.code}: {last[0]}"
        if self.code == 2 and not is_refusal(last[0]):
            return f"exit code 2, and the last line is {last[0]!r}"
        return None


def is_refusal(line: str) -> bool:
    """Return whether a line is an error of relatum: its own, or with --json an object with a code."""
    if not line.startswith("{"):
        return line.startswith("relatum: ")
    try:
        return bool(json.loads(line)["error"]["code"])
    except (ValueError, LookupError, TypeError):
        return False


class Started:
    """A command that has been started and may be running."""

    def __init__(self, commands: Commands, command: Command, process: int, fresh: subprocess.Popen[bytes] | None) -> None:
        self.process, self._commands, self._command, self._fresh = process, commands, command, fresh
        self._begun = time.monotonic()

    def kill(self) -> None:
        """Kill it at once; a process that has ended keeps its number until somebody waits for it."""
        os.kill(self.process, signal.SIGKILL)

    @property
    def said(self) -> str:
        """What it has written so far."""
        return _text(self._command.out) + _text(self._command.err)

    def wait(self, seconds: float = PATIENCE) -> Ended:
        """Return how it ended; after so many seconds it is killed, and counts as one that hangs."""
        code = self._wait(seconds)
        if code is None:
            self.kill()
            self._wait(PATIENCE)
            code = -signal.SIGALRM
        return Ended(code, _text(self._command.out), _text(self._command.err), time.monotonic() - self._begun)

    def _wait(self, seconds: float) -> int | None:
        if self._fresh is None:
            return self._commands.ask({"wait": self.process, "seconds": seconds})
        try:
            return self._fresh.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


class Commands:
    """A server that forks commands, with the shim loaded; a context manager.

    Args:
        folder: where the shim is compiled, and where the server writes what it has to say.
        environment: variables for the server and all commands.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._log = folder / "server.err"
        self._environment = {
            **os.environ,
            "RELATUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(kernels_folder()),
            "LD_PRELOAD": str(compiled_shim(folder)),
            **(environment or {}),
        }
        self._environment.pop("COLUMNS", None)
        self._server: subprocess.Popen[str] | None = None

    def __enter__(self) -> Commands:
        with self._log.open("wb") as log:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "torture.forking"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._environment,
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.communicate()

    def start(self, command: Command, *, fresh: bool = False) -> Started:
        """Start a command: a fork of the server, or a really fresh process."""
        if not fresh:
            process = self.ask({"run": asdict(command)})
            assert process is not None
            return Started(self, command, process, None)
        environment = {**self._environment, **command.environment, "TORTURE": command.torture}
        with Path(command.out).open("wb") as out, Path(command.err).open("wb") as err:
            started = subprocess.Popen(
                [sys.executable, "-m", "relatum", *command.arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=command.folder,
                env=environment,
                preexec_fn=lambda: _limit(command.limits),
                start_new_session=True,
            )
        return Started(self, command, started.pid, started)

    def run(self, command: Command, *, fresh: bool = False, seconds: float = PATIENCE) -> Ended:
        """Run a command to its end."""
        return self.start(command, fresh=fresh).wait(seconds)

    def run_here(self, command: Command) -> int:
        """Run a command in the server itself, so that all later ones find its modules and kernels loaded."""
        code = self.ask({"here": asdict(command)})
        assert code is not None
        return code

    def ask(self, request: object) -> int | None:
        """Return the server's answer."""
        assert self._server is not None
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        if not line:
            raise RuntimeError(f"the server has ended: {self._log.read_text()}")
        return json.loads(line)  # type: ignore[no-any-return]


def _text(name: str) -> str:
    """Return what a command has written to a stream; it may be killed before it has opened it."""
    path = Path(name)
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def compiled_shim(folder: Path) -> Path:
    """Return the shim, compiled into a folder."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        sys.exit("kills, pairs and faults need Linux and a C compiler, such as that of: apt-get install gcc")
    made = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


def kernels_folder() -> Path:
    """Return where this machine's compiled kernels are kept, which trials with caches of their own share."""
    from relatum.files import cache_directory

    return cache_directory() / "numba"


def _limit(limits: Mapping[str, int]) -> None:
    import resource

    for limit, value in limits.items():
        number = getattr(resource, limit)
        resource.setrlimit(number, (value, resource.getrlimit(number)[1]))
