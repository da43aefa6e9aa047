"""How many files a fact passes on its five ways: train, evaluate, complete, query and import, counted from real calls.

    python -m benchmarks.ways           # files and rooms of each way
    python -m benchmarks.ways query     # the files of one way, and what is called in each

Each way is a command in a process of its own; a file counts when a function or method in it is called. What runs while a
module is imported does not count: decorators, comprehensions, checks of a class. On a new machine kernels are compiled
first, which passes a file more; count again.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import multiprocessing
import os
import shlex
import sqlite3
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import relatum

PACKAGE = Path(relatum.__file__).parent

WAYS = {
    "train": "train --data facts --out run --set training.epochs=2 --set model.dim=20",
    "evaluate": "evaluate run",
    "complete": "complete run 'sold(drew, ?, book)'",
    "query": "query run 'project[0](select[2 = coffee](sold))'",
    "import": "import shop.db --out shop",
}


def calls(command: list[str]) -> dict[str, set[str]]:
    """Return the files that a command passes, and the functions that it calls in each."""
    from relatum.cli import main

    package = f"{PACKAGE}{os.sep}"
    seen: dict[str, set[str]] = defaultdict(set)
    importing: dict[int, int] = defaultdict(int)  # thread -> how many bodies of modules it is in

    def trace(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(package):
            return
        thread = threading.get_ident()
        if code.co_name == "<module>":
            importing[thread] += 1 if event == "call" else -1
        elif event == "call" and not importing[thread] and code.co_flags & inspect.CO_OPTIMIZED:  # not bodies of classes
            seen[code.co_filename.removeprefix(package)].add(code.co_name)

    sys.argv = ["relatum", *command]
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"relatum {shlex.join(command)} ended with {end.code}") from end
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return dict(seen)


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


def run(show: Callable[[str], object] = print) -> dict[str, dict[str, set[str]]]:
    """Return what each way calls, by file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare()
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
            found = {name: fresh.submit(calls, shlex.split(command)).result() for name, command in WAYS.items()}
    for name, files in found.items():
        show(f"{name:10} {len(files):4} files {len({Path(file).parts[0] for file in files}):3} rooms")
    return found


if __name__ == "__main__":
    found = run()
    for name in sys.argv[1:]:
        for file, functions in sorted(found[name].items()):
            print(f"{name} {file}: {', '.join(sorted(functions))}")
