"""Links in what a stranger has sent: whatever a command reads or writes there, nothing outside is read, changed or made.

Beside the folder of a trial is a tree of decoys: files of mode 600 with a mark in them, an empty folder, and a sound copy of
what the trial is about, so that whoever follows a link comes far. After a command the decoys must be as they were, to their
times, that of the last reading among them; and no output and no file of the trial may have the mark.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import APPLY
from torture.commands import Ended
from torture.damage import SUBJECTS, Arguments, Subject
from torture.workbench import last_line, workbench

_EXPERIMENT = ("run", "spec.toml", "--out", "runs", "--results", "results")
_PREDICT = ("predict", "run", "--relation", "sold", "--top", "3", "--replace", "--to")
_MORE: dict[str, tuple[Arguments, ...]] = {
    "run": (
        ("define", "run", "turned", "permute[1, 0, 2](sold)"),
        (*_PREDICT, "run/found.csv"),
        (*_PREDICT, "run/found.db"),
        ("embeddings", "run", "--to", "run/vectors.csv"),
        ("clean", "run", "--yes"),
        ("serve", "run", "--port", "0", "--decisions", "run/decisions.db"),
    ),
    "shop-run": (
        APPLY,
        ("fill", "--log", "shop-run/filled.db"),
        ("fill", "--undo", "shop-run/filled.db"),
        ("serve", "shop-run", "--port", "0", "--decisions", "shop-run/decisions.db"),
    ),
    "runs": (_EXPERIMENT, (*_EXPERIMENT, "--plan"), ("join", "RUNS", "--out", "joined"), ("clean", "runs", "--yes")),
    "results": (_EXPERIMENT,),
    "study": (("clean", ".", "--yes"),),
}
"""Commands beside those that read what is damaged elsewhere, by the folder that was sent."""

_NAMES = {
    "run": (
        "report.html",
        "README.md",
        "definitions.json",
        "views.json",
        "found.csv",
        "found.db",
        "decisions.db",
        ".scratch",
    ),
    "shop-run": ("report.html", "filled.db", "decisions.db", "views.json", ".scratch"),
    "stopped": ("model.safetensors", "config.json", "checkpoint.json", "README.md", ".scratch", "answer_sets.json"),
    "facts": ("test.txt", "roles.txt", "derivations.json"),
    "results": ("spec.json",),
}
"""What need not be there, and a command may look for or make."""

_CONTENT = {
    ".json": '{{"format": "{0}", "version": "{0}", "{0}": 1}}',
    ".jsonl": '{{"event": "{0}", "time": "{0}"}}\n',
    ".toml": '{0} = "{0}"\n',
    ".txt": "{0}\t{0}\n{0}\n",
}
_MARKED = ("file.json", "file.jsonl", "file.toml", "file.txt", "file.db", "file", "folder/train.txt", "folder/spec.toml")
_KINDS = {"files": 4, "sound copies": 5, "nothing there": 3, "chains": 2, "everything": 1, "swapped": 5, "links to runs": 1}
_LONG_AGO = 10**18  # nanoseconds: when decoys were last read
_PATIENCE = 30.0  # seconds that a server has to begin

Tree = dict[str, tuple[object, ...]]


def attack(campaign: Campaign) -> None:
    """Plant links, run commands, and look at what the links lead to."""
    bench = workbench()
    sent = ("run", "shop-run", "updated", "stopped", "facts", "study", "runs", "results")
    turns = [
        (subject, command)
        for subject in SUBJECTS
        if subject.damaged in sent
        for command in dict.fromkeys((*subject.commands, *_MORE.get(subject.damaged, ())))
    ]
    random.Random(campaign.seed).shuffle(turns)
    for number, rng in campaign.trials():
        begun = time.monotonic()
        subject, command = turns[number % len(turns)]
        inputs = {*subject.inputs, *({"shop.db", "filled.db"} if subject.damaged == "shop-run" else ())}
        area = bench.area(tuple(sorted(inputs)))
        decoys = area.folder.with_name(f"{area.folder.name}-decoys")
        (kind,) = rng.choices(list(_KINDS), list(_KINDS.values()))
        try:
            fault = _trial(area, decoys, subject, command, kind, rng)
        finally:
            area.remove()
            shutil.rmtree(decoys, ignore_errors=True)
        campaign.record(kind, number, fault and f"relatum {' '.join(command)}: {fault}"[:500], time.monotonic() - begun)


def _trial(area: Area, decoys: Path, subject: Subject, command: Arguments, kind: str, rng: random.Random) -> str | None:
    for _ in range(1 if subject.before else 0):
        area.run(*subject.before)
    sent, mark = area.folder / subject.damaged, f"MARK{rng.randrange(10**12):012}"
    if (area.folder / "filled.db").exists():
        (area.folder / "filled.db").rename(sent / "filled.db")
    if "RUNS" in command:
        runs = [str(each.relative_to(area.folder)) for each in sorted(sent.glob("spec-?-*"))]
        command = ("join", *runs, "--out", "joined")
    _lay_out(decoys, sent, mark, rng)
    before, told = _photograph(decoys), "links of one's own"
    swaps: AbstractContextManager[None] = nullcontext()
    if kind == "links to runs":
        shutil.move(sent, area.folder / "elsewhere")
        sent.symlink_to("elsewhere", target_is_directory=True)
    else:
        links = _links(sent, decoys, kind, rng)
        told = ", ".join(f"{path.relative_to(area.folder)} -> {os.path.relpath(to, decoys)}" for path, to in links.items())
        if kind == "swapped":
            swaps = _swapping(links, area.folder / "cache")
        else:
            for path, target in links.items():
                _plant(path, target, relative=rng.random() < 0.5, chained=kind == "chains")
    with swaps:
        ended = _serve(area, command) if command[0] == "serve" else area.run(*command)
    fault = ended.fault or _difference(before, _tree(decoys, before)) or _marked(area, ended, mark)
    if fault is None and kind == "links to runs" and ended.code not in (0, -signal.SIGKILL):
        fault = last_line(ended)
    return fault and f"{told}: {fault}"


def _lay_out(decoys: Path, sent: Path, mark: str, rng: random.Random) -> None:
    """Make decoys: marked files, an empty folder, and sound copies of what was sent."""
    shutil.copytree(sent, decoys / "sound", symlinks=True)
    (decoys / "empty").mkdir()
    (decoys / "folder").mkdir()
    for name in _MARKED:
        (decoys / name).write_text(_CONTENT.get(Path(name).suffix, "{0}\n").format(mark), encoding="utf-8")
    for path in decoys.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    if rng.random() < 0.5:  # training would go on there
        for path in (decoys / "sound").rglob("config.json"):
            path.unlink()


def _links(sent: Path, decoys: Path, kind: str, rng: random.Random) -> dict[Path, Path]:
    """Return what becomes a link, and to what; folders are taken whole, so nothing of it lies in another."""
    there = sorted(path for path in sent.rglob("*") if path.name != ".lock" or rng.random() < 0.3)
    free = [sent / name for name in _NAMES.get(sent.name, ("report.html", "README.md")) if not (sent / name).exists()]
    chosen = (
        there
        if kind == "everything"
        else rng.sample(there + free * 2, min(len(there) + len(free), rng.choice([1, 1, 2, 3])))
    )
    chosen = [path for path in dict.fromkeys(chosen) if not any(parent in chosen for parent in path.parents)]
    return {path: _target(path, path.relative_to(sent), decoys, kind, rng) for path in chosen}


def _target(path: Path, name: Path, decoys: Path, kind: str, rng: random.Random) -> Path:
    marked = decoys / (f"file{path.suffix}" if path.suffix in (".json", ".jsonl", ".toml", ".txt", ".db") else "file")
    folder = decoys / rng.choice(["empty", "folder"])
    sound = decoys / "sound" / name
    if kind == "nothing there":
        return decoys / rng.choice(["new", "empty/new", "folder/new.txt"])
    if sound.exists() and (kind in ("sound copies", "everything") or rng.random() < 0.5):
        return sound
    return folder if path.is_dir() or (not path.suffix and rng.random() < 0.7) else marked


def _plant(path: Path, target: Path, *, relative: bool, chained: bool) -> None:
    """Put a link in the place of what is there; a chained one leads to another link beside it."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent.resolve()) if relative else target)
    if chained:
        path.rename(path.with_name(f"{path.name}-first"))
        path.symlink_to(f"{path.name}-first")


