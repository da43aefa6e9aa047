"""The quick start of the site, typed as it stands: every line of its blocks, in an environment that has nothing else."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from release.build import ROOT
from release.environments import Environment

__all__ = ["Line", "lines_of", "serves", "type_quick_start"]

PAGE = ROOT / "docs" / "index.md"
_PATIENCE = 120.0  # seconds until a server answers


class Line(NamedTuple):
    """What a reader types, at a terminal or into Python, and what the page shows below it."""

    text: str
    python: bool = False
    shown: tuple[str, ...] = ()


def lines_of(page: str) -> list[Line]:
    """Return what the blocks of a page have a reader type; a block of Python is typed at once."""
    found: list[Line] = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if language == "python":
            found.append(Line(block, python=True))
        elif "$ " not in block:
            found += [Line(line) for line in block.splitlines() if line.strip()]
        else:
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                typed, *shown = part.splitlines()
                found.append(Line(typed, shown=tuple(shown)))
    return found


def type_quick_start(environment: Environment) -> list[str]:
    """Type all of the quick start, and return what went wrong, each in a sentence."""
    _write_shop(environment.work / "shop.db")
    faults = []
    for line in lines_of(PAGE.read_text(encoding="utf-8")):
        start = time.monotonic()
        fault = _typed(environment, line)
        name = line.text.splitlines()[0] + (" ..." if line.python else "")
        print(f"  {'FAILED' if fault else 'ok':6}  {time.monotonic() - start:6.1f} s  {name}")
        if fault:
            faults.append(f"quick start, {name}: {fault}")
    return faults


def _typed(environment: Environment, line: Line) -> str | None:
    if line.text.startswith("relatum serve"):
        return serves(environment, line.text)
    if line.python:
        ended = environment.run("python", "-", standard_input=line.text)
    else:
        ended = environment.run("bash", "-c", line.text)
    if ended.returncode or "Traceback" in ended.stderr:
        return f"exit code {ended.returncode}: {ended.stderr.strip()[-500:]}"
    missing = [cell for row in line.shown for cell in _cells(row) if cell not in ended.stdout]
    return f"it does not show {missing[0]!r} but {ended.stdout[-1000:]!r}" if missing else None


def _cells(row: str) -> list[str]:
    """Return the texts of a row of a table; numbers depend on the machine."""
    return [cell for cell in re.split(r" {2,}|:", row.strip()) if cell and not re.search(r"\d|─", cell)]


def serves(environment: Environment, command: str) -> str | None:
    """Start a server, ask it for its first page, and end it as Ctrl-C would; return what went wrong."""
    log = environment.work / "serve.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=environment.work,
            env=environment.variables,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        return _first_page(process, log)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _first_page(process: subprocess.Popen[bytes], log: Path) -> str | None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if address := re.search(r"http://[\w.:]+", log.read_text(encoding="utf-8")):
            with urllib.request.urlopen(address[0]) as answer:  # noqa: S310  # on this machine
                page = answer.read().decode("utf-8")
                return None if answer.status == 200 and "<html" in page else f"{address[0]} answers {answer.status}"
        time.sleep(0.1)
    return f"no server: {log.read_text(encoding='utf-8')[-500:]}"


def _write_shop(path: Path) -> None:
    """Write the reader's own database: items with gaps in their categories, and who bought them."""
    drinks, kinds = ("green tea", "black tea", "herbal tea", "espresso", "filter coffee", "mocha"), ("tea", "coffee")
    with closing(sqlite3.connect(path)) as shop, shop:
        shop.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, category TEXT, aisle TEXT)")
        shop.execute("CREATE TABLE sales (item_id INTEGER REFERENCES items (id), buyer TEXT)")
        for number in range(60):
            kind = kinds[number % 6 > 2]
            category = None if number % 10 == 9 else kind
            name = f"{drinks[number % 6]} {number // 6}"
            shop.execute("INSERT INTO items VALUES (?, ?, ?, ?)", (number, name, category, f"aisle of {kind}"))
            buyers = [f"{kind} lover {(number + step) % 15}" for step in range(4)]
            shop.executemany("INSERT INTO sales VALUES (?, ?)", [(number, buyer) for buyer in buyers])
