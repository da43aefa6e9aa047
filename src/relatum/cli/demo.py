"""`relatum demo`: what relatum does, shown by its own commands on data that it brings along or makes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.output import console

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["demo"]

# What is about to be seen, and the command that shows it; {} is the demo's directory.
_SHOP = (
    ("A shop: facts with a seller, a buyer and an item.", "data info example"),
    (
        "Learn from them.",
        "train --data example --set model.dim=40 --set training.epochs=200 --set training.batches_per_step=1 --out {}/shop",
    ),
    ("From whom did alex buy the book?", "complete {}/shop 'bought(buyer=alex, seller=?, item=book)' -k 5"),
    ("Which of two facts is more likely?", "score {}/shop 'sold(drew, alex, book)' 'sold(drew, alex, tv)'"),
    (
        "Relational algebra, asked of what was learned: who sells coffee, and why?",
        "query {}/shop 'project[seller](select[item = coffee](sold))' -k 3 --explain",
    ),
)
_MADE = (
    (
        "Now a made hypergraph: a dozen random relations, and forty derived from them by relational algebra.",
        "synth --preset small --seed 7 --set tuples=10000 --out {}/made",
    ),
    (
        "Learn it. Which relation is derived from which is not told.",
        "train --data {}/made --set model.dim=200 --set training.epochs=80 --set training.batch_size=32"
        " --set training.learning_rate=0.3 --set model.window_dropout=0.5"
        " --set training.num_negatives=300 --set training.validate_every=20 --out {}/run",
    ),
    ("How well are held-out facts found among all entities, operation by operation?", "evaluate {}/run --by operation"),
    ("Which relations are made from which?", "rules {}/run"),
    ("All of it on one page, to open in a browser or to print.", "report {}/run"),
)


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="The directory to make; it must be new or empty.")] = Path(
        "relatum-demo"
    ),
) -> None:
    """Show what relatum does: train, complete, ask, find rules, report; takes a minute on two cores."""
    from relatum.cli import app
    from relatum.files import require_empty

    require_empty(out)
    steps = [*_SHOP, *_MADE]
    for number, (text, command) in enumerate(steps, start=1):
        _show(f"{number}/{len(steps)}  {text}", [part.replace("{}", str(out)) for part in shlex.split(command)], app)
    page = out / "run" / "report.html"
    console().print(f"\nOpen {page}; then your own tables: relatum import --help", markup=False, soft_wrap=True)


def _show(text: str, arguments: Sequence[str], app: Callable[..., object]) -> None:
    """Say what comes, print the command as a person would type it, and run it."""
    out = console()
    out.print(f"\n{text}", style="bold", markup=False, soft_wrap=True)
    out.print(f"$ relatum {shlex.join(arguments)}\n", style="cyan", markup=False, soft_wrap=True)
    code = app(list(arguments), standalone_mode=False, prog_name="relatum")
    if code:
        raise typer.Exit(int(code) if isinstance(code, int) else 1)
