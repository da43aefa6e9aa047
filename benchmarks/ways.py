"""How many files a fact passes on its ways: train, evaluate, complete, query, import and fill, counted from real calls.

    python -m benchmarks.ways           # files and rooms of each way
    python -m benchmarks.ways query     # the files of one way, and what is called in each
    python -m benchmarks.ways --write   # put the table into docs/architecture.md

Each way is a command in a process of its own; a file counts when a function or method in it is called. What runs while a
module is imported does not count: decorators, comprehensions, checks of a class. Every way is gone once before it counts,
so that kernels are compiled.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import multiprocessing
import os
import re
import shlex
import shutil
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
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
MARKED = re.compile(r"(<!-- ways -->\n\n).*?(\n<!-- end -->)", re.DOTALL)

SMALL = "--set training.epochs=2 --set model.dim=20"
WAYS = {
    "train": f"train --data facts --out run {SMALL}",
    "evaluate": "evaluate run",
    "complete": "complete run 'sold(drew, ?, book)'",
    "query": "query run 'project[0](select[2 = coffee](sold))'",
    "import": "import shop.db --out shop",
    "fill": "fill filled",
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
    shop.executemany("INSERT INTO items VALUES (?, ?)", [(n, ("red", "blue", None)[n % 3]) for n in range(1, 40)])
    shop.executemany("INSERT INTO sales VALUES (?, ?, ?)", [(1 + n % 39, f"b{n % 5}", f"c{n % 3}") for n in range(90)])
    shop.commit()
    shop.close()


def run(show: Callable[[str], object] = print) -> dict[str, dict[str, set[str]]]:
    """Return what each way calls, by file."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare()
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:

            def called(command: str) -> dict[str, set[str]]:
                return fresh.submit(calls, shlex.split(command)).result()

            for command in WAYS.values():
                if command == WAYS["fill"]:
                    called(f"train --data shop --out filled {SMALL}")
                called(command)
            for made in ("run", "shop"):
                shutil.rmtree(made)
            found = {name: called(command) for name, command in WAYS.items()}
    for name, (files, rooms) in sizes(found).items():
        show(f"{name:10} {files:4} files {rooms:3} rooms")
    return found


def sizes(found: dict[str, dict[str, set[str]]]) -> dict[str, tuple[int, int]]:
    """Return how many files and rooms each way passes."""
    return {name: (len(files), len({Path(file).parts[0] for file in files})) for name, files in found.items()}


def table(found: dict[str, dict[str, set[str]]]) -> str:
    """Return the table of docs/architecture.md."""
    rows = (f"| `{WAYS[name].split(' --')[0]}` | {files} | {rooms} |\n" for name, (files, rooms) in sizes(found).items())
    return "".join(["| way | files | rooms |\n|---|---|---|\n", *rows])


if __name__ == "__main__":
    ways = run()
    for name in sys.argv[1:]:
        if name == "--write":
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(MARKED.sub(lambda found: found[1] + table(ways) + found[2], page), encoding="utf-8")
            continue
        for file, functions in sorted(ways[name].items()):
            print(f"{name} {file}: {', '.join(sorted(functions))}")
