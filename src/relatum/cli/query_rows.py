"""The rows that answer a query with joins, as a table: known or predicted, and what they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relatum.cli.output import print_json, print_table, say
from relatum.cli.promise import say_promise
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.runs.query_rows import QueryRows

__all__ = ["show_rows"]


def show_rows(found: QueryRows, seconds: float, *, why: bool, json: bool) -> None:
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
