"""`relatum export`: write imported tables back, as their source had them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.options import Json, Replace, is_run
from relatum.cli.output import print_json, say
from relatum.formatting import count


def export(
    source: Annotated[
        Path, typer.Argument(metavar="RUN_OR_DIR", help="A run directory, or a directory that relatum import has written.")
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="FILE_OR_URL",
            help="A SQLite or DuckDB file, or the URL of a database; of one table also .csv, .tsv, .jsonl or .parquet.",
        ),
    ],
    table: Annotated[list[str] | None, typer.Option(metavar="TABLE", help="Write only this table; can be repeated.")] = None,
    replace: Replace = False,
    json: Json = False,
) -> None:
    """Write imported tables to a database or a file, each value as its source had it."""
    from relatum.closed_folders import close_folder
    from relatum.datasets.file_types import is_server
    from relatum.datasets.row_files import load_rows
    from relatum.errors import DataError
    from relatum.runs.directory import load_facts
    from relatum.tables.servers import without_password
    from relatum.tables.way_back import export_tables

    if not source.is_dir():
        raise DataError("no-such-directory", "no such directory", place=source)
    close_folder(source)
    stored = load_facts(source).rows if is_run(str(source)) else load_rows(source)
    written = export_tables(stored, to, table or (), replace=replace)
    if json:
        print_json({"tables": [{"table": name, "rows": rows} for name, rows in written.items()]})
        return
    for name, rows in written.items():
        say(f"wrote {count(rows, 'row')} of {name} to {without_password(to) if is_server(to) else to}")
