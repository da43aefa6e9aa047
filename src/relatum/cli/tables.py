"""`relatum tables`: the paper's tables from collected results, and what becomes of its claims."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.ask import Json
from relatum.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from relatum.runs.collected import Collected

__all__ = ["Results", "read", "tables"]

Results = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RESULTS]...",
        help="Folders of results that `relatum run --results` has written, or run directories; by default `results`.",
    ),
]


class Format(StrEnum):
    """How tables are printed."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"


def tables(
    results: Results = None,
    form: Annotated[Format, typer.Option("--format", help="For a terminal, or as Markdown or LaTeX.")] = Format.terminal,
    fill: Annotated[Path | None, typer.Option(help="Put the tables into this Markdown page, between its marks.")] = None,
    json: Json = False,
) -> None:
    """Print the paper's tables, our value beside the paper's, with seeds, ties and time; and whether its claims hold."""
    from relatum.errors import DataError
    from relatum.paper.claims import check_claims, claims_table
    from relatum.paper.table import fill_page
    from relatum.paper.tables import paper_tables

    collected = read(results)
    found, claims = paper_tables(collected), check_claims(collected.results)
    if not found:
        raise DataError("no results for any of the paper's tables; make some with: relatum run SPEC --results results")
    whole = [*found, claims_table(claims)]
    if fill is not None:
        fill_page(fill, whole)
    if json:
        print_json({"tables": [table.to_json() for table in found], "claims": [claim.to_json() for claim in claims]})
    elif fill is not None:
        console().print(f"{len(whole)} tables written into {fill}", markup=False, soft_wrap=True)
    else:
        for table in whole:
            if form is Format.terminal:
                print_table(table.title, table.heads, table.rows, table.numbers)
            else:
                text = table.markdown() if form is Format.markdown else table.latex()
                console().print(text, markup=False, soft_wrap=True)


def read(results: list[Path] | None) -> Collected:
    """Return what is in places of results; runs that have not ended are named, and nothing at all is an error."""
    from relatum.errors import DataError
    from relatum.runs.collected import read_results

    places = results or [Path("results")]
    collected = read_results(*places)
    for folder in collected.unfinished:
        console(stderr=True).print(f"{folder}: left out, for its training has not ended", markup=False, soft_wrap=True)
    if not collected.results and not collected.datasets:
        there = ", ".join(map(str, places))
        raise DataError(f"{there}: no results; make some with: relatum run SPEC --results {places[0]}")
    return collected
