"""`relatum explain` and `doubt`: what speaks for a fact and what against it, and what is likely wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Json, Relations, RunFolder
from relatum.cli.output import print_json, print_table, say
from relatum.errors import DataError, SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.evidence.reasons import Reason
    from relatum.records import Records
    from relatum.runs.answers import Answer, FactScore, Question
    from relatum.runs.doubt import DoubtfulCell, DoubtfulFact

Many = list[str] | None

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
        plain |= {"interval": score.interval, "stored": score.stored}
        reasons, known = [one.to_dict() for one in found], [one.to_dict() for one in similar]
        print_json({**plain, "reasons": reasons, "against": against, "similar": known})
        return
    share = f"above {score.percentile:.1f} % of its one-cell variations"
    say(f"{fact}: {where(score)}; {percent(score.probability)} likely, {share}")
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


def where(score: FactScore) -> str:
    """Return where a fact is known from, or what is stored instead."""
    if score.source is None:
        return "new" if score.stored is None else f"not known: {score.stored} is stored"
    return "known, derived" if score.source == "derived" else f"known, in {score.source}"


def doubt(
    run: RunFolder,
    relation: Relations = None,
    table: Annotated[Many, typer.Option(metavar="TABLE", help="Only cells of this table; can be repeated.")] = None,
    column: Annotated[Many, typer.Option(metavar="COLUMN", help="Only cells of this column; can be repeated.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = 20,
    why: Annotated[bool, typer.Option("--why", help="Show the rules and the facts behind each doubt.")] = False,
    json: Json = False,
) -> None:
    """List known facts that other facts and the embedding speak against, with the entity that they would expect instead.

    Of imported tables it lists cells instead, unless --relation or --why is given.
    """
    from relatum.api import Run

    opened = Run.load(run)
    if table or column or (opened.columns is not None and not relation and not why):
        if relation or why:
            raise SettingError(
                "contradictory-options",
                "--table and --column choose cells, --relation and --why are for facts",
                remedy="give either",
            )
        _show_cells(opened.doubt_cells(table or (), column or (), k), json=json)
        return
    found = opened.doubt(relation, k=k)
    if json:
        print_json({"doubtful": [one.to_dict() for one in found]})
        return
    if not found:
        say("no known fact is doubtful")
        return
    from relatum.runs.shown_values import beside

    heads, ends = ("", "fact", "role", "stored", "expected", "doubt"), ("doubt",)
    rows = [
        (str(rank), str(one), one.role, one.stored, beside(one.expected or "-", one.interval), f"{one.doubt:.2f}")
        for rank, one in enumerate(found, start=1)
    ]
    print_table("doubtful facts", heads, rows, ends)
    say("doubt: the log-odds that what is stored stands there by accident; best for comparing facts")
    for rank, one in enumerate(found if why else [], start=1):
        _say_doubt(rank, one)


def _show_cells(found: Records[DoubtfulCell], *, json: bool) -> None:
    if json:
        print_json({"cells": [{**one.to_dict(), "row": dict(one.row)} for one in found]})
        return
    if not len(found):
        say("no cell is doubtful")
        return
    heads = ("column", "row", "stored", "expected", "probability", "doubt", "why")
    rows = [
        (
            f"{one.table}.{one.column}",
            ", ".join(str(value) for value in one.row.values()) if "row" not in one.row else f"row {one.row['row']}",
            one.stored,
            one.expected,
            percent(one.probability),
            f"{one.doubt:.2f}",
            one.reason,
        )
        for one in found
    ]
    print_table("doubtful cells", heads, rows, ("probability", "doubt"), drop=("probability",), below="why")
    say("doubt: how much likelier what is expected is than what is stored, as a logarithm; best for comparing cells")


def _say_doubt(rank: int, one: DoubtfulFact) -> None:
    say(f"\n{rank}  {one}, in {one.source}")
    say(f"   evidence {one.evidence:+.2f}, embedding {one.embedding:+.2f}")
    if one.expected is not None:
        _say_reasons(one.expected, one.reasons)
    _say_reasons(one.stored, one.support)


def _say_reasons(entity: str, reasons: tuple[Reason, ...]) -> None:
    if not reasons:
        say(f"   for {entity}: no rule speaks")
    for reason in reasons:
        facts = count(len(reason.facts) + reason.more, "fact")
        say(f"   for {entity}: {facts} by {reason.rule}, right {percent(reason.confidence)} of the time")
        for each in reason.facts:
            say(f"     - {each}")
