"""`relatum complete --for-each`: the best answers to each of many questions, written, shown or as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from relatum.cli.output import json_text, print_json, print_table, say
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.runs.each_question import Combinations, EachQuestion

_SHOWN = 20  # questions whose answers are shown


def write_each(run: Run, questions: str, to: str, wanted: dict[str, Any], *, json: bool) -> None:
    """Write the answers to each question as `Run.complete_each` does with what is wanted, and say how many there are."""
    written = run.complete_each(questions, to=to, **wanted)
    if json:
        tables = [{"relation": written.relation, "table": written.table, "rows": written.rows}]
        print_json({"to": written.to, "questions": written.questions, "tables": tables})
        return
    path = f"{written.to}, table {written.table}" if written.is_database else written.to
    answers, many = count(written.rows, "answer"), count(written.questions, "question")
    say(f"wrote {answers} to {many} about {written.relation} to {path}")


def show_each(run: Run, questions: str, *, k: int, new: bool, every: bool, json: bool) -> None:
    """Print the answers to the first questions as a table, or those to all of them as one JSON object."""
    from relatum.runs.each_question import combinations_of, each_question

    question = each_question(run, questions)
    combinations = combinations_of(run, question, all_entities=every)
    if json:
        _print_json(run, question, combinations, k, new)
        return
    from relatum.runs.answers import field_names
    from relatum.runs.bulk_completion import answer_blocks, columns_of, suggestions_of

    found = answer_blocks(run, question, combinations, k, new_only=new, most=_SHOWN)
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
    if len(combinations) > _SHOWN:
        say(f"{_SHOWN} of {count(len(combinations), 'question')} are shown; write the answers to all with --to FILE_OR_URL")


def _print_json(run: Run, question: EachQuestion, combinations: Combinations, k: int, new: bool) -> None:
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
