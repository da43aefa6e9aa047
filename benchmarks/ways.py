"""How many files a fact passes on its five ways: train, evaluate, complete, query and import, counted from real calls.

    python -m benchmarks.ways

Each way is a command; a file counts when a function or method in it is called. What is only imported does not count.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import relatum

PACKAGE = Path(relatum.__file__).parent

WAYS = {
    "train": "train --data facts --out run --set training.epochs=2 --set model.dim=20",
    "evaluate": "evaluate run",
    "complete": "complete run 'sold(drew, ?, book)'",
    "query": "query run 'project[0](where[2 = coffee](sold))'",
    "import": "import shop.db --out shop",
}


def count(command: list[str]) -> tuple[int, int]:
    """Return how many files and how many rooms a command passes."""
    from relatum.cli import main

    seen: set[str] = set()

    def trace(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # not the bodies of modules and classes
            seen.add(frame.f_code.co_filename)

    sys.argv = ["relatum", *command]
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            main()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    files = {Path(name).relative_to(PACKAGE) for name in seen if name.startswith(str(PACKAGE))}
    return len(files), len({path.parts[0] for path in files})


def prepare() -> None:
    """Make a dataset and a small database to import."""
    relatum.save(relatum.load("example"), "facts")
    shop = sqlite3.connect("shop.db")
    shop.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, colour TEXT)")
    shop.execute("CREATE TABLE sales (item INTEGER REFERENCES items (id), buyer TEXT, channel TEXT)")
    shop.executemany("INSERT INTO items VALUES (?, ?)", [(n, ("red", "blue")[n % 2]) for n in range(1, 9)])
    shop.executemany("INSERT INTO sales VALUES (?, ?, ?)", [(1 + n % 8, f"b{n % 5}", f"c{n % 3}") for n in range(60)])
    shop.commit()
    shop.close()


def run(show: Callable[[str], object] = print) -> dict[str, tuple[int, int]]:
    """Return files and rooms by way."""
    import os
    import shlex

    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            prepare()
            found = {name: count(shlex.split(command)) for name, command in WAYS.items()}
        finally:
            os.chdir(before)
    for name, (files, rooms) in found.items():
        show(f"{name:10} {files:4} files {rooms:3} rooms")
    return found


if __name__ == "__main__":
    run()
