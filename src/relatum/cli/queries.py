"""`relatum queries`: draw queries with graded answers from a dataset, to measure how well a run answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Data, Json, NewFolder
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import count as counted
from relatum.formatting import number

if TYPE_CHECKING:
    from relatum.querysets import QuerySet

__all__ = ["queries"]


def queries(
    source: Data,
    out: NewFolder,
    part: Annotated[str, typer.Option(help="What is held out: valid or test; the parts before it are known.")] = "test",
    count: Annotated[int, typer.Option(min=1, help="How many queries of each shape.")] = 200,
    shape: Annotated[list[str] | None, typer.Option(help="Only queries of this shape; can be repeated.")] = None,
    most_hard: Annotated[int, typer.Option(min=1, help="Drop queries with more hard answers than this.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 0,
    json: Json = False,
) -> None:
    """Draw queries from a dataset, with exact answers: easy, hard (need a held-out fact), full-hard (need nothing else)."""
    from relatum.datasets.load import load
    from relatum.files import require_empty
    from relatum.progress import progress
    from relatum.querysets import sample_queries, save_queries
    from relatum.querysets.shapes import find_shapes

    wanted = [one.name for one in find_shapes(shape or [])]
    require_empty(out)  # before the work, and again when it is written
    split = load(source)
    with progress("drawing queries", count * len(wanted)) as advance:
        found = sample_queries(split, part, count=count, seed=seed, shapes=wanted, most_hard=most_hard, advance=advance)
    save_queries(found, out)
    if json:
        shapes = [vars(counts) for counts in found.counts()]
        print_json(
            {"out": str(out), "data": found.data, "part": part, "seed": seed, "queries": len(found), "shapes": shapes}
        )
    else:
        _show(found)
        say(f"wrote {out}: {counted(len(found), 'query', 'queries')} over {found.data}, {part} held out, seed {seed}")


def _show(found: QuerySet) -> None:
    counts = found.counts()
    rows = [
        (one.shape, *map(number, (one.queries, one.with_full_hard, one.easy, one.hard, one.full_hard)))
        for one in counts
        if one.queries
    ]
    heads = ("queries", "with full-hard", "easy answers", "hard answers", "full-hard answers")
    print_table("Queries by shape", ("shape", *heads), rows, heads)
    if missing := [one.shape for one in counts if not one.queries]:
        say(f"none of shape {', '.join(missing)}: the facts give none")
    if few := [f"{one.shape} {one.queries}" for one in counts if 0 < one.queries < found.count]:
        say(f"fewer than {number(found.count)} of shape: {', '.join(few)}")