@contextmanager
def _swapping(links: dict[Path, Path], kept: Path) -> Iterator[None]:
    """Have another process put links in the place of files and folders, and these back again, until the block ends."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                for number, (path, target) in enumerate(links.items()):
                    _swap(path, target, kept / f".kept-{number}")
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _swap(path: Path, target: Path, kept: Path) -> None:
    with suppress(OSError):
        path.rename(kept)
    with suppress(OSError):
        path.symlink_to(target)
    time.sleep(random.uniform(0, 0.002))
    with suppress(OSError):
        if path.is_symlink():
            path.unlink()
        kept.rename(path)
    time.sleep(random.uniform(0, 0.002))


def _serve(area: Area, command: Arguments) -> Ended:
    """Serve for a moment, in which some pages are asked for."""
    started = area.start(*command)
    until, address = time.monotonic() + _PATIENCE, ""
    while time.monotonic() < until and Path(f"/proc/{started.process}/stat").read_text().split()[2] != "Z":
        if found := re.search(r"http://[\d.]+:\d+", started.said):
            address = found[0]
            break
        time.sleep(0.05)
    for page in ("/-/health", "/", f"/{command[1]}/", f"/{command[1]}/training") if address else ():
        with suppress(OSError):
            urllib.request.urlopen(f"{address}{page}", timeout=10).read()  # noqa: S310  # of the server just started
    with suppress(ProcessLookupError):
        started.kill() if address else None
    return started.wait(_PATIENCE)


def _photograph(folder: Path) -> Tree:
    """Return all that can be told of a folder, which then looks as if nobody had read it for long."""
    names = [str(path.relative_to(folder)) for path in [folder, *folder.rglob("*")]]
    for again in (True, False):
        for name in names:
            os.utime(folder / name, ns=(_LONG_AGO, (folder / name).lstat().st_mtime_ns), follow_symlinks=False)
        if again:
            found = _tree(folder, names)
    return found


def _tree(folder: Path, known: Iterable[str]) -> Tree:
    """Return all that can be told of what is in a folder; of what is known it is looked at before anything is read."""
    found = {name: _state(folder / name) for name in known if os.path.lexists(folder / name)}
    for path in [folder, *folder.rglob("*")]:
        found.setdefault(str(path.relative_to(folder)), _state(path))
    return {
        name: (*state, (folder / name).read_bytes() if (folder / name).is_file() else b"") for name, state in found.items()
    }


def _state(path: Path) -> tuple[object, ...]:
    state = path.lstat()
    times = (f"changed {state.st_mtime_ns}", f"read {state.st_atime_ns}")
    return oct(state.st_mode), state.st_size, state.st_nlink, *times


def _difference(before: Tree, after: Tree) -> str | None:
    """Return how decoys have changed."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            return f"outside, {name} was {str(before.get(name))[:120]} and is {str(after.get(name))[:120]}"
    return None


def _marked(area: Area, ended: Ended, mark: str) -> str | None:
    """Return where the mark of the decoys is found that nobody should have read."""
    if mark in ended.out + ended.err:
        return f"printed what is outside: {(ended.out + ended.err)[-300:]}"
    for path in area.folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and mark.encode() in path.read_bytes():
            return f"{path.relative_to(area.folder)} holds what is outside"
    return None
