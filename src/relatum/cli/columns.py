"""The quality of columns as a table, ours beside the obvious, and of all facts by time beside a random split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relatum.cli.output import print_json, print_table, say
from relatum.formatting import count, number

if TYPE_CHECKING:
    from relatum.api import Run


def show_columns(run: Run, part: str, *, json: bool) -> None:
    """Print how well the held-out cells of each column are filled."""
    found = run.evaluate_columns(part)
    if json:
        print_json({"part": part, "columns": [one.to_dict() for one in found]})
        return
    numbers = ("cells", "accuracy", "F1", "most frequent", "counting", "naive Bayes", "one column", "says", "error")
    rows = [
        (
            f"{one.table}.{one.column}",
            number(one.cells),
            *(f"{value:.3f}" for value in (one.accuracy, one.macro_f1, one.most_frequent, one.counting, one.naive_bayes)),
            *(f"{value:.3f}" for value in (one.best_single_column, one.probability, one.calibration_error)),
            one.verdict,
        )
        for one in found
    ]
    heads = ("column", *numbers, "")
    print_table(f"{part} cells filled right", heads, rows, numbers, drop=("error", "says", "F1", "counting"))
    judged = [one for one in found if one.verdict not in ("too few cells", "too few facts")]
    shares = {word: sum(one.verdict == word for one in judged) for word in ("better", "equal", "worse")}
    if judged:
        gain = sum(one.accuracy - one.best_baseline for one in judged) / len(judged)
        listed = ", ".join(f"{many} {word}" for word, many in shares.items())
        say(
            f"{count(len(judged), 'column')} with 20 facts or more: {listed} than the best of most frequent value, "
            f"counting, naive Bayes and one other column, by {gain:+.3f} on average"
        )
    if shared := {one.table: one for one in found if one.facts < one.cells}:
        listed = "; ".join(
            f"{one.table}.{one.column}: {one.cells:,} cells are {one.facts:,} facts" for one in shared.values()
        )
        say(
            "rows that are alike in all columns of a fact are held out together, so that a column of it is guessed from the "
            f"other columns alone, and each row counts: {listed}"
        )


def show_both_splits(run: Run, *, json: bool) -> None:
    """Print how well a run does on what came later, and a second one on what is left out at random."""
    if not json:
        say("training a second model with as many rows held out at random; that takes as long as the first")
    found = run.evaluate_both_splits(progress=not json)
    if json:
        print_json({"verdict": found.verdict, "measures": [one.to_dict() for one in found]})
        return
    numbers = ("held out", "by time", "at random", "difference")
    rows = [
        (one.what, one.measure, number(one.held_out), f"{one.by_time:.3f}", f"{one.at_random:.3f}", f"{one.difference:+.3f}")
        for one in found
    ]
    print_table("test facts and cells, by time and at random", ("", "measure", *numbers), rows, numbers)
    say(f"MRR {found.verdict}")
