"""`relatum sql`: queries of SQL over a trained run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Json, RunFolder
from relatum.cli.output import print_json, say
from relatum.errors import SettingError

if TYPE_CHECKING:
    from relatum.sql.statement import Statement

__all__ = ["sql"]

_MOST = 1 << 20  # bytes that are read of a file or of standard input


def sql(
    run: RunFolder,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY", help="Such as \"SELECT seller FROM sold WHERE item = 'coffee'\"; - reads standard input."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read the query from a file.")] = None,
    json: Json = False,
) -> None:
    """Show what a query of SQL is in relational algebra, or define a view."""
    query = _query(text, file)
    from relatum.api import Run
    from relatum.runs.sql_catalog import catalog_of_run
    from relatum.sql.parse import parse_sql

    loaded = Run.load(run)
    statement = parse_sql(query, catalog_of_run(loaded))
    if statement.kind == "view" and statement.name is not None:
        loaded.define(statement.name, statement.expression)
    if json:
        print_json(_plain(statement))
        return
    say(statement.expression.text(roles=True))


def _query(text: str | None, file: Path | None) -> str:
    """Return the text of the query: given, in a file, or on standard input."""
    if (text is None) == (file is None):
        raise SettingError("give one query: as an argument, - for standard input, or --file FILE")
    if file is not None:
        with file.open("rb") as stream:
            content = stream.read(_MOST)
    elif text == "-":
        content = sys.stdin.buffer.read(_MOST)
    else:
        return text or ""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingError(f"{file or 'standard input'}: the query is not UTF-8") from None


def _plain(statement: Statement) -> dict[str, object]:
    return {
        "kind": statement.kind,
        "name": statement.name,
        "algebra": statement.expression.text(roles=True),
        "columns": list(statement.columns),
        "positions": list(statement.positions),
        "limit": statement.limit,
        "order": statement.order,
        "known": statement.known,
        "least": statement.least,
    }
