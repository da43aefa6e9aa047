"""`relatum evaluate`, `complete` and `score`: asking a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.output import console, number, print_json, print_table

if TYPE_CHECKING:
    from relatum.evaluation.ranks import Metrics

__all__ = ["complete", "evaluate", "score"]

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory made by relatum train.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


def evaluate(
    run: RunFolder,
    split: Annotated[str, typer.Option(help="Which facts to rank: train, valid or test.")] = "test",
    by: Annotated[str, typer.Option(help="Break down by any of arity, position, relation, seen; with commas.")] = "arity",
    raw: Annotated[bool, typer.Option("--raw", help="Count known answers as competitors.")] = False,
    json: Json = False,
) -> None:
    """Rank held-out facts among all entities: MRR and Hit@k, by realistic ties, filtered by all that is known."""
    from relatum.data.datasets import PARTS
    from relatum.errors import UnknownNameError
    from relatum.evaluation.breakdown import breakdown, macro_mrr
    from relatum.evaluation.interval import mrr_interval
    from relatum.runs.run import Run

    if split not in PARTS:
        raise UnknownNameError("split", split, PARTS)
    loaded = Run(run)
    ranks = loaded.evaluate(split, raw=raw)
    parts = {key: breakdown(ranks, key, loaded.model.schema) for key in by.split(",") if key}
    whole, (low, high) = ranks.metrics, mrr_interval(ranks)
    macro = {key: macro_mrr(breakdown(ranks, key, loaded.model.schema)) for key in ("arity", "relation")}
    if json:
        by_part = {key: {name: metrics.to_json() for name, metrics in found.items()} for key, found in parts.items()}
        print_json({**whole.to_json(), "mrr_interval": [low, high], "mrr_macro": macro, "by": by_part})
        return
    heads = ("", "questions", "MRR", "Hit@1", "Hit@3", "Hit@10", "mean rank", "pessimistic MRR")
    for key, found in parts.items():
        rows = [_row(name, metrics) for name, metrics in found.items()]
        print_table(f"by {key}", heads, rows, heads[1:])
    print_table(f"{split}, {'raw' if raw else 'filtered'}", heads, [_row("all", whole)], heads[1:])
    console().print(f"MRR {whole.mrr:.4f}, 95 % of resampled facts between {low:.4f} and {high:.4f}; ", end="")
    console().print(f"mean over arities {macro['arity']:.4f}, over relations {macro['relation']:.4f}")


def complete(
    run: RunFolder,
    question: Annotated[str, typer.Argument(help="A fact with one open position: 'sold(drew, ?, book)'.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many answers.")] = 10,
    new: Annotated[bool, typer.Option("--new", help="Leave out what is known already.")] = False,
    json: Json = False,
) -> None:
    """Fill the gap in a fact."""
    from relatum.runs.run import Run

    answers = Run(run).complete(question, k, new_only=new)
    if json:
        found = [{"entity": a.entity, "score": a.score, "known": a.known, "source": a.source} for a in answers]
        print_json({"question": question, "answers": found})
        return
    rows = [
        (str(n), a.entity, f"{a.score:.3f}", f"known, in {a.source}" if a.source else "new")
        for n, a in enumerate(answers, start=1)
    ]
    print_table(question, ("", "answer", "score", ""), rows, ("score",))


def score(
    run: RunFolder,
    facts: Annotated[list[str], typer.Argument(help="Facts such as 'sold(drew, alex, book)'.")],
    json: Json = False,
) -> None:
    """Score facts; more is more likely, among facts of one relation."""
    from relatum.runs.run import Run

    loaded = Run(run)
    scores = [loaded.score(fact) for fact in facts]
    if json:
        print_json({"scores": [{"fact": fact, "score": value} for fact, value in zip(facts, scores, strict=True)]})
        return
    print_table("scores", ("fact", "score"), [(f, f"{s:.4f}") for f, s in zip(facts, scores, strict=True)], ("score",))


def _row(name: str, metrics: Metrics) -> tuple[str, ...]:
    hits = (f"{share:.4f}" for share in metrics.hits.values())
    ranks = (f"{metrics.mean_rank:.1f}", f"{metrics.mrr_pessimistic:.4f}")
    return (name, number(metrics.questions), f"{metrics.mrr:.4f}", *hits, *ranks)
