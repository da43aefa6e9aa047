"""`relatum demo`: what relatum does, shown by its own commands on tables that it brings along."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.demo_tables import write_demo_tables
from relatum.cli.options import NewFolder
from relatum.cli.output import say

__all__ = ["demo"]

# What is about to be seen, and the command that shows it; {} is the demo's directory.
_STEPS = (
    (
        "Three tables on football: who plays whom and where, which cities a club visits, and derbies."
        "\nOne true row was taken out: Real Madrid - FC Barcelona.",
        "import {}/tables/matches.csv {}/tables/visits.csv {}/tables/derbies.csv --plain --out {}/data",
    ),
    ("Learn from them; some rows are held out to measure how well.", "train --data {}/data --out {}/run --seed {seed}"),
    (
        "Ask for the missing row: where do Real Madrid play FC Barcelona, and in which league?",
        "complete {}/run 'matches(Real Madrid, FC Barcelona, ?, ?, ?)' -k 3",
    ),
    ("Who resembles Real Madrid? The data never says what a club, a city or Spain is.", "similar {}/run 'Real Madrid' -k 5"),
    ("Which tables can be computed from others?", "rules {}/data"),
    ("All of it on one page, with accuracy, calibration and new predictions.", "report {}/run"),
)


def demo(
    context: typer.Context,
    out: NewFolder = Path("relatum-demo"),
    seed: Annotated[int, typer.Option(min=0, help="The random seed of training.")] = 0,
) -> None:
    """Show what relatum does in half a minute: import, train, ask, compare, find rules, report."""
    from relatum.files import require_empty

    require_empty(out)
    write_demo_tables(out / "tables")
    for number, (text, command) in enumerate(_STEPS, start=1):
        arguments = [part.replace("{}", str(out)).replace("{seed}", str(seed)) for part in shlex.split(command)]
        _show(f"{number}/{len(_STEPS)}  {text}", arguments, context)
    say(f"\nOpen {out / 'run' / 'report.html'} in a browser.")
    say("Now with your own data: relatum import shop.db --out data; relatum train --data data --out run")


def _show(text: str, arguments: list[str], context: typer.Context) -> None:
    """Say what comes, print the command as a person would type it, and run it."""
    say(f"\n{text}", style="bold")
    say(f"$ relatum {shlex.join(arguments)}\n", style="cyan")
    root = context.find_root()
    code = root.command.main(arguments, prog_name="relatum", standalone_mode=False)
    if code:
        raise typer.Exit(int(code))
