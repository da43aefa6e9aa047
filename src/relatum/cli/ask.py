"""`relatum complete` and `score`: the answers to a question, or to each of many, and the scores of facts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.explain import reasons_of, say_reason, where
from relatum.cli.options import Append, EscapeFormulas, FullNames, Json, Replace, RunFolder, To, require_target
from relatum.cli.output import json_text, print_json, print_table, say, say_promise
from relatum.errors import SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.evidence.reasons import Reason
    from relatum.runs.answers import Answer, Question

_OF_A_SET = 100  # answers of a set that are shown
_ASKED = 20  # of --for-each, whose answers are shown


def complete(
    run: RunFolder,
    question: Annotated[str | None, typer.Argument(help="A fact with open positions: 'sold(drew, ?, book)'.")] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="How many known answers, and how many new ones, to show: 10; of a set, 100."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Show new answers only.")] = False,
    beam: Annotated[
        int | None,
        typer.Option(min=1, help="With several gaps: how many partial facts to keep; by default all, or 256 if too many."),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Show the smallest set of new answers that holds the missing one so often, such as 0.9."
        ),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show what speaks for each new answer.")] = False,
    for_each: Annotated[
        str | None,
        typer.Option(
            metavar="QUESTIONS",
            help="Instead of one question, one for each entity of known facts where a * or a role's own name stands: "
            "'sold(*, ?, book)', 'sold(seller, ?, book)' or 'sold(seller=*, buyer=?, item=book)'.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="With --for-each: for all entities of the column's type, known facts or not.")
    ] = False,
    to: To = None,
    table: Annotated[
        str | None, typer.Option(help="With --to: the table of a database; by default suggested_RELATION.")
    ] = None,
    append: Append = False,
    replace: Replace = False,
    full_names: FullNames = False,
    escape_formulas: EscapeFormulas = False,
    json: Json = False,
) -> None:
    """Fill the gaps in a fact: first the known answers, then the most likely new ones; or in many facts with --for-each."""
    from relatum.api import Run
    from relatum.runs.answers import parse_question

    require_target(to, table, append, replace, full_names, escape_formulas)
    most, k = k or _OF_A_SET, k or 10
    if for_each is not None:
        if question is not None or beam is not None or why or coverage is not None:
            raise SettingError(
                "contradictory-options",
                "--for-each QUESTIONS cannot be combined with a question, --beam, --coverage or --why",
            )
        if to is None:
            _show_each(Run.load(run), for_each, k=k, new=new, every=every, json=json)
            return
        wanted: dict[str, Any] = {"k": k, "new_only": new, "all_entities": every, "table": table, "append": append}
        wanted |= {"replace": replace, "full_names": full_names, "escape_formulas": escape_formulas}
        _write_each(Run.load(run), for_each, to, wanted, json=json)
        return
    if to is not None or every:
        raise SettingError("option-needs-option", "--all and --to need --for-each QUESTIONS")
    if question is None:
        raise SettingError("nothing-asked", "Missing argument 'question', or --for-each QUESTIONS")
    loaded = Run.load(run)
    parsed = parse_question(question, loaded.schema)
    answers = loaded.complete(parsed, k=k, new_only=new, beam=beam, coverage=coverage)
    roles = loaded.schema[parsed.relation].roles
    heads = [roles[position] if roles else f"position {position}" for position in parsed.open]
    reasons = reasons_of(loaded, parsed, answers.new[:most]) if why else {}
    if json:
        plain = [_plain(loaded, answer, reasons.get(answer)) for answer in answers]
        promised = {} if coverage is None else {"coverage": None if answers.limit is None else answers.limit.to_dict()}
        print_json({"question": question, "answers": plain, **promised})
        return
    ends = ("score", "probability")
    if known := [answer for answer in answers if answer.known]:
        listed = _rows(loaded, parsed, known)
        rows = [(*row, "derived" if one.source == "derived" else f"in {one.source}") for row, one in listed]
        print_table(f"{question}, known", ("", *heads, *ends, ""), rows, ends, drop=("score",))
    rows = [row for row, _ in _rows(loaded, parsed, answers.new[:most])]
    print_table(f"{question}, new", ("", *heads, *ends), rows, ends, drop=("score",))
    if coverage is not None:
        say_promise(answers.limit, len(answers.new), coverage, len(rows))
    for answer, found in reasons.items():
        shown = ", ".join(loaded.shown(parsed.relation, answer.entities, parsed.open, answer.intervals))
        say(f"{shown}:" + ("" if found else " no rule speaks for it, the embedding alone does"))
        for one in found:
            say_reason(loaded, one)


def score(
    run: RunFolder,
    facts: Annotated[list[str], typer.Argument(help="Facts such as 'sold(drew, alex, book)'.")],
    json: Json = False,
) -> None:
    """Show how likely facts are: their probability, and the share of their one-cell variations that score lower."""
    from relatum.api import Run

    loaded = Run.load(run)
    found = [loaded.score(fact) for fact in facts]
    if json:
        print_json({"scores": [{"fact": fact, **asdict(one)} for fact, one in zip(facts, found, strict=True)]})
        return
    rows = [
        (fact, f"{one.score:.3f}", percent(one.probability), f"{one.percentile:.2f} %", where(one))
        for fact, one in zip(facts, found, strict=True)
    ]
    heads = ("fact", "score", "probability", "beats", "")
    print_table("scores", heads, rows, heads[1:4], drop=("score",))
    say("beats: the share of one-cell variations of this fact that score lower")
    for fact, one in zip(facts, found, strict=True):
        if one.interval is not None:
            say(f"{fact}: the probability is that of {one.interval}")


def _rows(run: Run, question: Question, answers: list[Answer]) -> Iterator[tuple[tuple[str, ...], Answer]]:
    """Yield the cells of each answer, with the answer."""
    for rank, one in enumerate(answers, start=1):
        shown = run.shown(question.relation, one.entities, question.open, one.intervals, known=one.known)
        yield (str(rank), *shown, f"{one.score:.3f}", percent(one.probability)), one


def _plain(run: Run, answer: Answer, reasons: list[Reason] | None) -> dict[str, Any]:
    from relatum.runs.answers import interval_of

    return {
        **({"entity": answer.entity} if len(answer.entities) == 1 else {}),
        "entities": list(answer.entities),
        "labels": [run.labels.of(one) for one in answer.entities],
        **interval_of(answer.intervals),
        "score": answer.score,
        "probability": answer.probability,
        "known": answer.known,
        "source": answer.source,
        **({} if reasons is None else {"reasons": [one.to_dict() for one in reasons]}),
    }


def _write_each(run: Run, questions: str, to: str, wanted: dict[str, Any], *, json: bool) -> None:
    """Write the answers to each question as `Run.complete_each` does with what is wanted, and say how many there are."""
    written = run.complete_each(questions, to=to, **wanted)
    if json:
        tables = [{"relation": written.relation, "table": written.table, "rows": written.rows}]
        print_json({"to": written.to, "questions": written.questions, "tables": tables})
        return
    path = f"{written.to}, table {written.table}" if written.is_database else written.to
    answers, many = count(written.rows, "answer"), count(written.questions, "question")
    say(f"wrote {answers} to {many} about {written.relation} to {path}")


def _show_each(run: Run, questions: str, *, k: int, new: bool, every: bool, json: bool) -> None:
    """Print the answers to the first questions as a table, or those to all of them as one JSON object."""
    from relatum.runs.answers import field_names
    from relatum.runs.bulk_completion import answer_blocks, columns_of, suggestions_of
    from relatum.runs.each_question import combinations_of, each_question

    question = each_question(run, questions)
    combinations = combinations_of(run, question, all_entities=every)
    blocks = answer_blocks(run, question, combinations, k, new_only=new, most=None if json else _ASKED)
    found = (one for block in blocks for one in suggestions_of(run, question, block))
    if json:  # piece by piece: there may be more answers than memory holds
        sys.stdout.write(f'{{"question": {json_text(question.text)}, "answers": [')
        for number, one in enumerate(found):
            sys.stdout.write((", " if number else "") + json_text(one.to_dict()))
        sys.stdout.write("]}\n")
        return
    columns = columns_of(question)
    rows = [
        (
            *run.shown(question.relation.name, one.entities, columns, one.intervals, known=one.known),
            str(one.rank),
            f"{one.score:.3f}",
            percent(one.probability),
            *([] if new else ["new" if one.source is None else f"in {one.source}"]),
        )
        for one in found
    ]
    heads = [*field_names(question.relation, columns), "rank", "score", "probability", *([] if new else [""])]
    print_table(f"{questions}{', new' if new else ''}", heads, rows, ("rank", "score", "probability"), drop=("score",))
    if len(combinations) > _ASKED:
        say(f"{_ASKED} of {count(len(combinations), 'question')} are shown; write the answers to all with --to FILE_OR_URL")
