"""`relatum figures`: figures of collected results, as SVG and PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.ask import Json
from relatum.cli.output import console, print_json
from relatum.cli.tables import Results, read

__all__ = ["figures"]


def figures(
    results: Results = None,
    out: Annotated[Path, typer.Option(help="The folder for the files.")] = Path("figures"),
    json: Json = False,
) -> None:
    """Draw MRR by window size, learning curves, MRR by arity and relation size, and time to quality, for each dataset."""
    from relatum.errors import DataError
    from relatum.paper.figures_all import make_figures

    made = make_figures(read(results).results, out)
    if not any(one.files for one in made):
        why = "; ".join(reason for one in made for reason in one.left_out) or "there are no results"
        raise DataError(f"no figure can be drawn: {why}")
    if json:
        print_json({"figures": [one.to_json() for one in made]})
        return
    for one in made:
        reasons = ", ".join(one.left_out)
        if one.files:
            kinds = " and ".join(file.suffix for file in one.files)
            said = f"{out / one.name}{kinds}" + (f"; left out: {reasons}" if reasons else "")
        else:
            said = f"not made: {one.name} ({reasons})"
        console().print(said, markup=False, soft_wrap=True)
