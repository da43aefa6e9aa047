"""The arguments and options that verbs share, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relatum.errors import SettingError

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory that relatum train has written.")]
Data = Annotated[str, typer.Argument(metavar="NAME_OR_DIR", help="A registered dataset, a directory or a file.")]
RunOrData = Annotated[
    str, typer.Argument(metavar="RUN_OR_DATA", help="A run directory, or a dataset: a name, a directory or a file.")
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]

NewFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to create; it must be new or empty.")]
RunOut = Annotated[
    Path | None, typer.Option("--out", metavar="RUN", help="The run directory to create; it must be new or empty.")
]
FolderOut = Annotated[Path, typer.Option("--out", metavar="DIR", help="The directory to write into.")]
FileOut = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="The file to write; by default report.html in the run directory."),
]

Coverage = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="With one predicted link: the smallest set of new rows that holds the missing one so often, such as 0.9.",
    ),
]

To = Annotated[
    str | None,
    typer.Option(
        metavar="FILE_OR_URL",
        help="Write to a .csv, .tsv, .jsonl or .parquet file, a SQLite or DuckDB file, or a postgresql:// or mysql:// URL.",
    ),
]
Append = Annotated[bool, typer.Option("--append", help="Add to a table that exists.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace the rows of a table, or the file.")]
EscapeFormulas = Annotated[
    bool,
    typer.Option("--escape-formulas", help="In CSV and TSV: put ' before text that a spreadsheet would take for a formula."),
]
FullNames = Annotated[bool, typer.Option("--full-names", help="Write full entity names, such as items:17 instead of 17.")]

Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, such as training.epochs=20; can be repeated."),
]
Relations = Annotated[
    list[str] | None, typer.Option(help="Only facts of this relation; can be repeated. By default all relations.")
]


def require_target(to: str | None, *with_target: object) -> None:
    """Refuse options that say how to write where nothing says where to."""
    if to is None and any(one not in (None, False) for one in with_target):
        raise SettingError(
            "option-needs-option", "--table, --append, --replace, --full-names and --escape-formulas need --to FILE_OR_URL"
        )


def is_run(source: str) -> bool:
    """Return whether a run is meant, and not a dataset."""
    from relatum.runs.directory import SPEC

    return (Path(source) / SPEC).exists()
