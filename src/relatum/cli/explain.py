"""`relatum explain`: what speaks for a fact and what against it, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Json, RunFolder
from relatum.cli.output import print_json, say
from relatum.formatting import percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.evidence.reasons import Reason
    from relatum.runs.answers import Answer, Question

_REASONS = 2  # of each answer


def explain(
    run: RunFolder,
    fact: Annotated[str, typer.Argument(help="A fact such as 'sold(drew, alex, book)'.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many rules to show.")] = 5,
    json: Json = False,
) -> None:
    """Show what speaks for a fact: the rules that the training facts bear out, and the very facts that they rest on."""
    from relatum.api import Run
    from relatum.runs.reasons import without_prefixes_in

    loaded = Run.load(run)
    found, score, against = loaded.why(fact, k=k), loaded.score(fact), loaded.objections(fact)
    similar = loaded.similar_facts(fact)
    if json:
        plain = {"fact": fact, "known": score.known, "probability": score.probability, "percentile": score.percentile}
        reasons, known = [one.to_dict() for one in found], [one.to_dict() for one in similar]
        print_json({**plain, "reasons": reasons, "against": against, "similar": known})
        return
    share = f"above {score.percentile:.1f} % of its one-cell variations"
    say(f"{fact}: {where(score.source)}; {percent(score.probability)} likely, {share}")
    for one in found:
        say_reason(loaded, one)
    if not found:
        say("no rule speaks for it: the embedding alone does")
    for each in against:
        say(f"against it: {each}")
    if similar:
        say("the embedding finds these known facts most similar:")
        for fact_like in similar:
            say(f"       - {without_prefixes_in(loaded, fact_like.fact)} (similarity {fact_like.similarity:.2f})")


def reasons_of(run: Run, question: Question, answers: Sequence[Answer]) -> dict[Answer, list[Reason]]:
    """Return what speaks for each new answer to a question."""
    from relatum.errors import DataError
    from relatum.runs.reasons import why

    if question.free or question.relation in run.definitions:
        raise DataError(
            "nothing-to-explain",
            "reasons are for answers of a stored relation, of which no position is free",
            place=question,
        )
    found, only = {}, question.open[0] if len(question.open) == 1 else None
    for answer in answers:
        if not answer.known:
            arguments = list(question.arguments)
            for position, entity in zip(question.open, answer.entities, strict=True):
                arguments[position] = entity
            found[answer] = why(run, replace(question, arguments=tuple(arguments)), _REASONS, only)
    return found


def say_reason(run: Run, reason: Reason) -> None:
    """Print a rule, how often it is right, and the facts that it rests on."""
    from relatum.runs.reasons import without_prefixes

    one = without_prefixes(run, reason)
    say(f"{percent(one.confidence)}  {one.rule}")
    say(f"       names {one.answers}; right {one.right:,} of {one.named:,} times in training")
    for each in one.facts:
        say(f"       - {each}")
    if one.more:
        say(f"       - and {one.more:,} more")


def where(source: str | None) -> str:
    """Return where a fact is known from."""
    if source is None:
        return "new"
    return "known, derived" if source == "derived" else f"known, in {source}"
