"""`relatum clean`: find and remove what killed processes have left."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.options import Json
from relatum.cli.output import print_json, print_table, say
from relatum.errors import RelatumWarning
from relatum.formatting import count, duration


def clean(
    folder: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FOLDER]...", help="Where commands have written; by default the current folder."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove what is found; without it, it is only listed.")] = False,
    json: Json = False,
) -> None:
    """List, or remove, temporary files and folders that killed commands have left.

    It looks into each FOLDER and the folders directly in it, the cache and the system's temporary folders. What a running
    command uses is never touched.
    """
    from relatum.files import remove_left
    from relatum.runs.stale import stale_temporaries_in

    found = stale_temporaries_in(folder or [Path()])
    if yes:
        with warnings.catch_warnings(action="ignore", category=RelatumWarning):  # it is all in the table
            remove_left(one.path for one in found)
    kept = [one for one in found if yes and one.path.exists()]
    if json:
        listed = [{**one.to_json(), "removed": yes and one not in kept} for one in found]
        print_json({"found": listed, "bytes": sum(one.size for one in found)})
        return
    if not found:
        say("nothing is left of killed commands")
        return
    rows = [(str(one.path), f"{one.size / 1e6:,.1f} MB", duration(one.untouched)) for one in found]
    heads = ("path", "size", "not touched for")
    print_table("left by killed commands", heads, rows, heads[1:])
    if not yes:
        again = shlex.join(["relatum", "clean", *map(str, folder or ()), "--yes"])
        say(f"{count(len(found), 'temporary', 'temporaries')}; remove with: {again}")
    else:
        say(f"{len(found) - len(kept)} of {len(found)} removed")
