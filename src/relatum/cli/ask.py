"""`relatum complete` and `score`: the answers to a question, or to each of many, and the scores of facts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.explain import reasons_of, say_reason, where
from relatum.cli.options import Append, EscapeFormulas, FullNames, Json, Replace, RunFolder, To
from relatum.cli.output import json_text, print_json, print_table, say, say_promise
from relatum.errors import SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.runs.answers import Answer, Question
    from relatum.runs.each_question import Combinations, EachQuestion

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

    if to is None and (table is not None or append or replace or full_names or escape_formulas):
        raise SettingError(
            "option-needs-option", "--table, --append, --replace, --full-names and --escape-formulas need --to FILE_OR_URL"
        )
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
        wanted: dict[str, Any] = {"k": k, "new_only": new, "all_entities": every}
        how = {"table": table, "append": append, "replace": replace, "full_names": full_names}
        how["escape_formulas"] = escape_formulas
        _write_each(Run.load(run), for_each, to, {**wanted, **how}, json=json)
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
        explained = [
            {"reasons": [one.to_dict() for one in reasons[answer]]} if answer in reasons else {} for answer in answers
        ]
        plain = [{**_plain(loaded, answer), **more} for answer, more in zip(answers, explained, strict=True)]
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
        shown = ", ".join(loaded.shown(parsed.relation, answer.entities, parsed.open))
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
        (fact, f"{one.score:.3f}", percent(one.probability), f"{one.percentile:.2f} %", where(one.source))
        for fact, one in zip(facts, found, strict=True)
    ]
    heads = ("fact", "score", "probability", "beats", "")
    print_table("scores", heads, rows, heads[1:4], drop=("score",))
    say("beats: the share of one-cell variations of this fact that score lower")


def _rows(run: Run, question: Question, answers: list[Answer]) -> Iterator[tuple[tuple[str, ...], Answer]]:
    """Yield the cells of each answer, with the answer."""
    for rank, one in enumerate(answers, start=1):
        shown = run.shown(question.relation, one.entities, question.open)
        yield (str(rank), *shown, f"{one.score:.3f}", percent(one.probability)), one


def _plain(run: Run, answer: Answer) -> dict[str, Any]:
    entity = {"entity": answer.entity} if len(answer.entities) == 1 else {}
    return {
        **entity,
        "entities": list(answer.entities),
        "labels": [run.labels.of(one) for one in answer.entities],
        "score": answer.score,
        "probability": answer.probability,
        "known": answer.known,
        "source": answer.source,
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
    from relatum.runs.each_question import combinations_of, each_question

    question = each_question(run, questions)
    combinations = combinations_of(run, question, all_entities=every)
    if json:
        _print_each(run, question, combinations, k, new)
        return
    from relatum.runs.answers import field_names
    from relatum.runs.bulk_completion import answer_blocks, columns_of, suggestions_of

    found = answer_blocks(run, question, combinations, k, new_only=new, most=_ASKED)
    rows = [
        (
            *run.shown(question.relation.name, one.entities, columns_of(question)),
            str(one.rank),
            f"{one.score:.3f}",
            percent(one.probability),
            *([] if new else ["new" if one.source is None else f"in {one.source}"]),
        )
        for block in found
        for one in suggestions_of(run, question, block)
    ]
    heads = [*field_names(question.relation, columns_of(question)), "rank", "score", "probability", *([] if new else [""])]
    print_table(f"{questions}{', new' if new else ''}", heads, rows, ("rank", "score", "probability"), drop=("score",))
    if len(combinations) > _ASKED:
        say(f"{_ASKED} of {count(len(combinations), 'question')} are shown; write the answers to all with --to FILE_OR_URL")


def _print_each(run: Run, question: EachQuestion, combinations: Combinations, k: int, new: bool) -> None:
    """Print one JSON object, piece by piece: there may be more answers than memory holds."""
    from relatum.runs.bulk_completion import answer_blocks, suggestions_of

    blocks = answer_blocks(run, question, combinations, k, new_only=new)
    sys.stdout.write(f'{{"question": {json_text(question.text)}, "answers": [')
    comma = ""
    for block in blocks:
        for one in suggestions_of(run, question, block):
            sys.stdout.write(comma + json_text(one.to_dict()))
            comma = ", "
    sys.stdout.write("]}\n")
