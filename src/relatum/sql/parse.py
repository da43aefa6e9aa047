"""SQL as a statement over relations, an expression and what is wanted of its rows: `parse_sql`."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.algebra import Expression
from relatum.sql.binding import Binder
from relatum.sql.catalog import Catalog
from relatum.sql.scope import matching
from relatum.sql.syntax import Syntax
from relatum.sql.translation import Translator


@dataclass(frozen=True, slots=True)
class Statement:
    """A query that can be answered.

    Attributes:
        expression: what is selected, over stored relations.
        columns: what the columns of the result are called.
        positions: for each of these, the column of the expression that it shows: two that are always equal are one there.
        kind: `select`, `view` (to define `name`) or `explain`.
        name: of the view.
        limit: how many rows at most.
        order: `probability` if the rows are to be sorted, the most probable first.
        known: whether only known rows are wanted, or only new ones; None for all.
        least: the least probability of a row.
    """

    expression: Expression
    columns: tuple[str, ...]
    positions: tuple[int, ...]
    kind: str = "select"
    name: str | None = None
    limit: int | None = None
    order: str | None = None
    known: bool | None = None
    least: float | None = None


def parse_sql(text: str, catalog: Catalog) -> Statement:
    """Return what a statement asks for: an expression over stored relations, and which of its rows are wanted.

    Results are sets: DISTINCT is implied. What is not in `docs/sql.md` is refused with its position in the text.

    Args:
        text: one statement.
        catalog: what it can name.
    """
    syntax = Syntax(text)
    refusals, name = syntax.refusals, syntax.name
    translator = Translator(catalog, refusals)
    bound = Binder(catalog, syntax, translator.evaluated).query(syntax.query)
    if name is None:
        expression, positions = translator.merged(bound)
    else:  # in a view, columns that a join makes equal stay two
        if found := matching(name, (*catalog.tables, *catalog.views)):
            reason = f"there is a table {found[0]!r} already: give the view another name"
            raise refusals.at(name.at, reason, "name-taken")
        expression, positions = translator.expression(bound), tuple(range(len(bound.names)))
    if expression is None:
        raise refusals.at(bound.at, "no row can be: what this demands can never hold together", "nothing-can-match")
    return Statement(
        expression,
        bound.names,
        positions,
        syntax.kind,
        None if name is None else name.text,
        syntax.limit,
        "probability" if syntax.is_ordered else None,
        syntax.known,
        syntax.least,
    )
