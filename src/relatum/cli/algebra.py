"""`relatum query` and `define`: relational algebra asked of a trained run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.ask import Json, RunFolder
from relatum.cli.output import console, print_json, print_table
from relatum.formatting import percent

if TYPE_CHECKING:
    from relatum.reasoning.query import QueryResult

__all__ = ["define", "query"]


class Mode(StrEnum):
    """By which reading answers are ranked."""

    exact = "exact"
    closed = "closed"


def query(
    run: RunFolder,
    text: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="Such as 'project[0](where[2 = coffee](sold))'; with arguments: '(rename[1, 0, 2](sold))(alex, ?, book)'.",
        ),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many answers.")] = 10,
    mode: Annotated[
        Mode, typer.Option(help="Rank by the meaning on calibrated scores, or by the closed form, one derived relation.")
    ] = Mode.exact,
    new: Annotated[bool, typer.Option("--new", help="Leave out what follows from known facts.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each part of the query is worth, and why.")] = False,
    json: Json = False,
) -> None:
    """Ask relational algebra of the embedding: every answer is known, or predicted with its degree of truth."""
    from relatum.runs.run import Run

    loaded = Run(run)
    found = loaded.query(text, k, mode.value, new_only=new)
    reasons = [loaded.explain(found.query, answer) for answer in found.answers] if explain else []
    if json:
        whole = found.to_json()
        for answer, reason in zip(whole["answers"], reasons, strict=False):
            answer["explanation"] = reason.to_json()
        print_json(whole)
        return
    _show(text, found)
    for number, reason in enumerate(reasons, start=1):
        console().print(f"\n{number}  {', '.join(found.answers[number - 1].entities)}", markup=False)
        for line in reason.lines():
            console().print(f"   {line}", markup=False, soft_wrap=True)


def define(
    run: RunFolder,
    name: Annotated[str, typer.Argument(help="What the derived relation is to be called.")],
    expression: Annotated[str, typer.Argument(help="What it is: 'rename[1, 0, 2](sold)'.")],
) -> None:
    """Add a derived relation to a trained run, without training: complete, score and query then know it."""
    from relatum.algebra.text import write
    from relatum.runs.run import Run

    loaded = Run(run)
    loaded.define(name, expression)
    told = write(loaded.definitions[name], roles=True)
    console().print(f"{loaded.schema[name]} is now {told}", markup=False, soft_wrap=True)


def _show(text: str, found: QueryResult) -> None:
    roles, open_ = found.query.expression.roles, found.query.open
    heads = [roles[position] if roles else f"column {position}" for position in open_]
    rows = [
        (
            str(number),
            *one.entities,
            percent(one.probability),
            "-" if one.degree is None else f"{one.degree:.4f}",
            f"{one.closed:.4f}",
            "-" if one.slack is None else f"{one.slack:+.4f}",
            "known" if one.known else "predicted",
        )
        for number, one in enumerate(found.answers, start=1)
    ]
    numbers = ("probability", "degree", "closed", "slack")
    print_table(text, ("", *heads, *numbers, ""), rows, numbers)
    promise = {"equal": "equal to", "at least": "never below", "at most": "never above"}.get(found.bound.value)
    said = f"the closed form is {promise} the exact degree" if promise else "of this query the closed form promises nothing"
    console().print(f"ranked by the {found.mode} reading; {said}")
    if not found.proven:
        console().print("there may be better answers: the search was cut short")
