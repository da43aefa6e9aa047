"""`relatum tables`: the paper's tables from collected results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.ask import Json
from relatum.cli.output import console, print_json, print_table

__all__ = ["tables"]


class Format(StrEnum):
    """How tables are printed."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"


def tables(
    results: Annotated[Path, typer.Argument(help="The folder of results that `relatum run --results` has written.")] = Path(
        "results"
    ),
    form: Annotated[Format, typer.Option("--format", help="For a terminal, or as Markdown or LaTeX.")] = Format.terminal,
    json: Json = False,
) -> None:
    """Print the paper's tables: our value beside the paper's, with seeds, ties and time."""
    from relatum.errors import DataError
    from relatum.experiments.tables import paper_tables, read_results

    found = paper_tables(read_results(results))
    if not found:
        raise DataError(
            f"{results}: no results for any of the paper's tables; make some with: relatum run --results {results}"
        )
    if json:
        print_json({"tables": [table.to_json() for table in found]})
        return
    for table in found:
        if form is Format.terminal:
            print_table(table.title, table.heads, table.rows, table.heads[1:])
        else:
            text = table.markdown() if form is Format.markdown else table.latex()
            console().print(text, markup=False, soft_wrap=True)
