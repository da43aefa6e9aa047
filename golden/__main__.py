"""Print what differs from the record, by name; with --write, make the record anew.

`python -m golden` makes three small runs, asks them what `commands` lists, and compares answers, signatures and the bits of
the trained tensors with `record.json`. The exit code is 1 where anything differs. Tensors and the last digits of numbers are
the same on processors of one kind only: the record says where it was made; elsewhere tensors are left out, and numbers may
differ by 2 %.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from golden.commands import ASKED, MAKE
from golden.runs import tensor_checksums, write_shop

RECORD = Path(__file__).with_name("record.json")
# What differs from one call to the next and says nothing about an answer.
PASSING = {"seconds", "when", "version", "environment", "bytes", "loaded_from", "elapsed"}
MOST_SHOWN = 12
ELSEWHERE = 0.02


def main() -> int:
    """Compare with the record, or write it."""
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="make the record anew")
    write = parser.parse_args().write
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RELATUM_CACHE"] = f"{folder}/cache"
        made = json.loads(json.dumps(recorded(Path(folder))))
    if write:
        RECORD.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{RECORD}: {len(made['commands'])} commands, {len(made['signatures'])} signatures")
        return 0
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    tolerance = 0.0
    if kept.pop("processor") != made.pop("processor"):
        print(f"made on another processor: tensors are not compared, and numbers may differ by {ELSEWHERE:.0%}")
        tolerance = ELSEWHERE
        del kept["tensors"]
    differing = {}
    for kind, before in kept.items():
        for name in dict.fromkeys((*before, *made[kind])):
            lines = list(differences(before.get(name), made[kind].get(name), tolerance))
            if lines:
                differing[f"{kind}: {name}"] = lines
    for name, lines in differing.items():
        print(name)
        for line in lines[:MOST_SHOWN]:
            print(f"    {line}")
        if len(lines) > MOST_SHOWN:
            print(f"    ... and {len(lines) - MOST_SHOWN} more")
    print(f"{len(differing)} of {sum(map(len, kept.values()))} entries differ")
    return min(len(differing), 1)


def recorded(folder: Path) -> dict[str, Any]:
    """Make the runs in a folder, and return everything that the record keeps."""
    write_shop(folder / "shop.db")
    places = {"data": str(folder), "out": str(folder)}
    commands: dict[str, Any] = {}
    for line in MAKE:
        print(f"relatum {line}", file=sys.stderr)
        commands[line] = called(line.format(**places), folder)
    tensors = {name: tensor_checksums(folder / name) for name in ASKED}
    for run, lines in ASKED.items():
        for line in lines:
            text = line.replace("RUN", str(folder / run)).format(**places)
            commands[f"{run}: {line}"] = called(f"{text} --json", folder)
    return {
        "processor": platform.processor() or processor(),
        "signatures": signatures(),
        "tensors": tensors,
        "commands": commands,
    }


def processor() -> str:
    """Return the name of the processor as Linux has it, or of its family."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def called(line: str, folder: Path) -> Any:
    """Return what `relatum LINE` prints, as an object where it is JSON, or its exit code and error."""
    from relatum.cli import main as relatum

    out, err = StringIO(), StringIO()
    sys.argv = ["relatum", *shlex.split(line)]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            relatum()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code
    if code:
        return {"exit code": code, "error": err.getvalue().replace(str(folder), "FOLDER")}
    text = out.getvalue().replace(str(folder), "FOLDER")
    return plain(json.loads(text)) if text.startswith("{") else "no JSON"


def plain(value: Any) -> Any:
    """Return a value without what passes, numbers to nine digits."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name not in PASSING}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) and math.isfinite(value) else value


def signatures() -> dict[str, Any]:
    """Return the public signatures: the module, `Run`, and the options of every command."""
    import typer

    import relatum
    from relatum.cli import app

    found: dict[str, Any] = {}
    for name in relatum.__all__:
        public = getattr(relatum, name)
        found[f"relatum.{name}"] = signature(public)
    for owner in ("Run", "Hypergraph", "Split", "TupleTable", "Vocabulary", "Schema", "KnownAnswers"):
        for name, member in inspect.getmembers(getattr(relatum, owner)):
            if not name.startswith("_"):
                found[f"{owner}.{name}"] = signature(member)
    for path, command in verbs(typer.main.get_command(app), "relatum"):
        found[path] = {
            parameter.name: ", ".join((*parameter.opts, *parameter.secondary_opts)) for parameter in command.params
        }
    return found


def signature(public: Any) -> str:
    """Return the signature of something that can be called and says it, or its type."""
    try:
        return str(inspect.signature(public))
    except (TypeError, ValueError):
        return type(public).__name__


def verbs(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every command below one, with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, below in inner.items():
        yield from verbs(below, f"{path} {name}")


def differences(before: Any, now: Any, tolerance: float, path: str = "") -> Iterator[str]:
    """Yield one line for each place where two values differ, numbers by more than a share of themselves."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*before, *now)):
            here = f"{path}.{name}" if path else name
            if name not in now or name not in before:
                yield f"{here}: {'gone' if name in before else f'new: {now[name]!r:.120}'}"
            else:
                yield from differences(before[name], now[name], tolerance, here)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (left, right) in enumerate(zip(before, now, strict=True)):
            yield from differences(left, right, tolerance, f"{path}[{number}]")
    elif isinstance(before, float) and isinstance(now, float) and math.isclose(before, now, rel_tol=tolerance):
        return
    elif before != now:
        yield f"{path or 'value'}: {before!r:.150} -> {now!r:.150}"


if __name__ == "__main__":
    sys.exit(main())
