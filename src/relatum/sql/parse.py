"""SQL as a statement over relations, an expression and what is wanted of its rows: `parse_sql`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relatum.algebra import Expression
from relatum.sql.binding import Binder
from relatum.sql.bound import BoundQuery, BoundSelect
from relatum.sql.catalog import Catalog, ShownColumn, StoredQuery
from relatum.sql.demands import DemandedRelation
from relatum.sql.scan import SqlError
from relatum.sql.scope import matching
from relatum.sql.stored import stored_query
from relatum.sql.syntax import Syntax
from relatum.sql.translation import Translator


@dataclass(frozen=True, slots=True)
class Statement:
    """A query that can be answered.

    Attributes:
        expression: what is selected, over stored relations and `demanded` ones; None where only stored rows have it.
        columns: what the columns of the result are called; none where DuckDB says it.
        positions: for each of these, the column of the expression that it shows: two that are always equal are one there.
        stored: the query as DuckDB answers it from stored rows.
        kind: `select`, `view` (to define `name`) or `explain`.
        name: of the view.
        limit: how many rows at most.
        order: `probability` if the rows are to be sorted, the most probable first.
        known: whether only known rows are wanted, or only new ones; None for all.
        least: the least probability of a row.
        shown: for each column, what it is: which column of which table, as far as that is known.
        demanded: the relations that are demands on rows, by name.
        refusal: why nothing can be predicted for it, where known rows alone are asked for.
    """

    expression: Expression | None
    columns: tuple[str, ...]
    positions: tuple[int, ...]
    stored: StoredQuery
    kind: str = "select"
    name: str | None = None
    limit: int | None = None
    order: str | None = None
    known: bool | None = None
    least: float | None = None
    shown: tuple[ShownColumn, ...] = ()
    demanded: Mapping[str, DemandedRelation] = field(default_factory=dict)
    refusal: SqlError | None = None


def parse_sql(text: str, catalog: Catalog) -> Statement:
    """Return what a statement asks for: what DuckDB reads of stored rows, and an expression of which rows can be predicted.

    What is not in `docs/sql.md` is refused with its position in the text; what has no meaning over predicted rows is refused
    unless the statement asks for known ones alone.

    Args:
        text: one statement.
        catalog: what it can name.
    """
    syntax = Syntax(text)
    translator = Translator(catalog, syntax.refusals)
    binder = Binder(catalog, syntax, translator.evaluated)
    expression: Expression | None = None
    bound: BoundQuery | None = None
    refusal: SqlError | None = None
    positions: tuple[int, ...] = ()
    try:
        bound = binder.query(syntax.query)
        if syntax.stored_only is None:
            expression, positions = _translated(syntax, catalog, translator, bound)
    except SqlError as error:
        if not syntax.known:
            raise syntax.stored_only or error from None
        refusal = error
    if syntax.stored_only is not None and not syntax.known:
        raise syntax.stored_only
    return Statement(
        expression,
        () if bound is None else bound.names,
        positions,
        stored_query(syntax, catalog, binder.values),
        syntax.kind,
        None if syntax.name is None else syntax.name.text,
        syntax.limit,
        "probability" if syntax.is_ordered else None,
        syntax.known,
        syntax.least,
        () if bound is None else _shown(bound),
        translator.demanded,
        refusal,
    )


def _translated(
    syntax: Syntax, catalog: Catalog, translator: Translator, bound: BoundQuery
) -> tuple[Expression, tuple[int, ...]]:
    """Return the expression of a query, and which of its columns each column of the result is."""
    if (name := syntax.name) is None:
        expression, positions = translator.merged(bound)
    else:  # in a view, columns that a join makes equal stay two
        if found := matching(name, (*catalog.tables, *catalog.views)):
            reason = f"there is a table {found[0]!r} already: give the view another name"
            raise syntax.refusals.at(name.at, reason, "name-taken")
        expression, positions = translator.expression(bound), tuple(range(len(bound.names)))
        if translator.demanded:
            raise syntax.refusals.at(
                name.at, "a view compares entities, not stored values: write the condition in the query"
            )
    if expression is None:
        raise syntax.refusals.at(bound.at, "no row can be: what this demands can never hold together", "nothing-can-match")
    return expression, positions


def _shown(bound: BoundQuery) -> tuple[ShownColumn, ...]:
    """Return what each column of the result is."""
    looked_up = bound.looked_up if isinstance(bound, BoundSelect) else ()
    found = []
    for one, column in zip(bound.outputs, looked_up or (None,) * len(bound.outputs), strict=True):
        table = None if one.source.table is None else one.source.table.name
        found.append(ShownColumn(table, one.name, one.column_type, column))
    return tuple(found)
