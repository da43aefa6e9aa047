"""`relatum query`, `define` and `sql`: relational algebra and SQL over a trained run, and the rows that answer them."""

from __future__ import annotations

import contextlib
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Coverage, Json, RunFolder
from relatum.cli.output import print_json, print_table, say, say_promise
from relatum.errors import SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.reasoning.query import QueryResult
    from relatum.reasoning.reasoner import Explanation
    from relatum.runs.query_rows import QueryRows

_MOST = 1 << 20  # bytes that are read of a file or of standard input


class Mode(StrEnum):
    """The values by which answers are ranked."""

    exact = "exact"
    closed = "closed"


def query(
    run: RunFolder,
    text: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="Such as 'project[0](select[2 = coffee](sold))'; with arguments: '(permute[1, 0](r))(alex, ?)'. "
            "select drops the column it selects by, permute reorders columns, project keeps the columns it names, "
            "join[2 = 0](sold, makes) joins.",
        ),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many known answers, and how many new ones, to show.")] = 10,
    mode: Annotated[
        Mode, typer.Option(help="Rank by exact values on calibrated scores, or by the closed form: one derived relation.")
    ] = Mode.exact,
    new: Annotated[bool, typer.Option("--new", help="Show only answers that do not follow from known facts.")] = False,
    seconds: Annotated[
        float, typer.Option(min=0, help="Stop after this many seconds with the best answers found so far; 0 is no limit.")
    ] = 5.0,
    explain: Annotated[bool, typer.Option("--explain", help="Show the value of each part of the query, and why.")] = False,
    coverage: Coverage = None,
    json: Json = False,
) -> None:
    """Answer a relational-algebra query: every answer is known, or predicted with its degree of truth."""
    from relatum.api import Run
    from relatum.time_limit import Deadline

    loaded = Run.load(run)
    loaded.ready()
    with Deadline(seconds or None):
        _answer(loaded, text, k, mode, new=new, seconds=seconds, explain=explain, coverage=coverage, json=json)


def _answer(
    loaded: Run,
    text: str,
    k: int,
    mode: Mode,
    *,
    new: bool,
    seconds: float,
    explain: bool,
    coverage: float | None,
    json: bool,
) -> None:
    from relatum.runs.joining import has_joins
    from relatum.time_limit import TimeOverError

    parsed = loaded.parsed(text)
    if coverage is not None and mode is Mode.closed:
        raise SettingError(
            "coverage-not-promised", "--mode closed: no coverage is promised by the closed form", remedy="leave it out"
        )
    if has_joins(parsed.expression) or coverage is not None:
        if mode is Mode.closed:
            raise SettingError("no-closed-form", "--mode closed: joins have no closed form", remedy="leave it out")
        rows = loaded.joined(parsed, k, new_only=new, seconds=seconds or None, coverage=coverage)
        _show_rows(rows, seconds, why=explain, json=json)
        return
    found = loaded.query(parsed, k, mode.value, new_only=new, seconds=seconds or None)
    reasons: list[Explanation] = []
    with contextlib.suppress(TimeOverError):  # of the others there is no time to say why
        for answer in found.answers if explain else []:
            reasons.append(loaded.explain(found.query, answer))
    if json:
        whole = found.to_json()
        for answer, reason in zip(whole["answers"], reasons, strict=False):
            answer["explanation"] = reason.to_json()
        print_json(whole)
        return
    _show(text, found, seconds)
    for number, reason in enumerate(reasons, start=1):
        say(f"\n{number}  {', '.join(found.answers[number - 1].entities)}")
        for line in reason.lines():
            say(f"   {line}")


def define(
    run: RunFolder,
    name: Annotated[str, typer.Argument(help="The name of the derived relation.")],
    expression: Annotated[str, typer.Argument(help="Its definition, such as 'permute[1, 0, 2](sold)'.")],
) -> None:
    """Add a derived relation to a trained run, without training; complete, score and query can use it at once."""
    from relatum.api import Run
    from relatum.runs.definitions import definition_text

    loaded = Run.load(run)
    loaded.define(name, expression)
    say(f"{loaded.schema[name]} is now {definition_text(loaded.definitions, name, roles=True)}")


