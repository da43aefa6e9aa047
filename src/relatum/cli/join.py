"""`relatum join`: several runs as one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.options import Json
from relatum.cli.output import print_json, say

__all__ = ["join"]


def join(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Runs that differ in their seed.")],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run directory to create.")],
    json: Json = False,
) -> None:
    """Join runs into one whose score is the sum of theirs: usually better than each, and asked like any other run."""
    from relatum import api

    joined = api.join(list(runs), out)
    if json:
        print_json({"run": str(joined.folder), "model": joined.model.name, "ensemble": joined.environment["ensemble"]})
        return
    say(f"joined {len(runs)} runs into {out}; next: relatum evaluate {shlex.quote(str(out))}")
