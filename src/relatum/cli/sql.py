"""`relatum sql`: queries of SQL over a trained run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.options import Coverage, Json, RunFolder
from relatum.cli.output import print_json, say
from relatum.cli.query import show_rows
from relatum.errors import SettingError

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
    why: Annotated[bool, typer.Option("--why", help="Show the facts that each row rests on.")] = False,
    minimum: Annotated[
        bool, typer.Option("--minimum", help="A row is as likely as its least likely fact, not as the product of all.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0, help="Stop after this many seconds with the best rows found so far; 0 is no limit.")
    ] = 5.0,
    coverage: Coverage = None,
    json: Json = False,
) -> None:
    """Answer a query of SQL over what is known and what is missing: every row is known, or predicted with a probability."""
    query = _query(text, file)
    from relatum.api import Run
    from relatum.runs.query_rows import QueryRows

    loaded = Run.load(run)
    found = loaded.sql(query, conjunction="minimum" if minimum else "product", seconds=seconds or None, coverage=coverage)
    if not isinstance(found, QueryRows):
        if json:
            print_json({"view": found.name, "columns": list(found.columns), "relation": found.is_relation})
            return
        where = "in SQL, complete, score and query" if found.is_relation else "in SQL"
        say(f"{found.name}({', '.join(found.columns)}) is now a view, to be used {where}")
        return
    show_rows(found, seconds, why=why or bool(found.plan), json=json)


def _query(text: str | None, file: Path | None) -> str:
    """Return the text of the query: given, in a file, or on standard input."""
    if (text is None) == (file is None):
        raise SettingError("nothing-asked", "give one query: as an argument, - for standard input, or --file FILE")
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
        raise SettingError("not-utf8", "the query is not UTF-8", place=file or "standard input") from None
