"""The surroundings, each with how it is made and what may come of it."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from torture.areas import Area
from torture.commands import is_refusal, kernels_folder
from torture.fresh import Fresh, Outcome
from torture.spoiling import spoil

SIGNALS = "signals at random moments"
_Around = Callable[[Area, random.Random], AbstractContextManager[Fresh]]


@dataclass(frozen=True)
class Kind:
    """A surrounding: its name, how it is made, whether answers are as usual in it, and for which commands it is."""

    name: str
    around: _Around
    compares: bool = True
    commands: tuple[int, ...] = ()
    judge: Callable[[Outcome], str | None] = lambda outcome: outcome.fault or _one_line(outcome)


def _one_line(outcome: Outcome) -> str | None:
    """Return what is wrong with a refusal: its last line is relatum's own."""
    last = (outcome.err.strip().splitlines() or [""])[-1]
    return None if outcome.code == 0 or is_refusal(last) else f"exit code {outcome.code} after {last!r}"


def _quiet_end(outcome: Outcome) -> str | None:
    """Return what is wrong where nobody can read what is said, or nobody wants to read on."""
    if outcome.hangs or "Traceback" in outcome.err or "Exception ignored" in outcome.err:
        return outcome.fault or outcome.err[-200:]
    return None if outcome.code in (0, 1, 2, -13) else f"exit code {outcome.code}"


def _plain(**surrounding: object) -> _Around:
    return lambda area, rng: nullcontext(Fresh(**surrounding))  # type: ignore[arg-type]


def _cache(make: Callable[[Path], object]) -> _Around:
    """Return a surrounding whose cache is something else; compiled kernels are then made in it, or at each start."""

    def around(area: Area, rng: random.Random) -> AbstractContextManager[Fresh]:
        shutil.rmtree(area.folder / "cache")
        make(area.folder / "cache")
        return nullcontext(Fresh(environment={"NUMBA_CACHE_DIR": None}))

    return around


@contextmanager
def _full_cache(area: Area, rng: random.Random) -> Iterator[Fresh]:
    """A cache on a disk without room, where one can be mounted; else with a limit on the size of files."""
    folder = str(area.folder / "cache")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder], capture_output=True, check=False)
    with suppress(OSError):
        (area.folder / "cache" / "full").write_bytes(bytes(4096))
    try:
        yield Fresh()
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=False)


@contextmanager
def _deleted_folder(area: Area, rng: random.Random) -> Iterator[Fresh]:
    """The folder in which a command runs is removed while it starts; what it names is not found there."""
    gone = area.folder.with_name("gone")
    gone.mkdir(exist_ok=True)
    yield Fresh(folder=str(gone), inside=gone.rmdir)


@contextmanager
def _read_only(area: Area, rng: random.Random) -> Iterator[Fresh]:
    """A run that cannot be written; root can write it all the same, unless it is mounted so."""
    folder = next((path for path in area.folder.iterdir() if path.name in ("run", "shop-run", "facts")), None)
    if folder is None:
        yield Fresh()
        return
    bound = subprocess.run(["mount", "--bind", folder, folder], capture_output=True, check=False).returncode == 0
    if bound:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], capture_output=True, check=False)
    try:
        yield Fresh()
    finally:
        if bound:
            subprocess.run(["umount", folder], check=False)


@contextmanager
def _damaged_kernels(area: Area, rng: random.Random) -> Iterator[Fresh]:
    shutil.copytree(kernels_folder(), area.folder / "kernels")
    files = sorted(path for path in (area.folder / "kernels").rglob("*") if path.is_file())
    for path in rng.sample(files, min(2, len(files))):
        spoil(path, files, rng)
    yield Fresh(environment={"NUMBA_CACHE_DIR": str(area.folder / "kernels")})