def sql(
    run: RunFolder,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY", help="Such as \"SELECT seller FROM sold WHERE item = 'coffee'\"; - reads standard input."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read the query from a file.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Show the facts that each row rests on.")] = False,
    minimum: Annotated[
        bool, typer.Option("--minimum", help="A row is as likely as its least likely fact, not as the product of all.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0, help="Stop after this many seconds with the best rows found so far; 0 is no limit.")
    ] = 5.0,
    coverage: Coverage = None,
    json: Json = False,
) -> None:
    """Answer a query of SQL over what is known and what is missing: every row is known, or predicted with a probability."""
    query = _text(text, file)
    from relatum.api import Run
    from relatum.runs.query_rows import QueryRows

    loaded = Run.load(run)
    found = loaded.sql(query, conjunction="minimum" if minimum else "product", seconds=seconds or None, coverage=coverage)
    if not isinstance(found, QueryRows):
        if json:
            print_json({"view": found.name, "columns": list(found.columns), "relation": found.is_relation})
            return
        where = "in SQL, complete, score and query" if found.is_relation else "in SQL"
        say(f"{found.name}({', '.join(found.columns)}) is now a view, to be used {where}")
        return
    _show_rows(found, seconds, why=why or bool(found.plan), json=json)


def _text(text: str | None, file: Path | None) -> str:
    """Return the text of the query: given, in a file, or on standard input."""
    if (text is None) == (file is None):
        raise SettingError("nothing-asked", "give one query: as an argument, - for standard input, or --file FILE")
    if file is not None:
        with file.open("rb") as stream:
            content = stream.read(_MOST)
    elif text == "-":
        content = sys.stdin.buffer.read(_MOST)
    else:
        return text or ""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingError("not-utf8", "the query is not UTF-8", place=file or "standard input") from None


def _show(text: str, found: QueryResult, seconds: float) -> None:
    roles, open_ = found.query.expression.roles, found.query.open
    heads = [roles[position] if roles else f"column {position}" for position in open_]
    rows = [
        (
            str(number),
            *one.entities,
            percent(one.probability),
            f"{one.degree:.4f}",
            "-" if one.closed is None else f"{one.closed:.4f}",
            "-" if one.slack is None else f"{one.slack:+.4f}",
            ("known" if one.known else "predicted") + ("" if one.proven else " *"),
        )
        for number, one in enumerate(found.answers, start=1)
    ]
    numbers = ("probability", "degree", "closed", "slack")
    print_table(text, ("", *heads, *numbers, ""), rows, numbers, drop=("slack", "closed", "degree"))
    promise = {"equal": "equal to", "at least": "never below", "at most": "never above"}.get(found.bound.value)
    bound = f"the closed form is {promise} the exact degree" if promise else "the closed form has no bound for this query"
    values = "exact values" if found.mode == "exact" else "the closed form"
    say(f"ranked by {values}; {bound}")
    if not all(one.proven for one in found.answers):
        why = f"stopped after {seconds:g} s" if found.stopped else "the search was cut short"
        say(f"{why}: the answers marked * are the best found so far, and there may be better ones")
    elif found.stopped or not found.proven:
        say("there may be more answers: the search was stopped early")


def _show_rows(found: QueryRows, seconds: float, *, why: bool, json: bool) -> None:
    """Print rows, best first, with the facts that each rests on where that is wanted."""
    if json:
        print_json(found.to_json())
        return
    for line in found.plan:
        say(f"  {line}")
    heads = (*found[0].columns, "probability", "") if found else ()
    ways = [("known" if row.known else "predicted") + ("" if row.proven else " *") for row in found]
    rows = [(*(row.shown or row.values), percent(row.probability), way) for row, way in zip(found, ways, strict=True)]
    if why:
        heads = (*heads, "because")
        rows = [(*cells, "; ".join(map(str, row.witness))) for cells, row in zip(rows, found, strict=True)]
    if found:
        print_table(found.query, heads, rows, ("probability",), below="because" if why else None)
    known = sum(row.known for row in found)
    say(f"{count(len(found), 'row')}: {known} known, {len(found) - known} predicted")
    if found.coverage is not None:
        say_promise(found.limit, len(found) - known, found.coverage, len(found) - known)
    elif any(not row.known for row in found):
        together = "the product of their probabilities" if found.conjunction == "product" else "the least likely of them"
        say(
            f"a row is as likely as the facts it rests on together: {together}. "
            f"A predicted fact counts at most {percent(found.cap)}, and nothing below {percent(found.floor)}"
        )
    if found.stopped:
        say(f"stopped after {seconds:g} s: rows marked * are the best found so far, and there may be better ones")
