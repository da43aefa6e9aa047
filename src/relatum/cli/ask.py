"""`relatum evaluate`, `complete` and `score`: asking a trained run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Json, RunFolder
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import number, percent

if TYPE_CHECKING:
    from relatum.inference.calibration import Reliability
    from relatum.inference.ranking import Metrics
    from relatum.runs.answers import Answer

__all__ = ["complete", "evaluate", "score"]

_SPARE = ("pessimistic MRR", "mean rank", "Hit@3", "questions", "Hit@1")  # the first to go where there is no room


def evaluate(
    run: RunFolder,
    split: Annotated[str, typer.Option(help="Which facts to rank: train, valid or test.")] = "test",
    by: Annotated[
        str, typer.Option(help="Break down by arity, position, relation, seen, size, operation or depth.")
    ] = "arity",
    raw: Annotated[bool, typer.Option("--raw", help="Count known answers as competitors.")] = False,
    json: Json = False,
) -> None:
    """Rank held-out facts among all entities: MRR and Hit@k, filtered by all known facts, with ties at their mean rank."""
    from relatum.api import Run
    from relatum.datasets.registry import PARTS
    from relatum.errors import UnknownNameError

    if split not in PARTS:
        raise UnknownNameError("split", split, PARTS)
    loaded = Run.load(run)
    tested = loaded.evaluate(split, raw=raw)
    parts = {key: tested.by(key) for key in by.split(",") if key}
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
    if tested.embedding is not None and tested.evidence is not None:
        alone = tested.embedding.metrics.mrr, tested.evidence.metrics.mrr
        say(f"by embedding and evidence together; by the embedding alone {alone[0]:.4f}, by evidence alone {alone[1]:.4f}")
    say(f"mean over arities {macro['arity']:.4f}, over relations {macro['relation']:.4f}")
    if reliability is not None:
        _show(reliability)


def complete(
    run: RunFolder,
    question: Annotated[str, typer.Argument(help="A fact with open positions: 'sold(drew, ?, book)'.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many known answers, and how many new ones, to show.")] = 10,
    new: Annotated[bool, typer.Option("--new", help="Show new answers only.")] = False,
    beam: Annotated[
        int | None,
        typer.Option(min=1, help="With several gaps: how many partial facts to keep; by default all, or 256 if too many."),
    ] = None,
    json: Json = False,
) -> None:
    """Fill the gaps in a fact: first the known answers, then the most likely new ones."""
    from relatum.api import Run
    from relatum.runs.answers import parse_question

    loaded = Run.load(run)
    parsed = parse_question(question, loaded.schema)
    answers = loaded.complete(parsed, k=k, new_only=new, beam=beam)
    roles = loaded.schema[parsed.relation].roles
    heads = [roles[position] if roles else f"position {position}" for position in parsed.open]
    if json:
        print_json({"question": question, "answers": [_plain(answer) for answer in answers]})
        return
    ends = ("score", "probability")
    if known := [answer for answer in answers if answer.known]:
        rows = [(*row, "derived" if one.source == "derived" else f"in {one.source}") for row, one in _rows(known)]
        print_table(f"{question}, known", ("", *heads, *ends, ""), rows, ends, drop=("score",))
    rows = [row for row, _ in _rows([answer for answer in answers if not answer.known])]
    print_table(f"{question}, new", ("", *heads, *ends), rows, ends, drop=("score",))


def score(
    run: RunFolder,
    facts: Annotated[list[str], typer.Argument(help="Facts such as 'sold(drew, alex, book)'.")],
    json: Json = False,
) -> None:
    """Show how likely facts are: their probability, and the share of their one-cell variations that score lower."""
    from dataclasses import asdict

    from relatum.api import Run

    loaded = Run.load(run)
    found = [loaded.score(fact) for fact in facts]
    if json:
        print_json({"scores": [{"fact": fact, **asdict(one)} for fact, one in zip(facts, found, strict=True)]})
        return
    rows = [
        (
            fact,
            f"{one.score:.3f}",
            percent(one.probability),
            f"{one.percentile:.2f} %",
            _where(one.source),
        )
        for fact, one in zip(facts, found, strict=True)
    ]
    heads = ("fact", "score", "probability", "beats", "")
    print_table("scores", heads, rows, heads[1:4], drop=("score",))
    say("beats: the share of one-cell variations of this fact that score lower")


def explain(
    run: RunFolder,
    fact: Annotated[str, typer.Argument(help="A fact such as 'sold(drew, alex, book)'.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many rules to show.")] = 5,
    json: Json = False,
) -> None:
    """Show what speaks for a fact: the rules that the training facts bear out, and the very facts that they rest on."""
    from relatum.api import Run

    loaded = Run.load(run)
    found, score = loaded.why(fact, k=k), loaded.score(fact)
    if json:
        print_json({"fact": fact, "probability": score.probability, "reasons": [one.to_dict() for one in found]})
        return
    share = f"above {score.percentile:.1f} % of its one-cell variations"
    say(f"{fact}: {_where(score.source)}; by the embedding {percent(score.probability)}, {share}")
    for one in found:
        say(f"{percent(one.confidence)}  {one.rule}")
        say(f"       names {one.answers}; right {one.right:,} of {one.named:,} times in training")
        for each in one.facts:
            say(f"       - {each}")
        if one.more:
            say(f"       - and {one.more:,} more")
    if not found:
        say("no rule speaks for it: the embedding alone does")


def _rows(answers: list[Answer]) -> Iterator[tuple[tuple[str, ...], Answer]]:
    """Yield the cells of each answer, with the answer."""
    for rank, one in enumerate(answers, start=1):
        yield (str(rank), *one.entities, f"{one.score:.3f}", percent(one.probability)), one


def _plain(answer: Answer) -> dict[str, Any]:
    entity = {"entity": answer.entity} if len(answer.entities) == 1 else {}
    return {
        **entity,
        "entities": list(answer.entities),
        "score": answer.score,
        "probability": answer.probability,
        "known": answer.known,
        "source": answer.source,
    }


def _where(source: str | None) -> str:
    """Return where a fact is known from."""
    if source is None:
        return "new"
    return "known, derived" if source == "derived" else f"known, in {source}"


def _show(reliability: Reliability) -> None:
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
