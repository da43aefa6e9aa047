"""`relatum doubt`: known facts, or cells of tables, that are likely wrong, and what would be expected instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Json, RunFolder
from relatum.cli.output import print_json, print_table, say
from relatum.errors import SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.evidence.reasons import Reason
    from relatum.records import Records
    from relatum.runs.doubt import DoubtfulCell, DoubtfulFact

Many = list[str] | None


def doubt(
    run: RunFolder,
    relation: Annotated[
        Many, typer.Option(help="Only facts of this relation; can be repeated. By default all relations.")
    ] = None,
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
    heads, ends = ("", "fact", "role", "stored", "expected", "doubt"), ("doubt",)
    rows = [
        (str(rank), str(one), one.role, one.stored, one.expected or "-", f"{one.doubt:.2f}")
        for rank, one in enumerate(found, start=1)
    ]
    print_table("doubtful facts", heads, rows, ends)
    say("doubt: the log-odds that what is stored stands there by accident; best for comparing facts")
    for rank, one in enumerate(found if why else [], start=1):
        _show(rank, one)


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


def _show(rank: int, one: DoubtfulFact) -> None:
    say(f"\n{rank}  {one}, in {one.source}")
    say(f"   evidence {one.evidence:+.2f}, embedding {one.embedding:+.2f}")
    if one.expected is not None:
        _show_reasons(one.expected, one.reasons)
    _show_reasons(one.stored, one.support)


def _show_reasons(entity: str, reasons: tuple[Reason, ...]) -> None:
    if not reasons:
        say(f"   for {entity}: no rule speaks")
    for reason in reasons:
        facts = count(len(reason.facts) + reason.more, "fact")
        say(f"   for {entity}: {facts} by {reason.rule}, right {percent(reason.confidence)} of the time")
        for each in reason.facts:
            say(f"     - {each}")
