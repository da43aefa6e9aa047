"""How well a run answers queries of each shape, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relatum.cli.output import print_json, print_table, say
from relatum.formatting import number

if TYPE_CHECKING:
    from relatum.api import Run

__all__ = ["show_query_quality"]


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
