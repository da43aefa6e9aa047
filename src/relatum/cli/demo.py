"""`relatum demo`: what relatum does, shown by its own commands on a database that it brings along."""

from __future__ import annotations

import importlib
import shlex
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import NewFolder
from relatum.cli.output import say
from relatum.files import write_bytes
from relatum.formatting import count

if TYPE_CHECKING:
    from relatum.runs.fills import Fill


def demo(
    context: typer.Context,
    out: NewFolder = Path("relatum-demo"),
    seed: Annotated[int, typer.Option(min=0, help="The random seed of training.")] = 0,
) -> None:
    """Show what relatum does in half a minute, on the countries of the world: fill, ask, find what is wrong, find rules."""
    from relatum.extras import optional
    from relatum.files import require_empty

    with optional("duckdb", extra="io"):
        importlib.import_module("duckdb")  # the import needs it: better missed now than when the directory is there
    require_empty(out)
    write_demo_database(out / "world.db")
    say("The countries of the world in 2024: common knowledge, so you can judge the answers.", style="bold")
    say(f"Of the database {out / 'world.db'} some is taken away, and one cell is spoiled:\n")
    script = demo_script()
    for statement in script["changes"]:
        say("  " + statement.replace("\n", "\n  "))
    for number, step in enumerate(script["steps"], start=1):
        say(f"\n{number}/{len(script['steps'])}  {step['text']}", style="bold")
        for command in step["commands"]:
            _run(_arguments(command, out, seed), context)
        if step["commands"][0].startswith("fill "):
            _compare(out / "run")
    say(f"\nOpen {out / 'run' / 'report.html'} in a browser. What to try next:\n")
    for text, command in script["next"].items():
        say(f"  relatum {shlex.join(_arguments(command, out, seed))}\n    # {text}")
    say("\nNow with your own data: relatum import shop.db --out data; relatum train --data data --out run")


def _arguments(command: str, out: Path, seed: int) -> list[str]:
    return [part.replace("{}", str(out)).replace("{seed}", str(seed)) for part in shlex.split(command)]


def _run(arguments: list[str], context: typer.Context) -> None:
    """Print a command as a person would type it, and run it."""
    say(f"$ relatum {shlex.join(arguments)}\n", style="cyan")
    code = context.find_root().command.main(arguments, prog_name="relatum", standalone_mode=False)
    if code:
        raise typer.Exit(int(code))


def _compare(run: Path) -> None:
    """Say how many of the filled cells hold what was taken away, and how many should by their probabilities."""
    from relatum.api import Run

    found = Run.load(run).fill()
    right = sum(_is_right(one, true_value(one.table, one.column, dict(one.row))) for one in found)
    expected = sum(one.probability for one in found)
    say(f"{right} of {count(len(found), 'value')} are what was taken away; their probabilities add up to {expected:.1f}.")


def _is_right(found: Fill, truth: str) -> bool:
    if not found.is_group or found.interval is None:
        return str(found.value) == truth
    low, high = map(float, found.interval)
    return low <= float(truth) <= high


def demo_script() -> dict[str, Any]:
    """Return what the demo changes, shows and suggests."""
    return tomllib.loads(_text_of("demo.toml"))


def write_demo_database(path: Path, *, changed: bool = True) -> None:
    """Write the countries of the world as a new SQLite file: with the changes of the demo, or as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(_database(changed=changed)) as database:
        write_bytes(path, database.serialize())


def true_value(table: str, column: str, row: dict[str, object]) -> str:
    """Return what a cell of the row with this key holds before the changes, as text."""
    key = " AND ".join(f'"{name}" = ?' for name in row)
    with closing(_database(changed=False)) as database:
        found = database.execute(f'SELECT "{column}" FROM "{table}" WHERE {key}', tuple(row.values()))  # noqa: S608
        return str(found.fetchone()[0])


def _database(*, changed: bool) -> sqlite3.Connection:
    """Return the database in memory."""
    database = sqlite3.connect(":memory:")
    database.executescript("\n".join((_text_of("world.sql"), *(demo_script()["changes"] if changed else ()))))
    database.commit()
    return database


def _text_of(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
