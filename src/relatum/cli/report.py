"""`relatum report`: one page about a run that a person would read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.ask import RunFolder
from relatum.cli.output import console

__all__ = ["report"]


def report(
    run: RunFolder,
    out: Annotated[Path | None, typer.Option(help="Where to write it; report.html in the run by default.")] = None,
) -> None:
    """Write one HTML page about a run: what it knows, how good it is, what it predicts; it opens offline."""
    from relatum.api import Run
    from relatum.report import write_report

    loaded = Run.load(run)
    target = run / "report.html" if out is None else out
    write_report(loaded, target)
    console().print(f"written to {target}", markup=False, soft_wrap=True)
