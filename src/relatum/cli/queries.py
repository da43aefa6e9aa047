"""`relatum queries`: draw queries with graded answers from a dataset, and how well a run answers them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Data, Json, NewFolder
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import count as counted
from relatum.formatting import number

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.querysets import QuerySet


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
    from relatum.querysets.query_set import find_shapes

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


def show_query_quality(run: Run, folder: Path, *, predicted_alone: bool, json: bool) -> None:
    """Print how well the hard answers to queries are ranked."""
    from relatum.querysets import load_queries
    from relatum.runs.query_quality import evaluate_queries

    queries = load_queries(folder)
    found = evaluate_queries(run, queries, predicted_alone=predicted_alone)
    if json:
        whole = {"queries": str(folder), "part": queries.part, "predicted_alone": predicted_alone}
        print_json({**whole, "shapes": [one.to_dict() for one in found]})
        return
    numbers = ("queries", "MRR", "Hit@10", "full-hard", "full-hard MRR", "median s", "proven")
    rows = [
        (
            one.shape,
            number(one.queries),
            f"{one.mrr:.3f}",
            f"{one.hit10:.3f}",
            number(one.full_hard_queries),
            "-" if one.full_hard_mrr is None else f"{one.full_hard_mrr:.3f}",
            f"{one.seconds:.2f}",
            f"{one.proven:.0%}",
        )
        for one in found
    ]
    print_table(f"hard answers to {queries.part} queries", ("shape", *numbers), rows, numbers, drop=("Hit@10",))
    before = "train" if queries.part == "valid" else "train and valid"
    say(
        f"hard answers need a {queries.part} fact, full-hard ones nothing else; facts of {before} are known. "
        "Each is ranked among all that are no answer"
        + (", by predicted facts alone: what rests on a known fact comes last" if predicted_alone else "")
    )