_NO_USER = "import pwd\ndef nobody(number): raise KeyError(number)\npwd.getpwuid = nobody"
# In the process itself, when all that a command imports is there: what is left then is what the number says.
_MEMORY = (
    "import relatum.cli, relatum.api, relatum.kernels.ranking, torch, resource\n"
    "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
    "resource.setrlimit(resource.RLIMIT_AS, (used + ({} << 20), -1))"
)
_EVALUATES = (0, 1, 2, 4, 9)

KINDS = (
    Kind("no home and no user", _plain(environment={"HOME": None, "RELATUM_CACHE": None}, before=_NO_USER)),
    Kind("a home that is not there", _plain(environment={"HOME": "/nonexistent", "RELATUM_CACHE": None})),
    Kind("a cache in a device", _plain(environment={"RELATUM_CACHE": "/dev/null/cache"})),
    Kind("a cache without room", _full_cache),
    Kind("damaged kernels", _damaged_kernels, commands=_EVALUATES),
    Kind("a folder that was deleted", _deleted_folder, compares=False),
    Kind("no temporary folder", _plain(environment={"TMPDIR": "/nonexistent"})),
    Kind("a run that cannot be written", _read_only),
    Kind("standard output closed", _plain(out="closed"), compares=False, judge=_quiet_end),
    Kind("standard output full", _plain(out="/dev/full"), compares=False, judge=_quiet_end),
    Kind("a reader that leaves", _plain(out="pipe"), compares=False, judge=_quiet_end),
    Kind("standard error closed", _plain(err="closed"), judge=_quiet_end),
    Kind("standard error full", _plain(err="/dev/full"), judge=_quiet_end),
    Kind("standard input closed", _plain(stdin=False)),
    Kind("ASCII", _plain(environment={"PYTHONIOENCODING": "ascii"}), compares=False),
    Kind("Latin-1", _plain(environment={"PYTHONIOENCODING": "latin-1"}), compares=False),
    Kind(
        "no language", _plain(environment={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}), False
    ),
    Kind("a dumb terminal", _plain(environment={"TERM": "dumb"})),
    Kind("no colours", _plain(environment={"NO_COLOR": "1"})),
    Kind("one column", _plain(environment={"COLUMNS": "1"}), compares=False),
    Kind("columns that are no number", _plain(environment={"COLUMNS": "x"})),
    Kind("another order of hashes", _plain(environment={"PYTHONHASHSEED": "12345"})),
    Kind("without assertions and docstrings", _plain(environment={"PYTHONOPTIMIZE": "2"})),
    Kind("warnings are errors", _plain(flags=("-W", "error")), compares=True),
    Kind("an odd time zone", _plain(environment={"TZ": "Mars/Olympus+25:99"})),
    Kind("files that nobody may read", _plain(umask=0o777), compares=True),
    Kind("20 open files", _plain(limits={"RLIMIT_NOFILE": 20})),
    Kind("8 open files", _plain(limits={"RLIMIT_NOFILE": 8})),
    Kind("files of 1,000 bytes at most", _plain(limits={"RLIMIT_FSIZE": 1000}), compares=False),
    Kind("400 MB of memory left", _plain(before=_MEMORY.format(400))),
    Kind("100 MB of memory left", _plain(before=_MEMORY.format(100))),
    Kind("30 MB of memory left", _plain(before=_MEMORY.format(30))),
    Kind(
        "threads that cannot start",
        _plain(
            environment={"RELATUM_THREADS": "4"},
            before="import _thread\n"
            'def refused(*_, **__): raise RuntimeError("can\'t start new thread")\n'
            "import threading\nthreading._start_new_thread = refused",
        ),
        commands=_EVALUATES,
    ),
    # Without a cache, kernels are compiled at each start.
    Kind("a cache that is a file", _cache(lambda path: path.write_bytes(b"mine"))),
    Kind("a cache that others can write", _cache(lambda path: (path.mkdir(), path.chmod(0o777)))),
    Kind("a cache that cannot be written", _cache(lambda path: (path.mkdir(), path.chmod(0o555)))),
)
