"""What a folder holds, in a form in which two folders can be compared: bytes, tables, and documents without their times."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

Contents = dict[str, str]
"""For each file of a folder, a digest of what it says, or what is wrong with it."""

DAMAGED = "damaged: "
SKIPPED = {"cache", "tmp"}  # folders that hold nothing that a person keeps

# What says when something was done, how fast, and how often it was interrupted: it differs between two runs of a command.
_TIMES = {"time", "seconds", "minutes_of_training", "seconds_of_evaluation", "interruptions", "changed_at", "undone_at"}
_CLOCK = re.compile(rb"\d+(?:[.,]\d+)? (?:ms|s|min|h)\b|\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?")
_TRAINED = {"epoch", "validation", "end", "update"}  # events of a journal
_COMPLETE = {"op_code": 6, "state": 1}  # a trial of a study that has ended well, in its journal


def contents(folder: Path) -> Contents:
    """Return what each file below a folder says; locks, caches and temporary folders of a trial are left out."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if SKIPPED.isdisjoint(name.parts) and path.suffix != ".lock" and path.name != ".lock" and path.is_file():
            found[name.as_posix()] = content(path)
    return found


def content(path: Path) -> str:
    """Return a digest of what a file says, or `damaged: ` with the reason."""
    try:
        return _digest(_reader(path)(path))
    except Exception as error:  # whatever a library says of a torn file
        return f"{DAMAGED}{error}"


def _reader(path: Path) -> Callable[[Path], object]:
    by_suffix = {".db": _sqlite, ".duckdb": _duckdb, ".json": _document, ".toml": _settings, ".html": _page}
    by_name = {"journal.jsonl": _journal, "study.journal": _study}
    return by_name.get(path.name) or by_suffix.get(path.suffix) or _bytes


def damaged(found: Contents) -> str | None:
    """Return which file is damaged, if one is."""
    return next((f"{name} is {what}" for name, what in found.items() if what.startswith(DAMAGED)), None)


def difference(found: Contents, expected: Contents) -> str | None:
    """Return in a few words how a folder differs from what was expected, if it does."""
    words = []
    for text, names in (
        ("missing", expected.keys() - found.keys()),
        ("left behind", found.keys() - expected.keys()),
        ("different", {name for name in found.keys() & expected.keys() if found[name] != expected[name]}),
    ):
        words += [f"{text}: {', '.join(sorted(names)[:4])}"] if names else []
    return damaged(found) or ("; ".join(words) or None)


def _sqlite(path: Path) -> object:
    with _apart(path) as copy, closing(sqlite3.connect(copy)) as database:
        if (checked := database.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
            raise ValueError(checked)
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: _rows(database.execute(f'SELECT * FROM "{name}"')) for name in names}


def _duckdb(path: Path) -> object:
    import duckdb

    with _apart(path) as copy, duckdb.connect(str(copy), config={"threads": 1}) as database:
        names = [name for (name,) in database.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return {name: _rows(database.execute(f'SELECT * FROM "{name}"')) for name in names}


@contextmanager
def _apart(path: Path) -> Iterator[Path]:
    """Yield a copy of a database with what a killed process has left beside it: who opens that would mend it."""
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("", "-journal", "-wal", ".wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copy(source, folder)
        yield Path(folder) / path.name


def _rows(cursor: Any) -> list[str]:
    kept = [number for number, column in enumerate(cursor.description) if column[0] not in _TIMES]
    rows = sorted(str([row[number] for number in kept]) for row in cursor.fetchall())
    return [str([column[0] for column in cursor.description]), *rows]


def _journal(path: Path) -> object:
    """Return what came of each epoch: those that a killed process had begun are there twice, and half a line is none."""
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return {f"{line['event']} {line.get('epoch')}": _timeless(line) for line in lines if line["event"] in _TRAINED}


def _study(path: Path) -> object:
    """Return what came of the trials that ended well; those that a killed process had begun are tried again."""
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return sorted({str(line["values"]) for line in lines if _COMPLETE.items() <= line.items()})


def _document(path: Path) -> object:
    return _timeless(json.loads(path.read_bytes()))


def _settings(path: Path) -> object:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _page(path: Path) -> object:
    return _CLOCK.sub(b"", path.read_bytes()).decode()


def _bytes(path: Path) -> object:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(one) for name, one in value.items() if name not in _TIMES}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
