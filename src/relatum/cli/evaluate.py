"""`relatum evaluate`: how well a run ranks facts, fills cells and answers queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Json, RunFolder
from relatum.cli.output import print_json, print_table, say
from relatum.errors import SettingError, UnknownNameError
from relatum.formatting import count, number, percent
from relatum.workers import is_worker

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.inference.calibration import Reliability
    from relatum.inference.ranking import Metrics

_SPARE = ("pessimistic MRR", "mean rank", "Hit@3", "questions", "Hit@1")  # the first to go where there is no room


def evaluate(
    run: RunFolder,
    split: Annotated[str, typer.Option(help="Which facts to rank: train, valid or test.")] = "test",
    by: Annotated[
        str, typer.Option(help="Break down by arity, position, relation, seen, size, operation or depth; column: of tables.")
    ] = "arity",
    raw: Annotated[bool, typer.Option("--raw", help="Count known answers as competitors.")] = False,
    queries: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Answer the queries that `relatum queries` wrote, shape by shape.")
    ] = None,
    predicted_alone: Annotated[
        bool,
        typer.Option("--predicted-alone", help="With --queries: known facts count nothing, as full-hard answers need it."),
    ] = False,
    json: Json = False,
) -> None:
    """Rank held-out facts among all entities: MRR and Hit@k, filtered by all known facts, with ties at their mean rank."""
    from relatum.api import Run
    from relatum.datasets.registry import PARTS
    from relatum.inference.evaluation import DERIVATION_KEYS, KEYS, SIZE

    if split not in PARTS:
        raise UnknownNameError("split", split, PARTS)
    keys = [key for key in by.split(",") if key]
    for key in keys:
        if key not in (known := (*KEYS, SIZE, *DERIVATION_KEYS, "column")):
            raise UnknownNameError("breakdown", key, known)
    if "column" in keys and len(keys) > 1:
        raise SettingError(
            "contradictory-options", "judges cells, not ranks", place="--by column", remedy="ask for it alone"
        )
    ranks = queries is None and keys != ["column"]
    if is_worker() and not _ranks_as_worker(run, split, raw=raw, ranks=ranks):
        return
    loaded = Run.load(run)
    if predicted_alone and queries is None:
        raise SettingError(
            "contradictory-options", "is about queries", place="--predicted-alone", remedy="name them with --queries DIR"
        )
    if queries is not None:
        _show_query_quality(loaded, queries, predicted_alone=predicted_alone, json=json)
        return
    if keys == ["column"]:
        _show_columns(loaded, split, json=json)
        return
    tested = loaded.evaluate(split, raw=raw)
    parts = {key: tested.by(key) for key in keys}
    whole, (low, high) = tested.metrics, tested.interval
    macro = {key: tested.macro_mrr(key) for key in ("arity", "relation")}
    reliability = loaded.reliability(split)
    if json:
        by_part = {key: {one.part: one.metrics.to_json() for one in found} for key, found in parts.items()}
        plain = {**tested.to_dict(), "mrr_macro": macro, "by": by_part}
        print_json({**plain, "calibration": None if reliability is None else reliability.to_json()})
        return
    heads = ("", "questions", "MRR", "Hit@1", "Hit@3", "Hit@10", "mean rank", "pessimistic MRR")
    for key, found in parts.items():
        rows = [_row(one.part, one.metrics) for one in found]
        print_table(f"by {key}", heads, rows, heads[1:], drop=_SPARE)
    print_table(f"{split}, {'raw' if raw else 'filtered'}", heads, [_row("all", whole)], heads[1:], drop=_SPARE)
    say(f"MRR {whole.mrr:.4f}, 95 % interval {low:.4f} to {high:.4f} by resampling facts")
    if tested.in_train is not None and tested.in_train.facts:
        say(str(tested.in_train))
    if tested.embedding is not None and tested.evidence is not None:
        alone = tested.embedding.metrics.mrr, tested.evidence.metrics.mrr
        say(f"by embedding and evidence together; by the embedding alone {alone[0]:.4f}, by evidence alone {alone[1]:.4f}")
    say(f"mean over arities {macro['arity']:.4f}, over relations {macro['relation']:.4f}")
    if reliability is not None:
        _show_reliability(reliability)


def _ranks_as_worker(run: Path, split: str, *, raw: bool, ranks: bool) -> bool:
    """Join the group of workers, and return whether this is the first one, which goes on; others rank their entities."""
    from relatum.api import Run
    from relatum.progress import silence
    from relatum.workers.group import start_group

    group = start_group()
    if group is None or group.is_first:
        return True
    if ranks:
        with silence():
            Run.load(run).evaluate(split, raw=raw)
    return False


def _show_reliability(reliability: Reliability) -> None:
    """Print how well probabilities match what is observed, with a bar for each range of them."""
    rows = [
        (percent(predicted), percent(observed), percent(fraction), "\u2588" * round(20 * observed))
        for predicted, observed, fraction in reliability.curve
    ]
    heads = ("predicted", "observed", "fraction", "")
    print_table(
        "calibration: how likely the best new answer is, and how often it is one of these facts", heads, rows, heads[:3]
    )
    say(f"Brier score {reliability.brier:.4f}, expected calibration error {reliability.error:.4f}")


def _row(name: str, metrics: Metrics) -> tuple[str, ...]:
    hits = (f"{share:.4f}" for share in metrics.hits.values())
    ranks = (f"{metrics.mean_rank:.1f}", f"{metrics.mrr_pessimistic:.4f}")
    return (name, number(metrics.questions), f"{metrics.mrr:.4f}", *hits, *ranks)


def _show_columns(run: Run, part: str, *, json: bool) -> None:
    """Print how well the held-out cells of each column are filled."""
    found = run.evaluate_columns(part)
    if json:
        print_json({"part": part, "columns": [one.to_dict() for one in found]})
        return
    numbers = ("cells", "accuracy", "F1", "most frequent", "counting", "naive Bayes", "one column", "says", "error")
    fields = ("accuracy", "macro_f1", "most_frequent", "counting", "naive_bayes", "best_single_column", "probability")
    rows = []
    for one in found:
        values = (f"{getattr(one, name):.3f}" for name in (*fields, "calibration_error"))
        rows.append((f"{one.table}.{one.column}", number(one.cells), *values, one.verdict))
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


def _show_query_quality(run: Run, folder: Path, *, predicted_alone: bool, json: bool) -> None:
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
    rows = []
    for one in found:
        full_hard = number(one.full_hard_queries), "-" if one.full_hard_mrr is None else f"{one.full_hard_mrr:.3f}"
        ranks, times = (f"{one.mrr:.3f}", f"{one.hit10:.3f}"), (f"{one.seconds:.2f}", f"{one.proven:.0%}")
        rows.append((one.shape, number(one.queries), *ranks, *full_hard, *times))
    print_table(f"hard answers to {queries.part} queries", ("shape", *numbers), rows, numbers, drop=("Hit@10",))
    before = "train" if queries.part == "valid" else "train and valid"
    say(
        f"hard answers need a {queries.part} fact, full-hard ones nothing else; facts of {before} are known. "
        "Each is ranked among all that are no answer"
        + (", by predicted facts alone: what rests on a known fact comes last" if predicted_alone else "")
    )
