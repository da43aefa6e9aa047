"""`relatum tables` and `relatum figures`: tables and figures of the results of experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from relatum.cli.options import FolderOut, Json
from relatum.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from relatum.runs.results import Collected

Results = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RESULTS]...",
        help="Folders of results that `relatum run --results` has written, or run directories; by default `results`.",
    ),
]


def tables(
    results: Results = None,
    form: Annotated[
        Literal["terminal", "markdown", "latex"],
        typer.Option("--format", help="Print for a terminal, or as Markdown or LaTeX."),
    ] = "terminal",
    fill: Annotated[Path | None, typer.Option(help="Put the tables into this Markdown page, between its marks.")] = None,
    json: Json = False,
) -> None:
    """Print the paper's tables with our values beside them, seeds, ties and time, and check the paper's claims."""
    from relatum.errors import DataError
    from relatum.paper.claims import check_claims, claims_table
    from relatum.paper.tables import fill_page, paper_tables

    collected = read(results)
    found, claims = paper_tables(collected), check_claims(collected.results)
    if not found:
        raise DataError(
            "no-results",
            "no results for any of the paper's tables",
            remedy="make some with: relatum run SPEC --results results",
        )
    whole = [*found, claims_table(claims)]
    if fill is not None:
        fill_page(fill, whole)
    if json:
        print_json({"tables": [table.to_json() for table in found], "claims": [claim.to_dict() for claim in claims]})
    elif fill is not None:
        say(f"{len(whole)} tables written into {fill}")
    else:
        for table in whole:
            if form == "terminal":
                print_table(table.title, table.heads, table.rows, table.numbers)
            else:
                say(table.markdown() if form == "markdown" else table.latex())


def read(results: list[Path] | None) -> Collected:
    """Return what is in folders of results; runs that have not ended are named, and nothing at all is an error."""
    from relatum.errors import DataError
    from relatum.runs.results import read_results

    folders = results or [Path("results")]
    collected = read_results(*folders)
    for folder in collected.unfinished:
        say(f"{folder}: left out: its training has not ended", stderr=True)
    if not collected.results and not collected.datasets:
        there = ", ".join(map(str, folders))
        raise DataError(
            "no-results", "no results", place=there, remedy=f"make some with: relatum run SPEC --results {folders[0]}"
        )
    return collected


def figures(results: Results = None, out: FolderOut = Path("figures"), json: Json = False) -> None:
    """Draw MRR by window size, learning curves, MRR by arity and relation size, and time to quality, for each dataset."""
    from relatum.errors import DataError
    from relatum.paper.figures import make_figures

    drawn = make_figures(read(results).results, out)
    if not any(one.files for one in drawn):
        why = "; ".join(reason for one in drawn for reason in one.left_out) or "there are no results"
        raise DataError("no-results", f"no figure can be drawn: {why}")
    if json:
        print_json({"figures": [one.to_json() for one in drawn]})
        return
    for one in drawn:
        reasons, suffixes = ", ".join(one.left_out), " and ".join(file.suffix for file in one.files)
        if one.files:
            say(f"{out / one.name}{suffixes}" + (f"; left out: {reasons}" if reasons else ""))
        else:
            say(f"not made: {one.name} ({reasons})")
