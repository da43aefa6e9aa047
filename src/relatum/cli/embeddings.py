"""`relatum embeddings`: the vectors of entities and relations, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relatum.cli.ask import Json, RunFolder
from relatum.cli.output import console, print_json

__all__ = ["embeddings"]


def embeddings(
    run: RunFolder,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The directory to make; it must be new or empty.")],
    format: Annotated[  # noqa: A002
        str, typer.Option(metavar="npy|parquet", help="NumPy arrays with names beside them, or Parquet.")
    ] = "npy",
    json: Json = False,
) -> None:
    """Write the embeddings of a run: a table for entities, and those that the model has for relations."""
    from relatum.runs.embeddings import save_embeddings
    from relatum.runs.run import Run

    shapes = save_embeddings(Run(run), to, format)
    if json:
        print_json({"to": str(to), "tables": {name: list(shape) for name, shape in shapes.items()}})
        return
    for name, shape in shapes.items():
        size = " x ".join(f"{length:,}" for length in shape)
        console().print(f"wrote {to / f'{name}.{format}'}: {size}", markup=False, soft_wrap=True)
