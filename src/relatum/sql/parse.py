"""SQL as a statement over relations, an expression and what is wanted of its rows: `parse_sql`."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.algebra import Expression
from relatum.sql.binding import Binder
from relatum.sql.catalog import Catalog
from relatum.sql.scan import Refusals, SqlError
from relatum.sql.scope import matching
from relatum.sql.syntax import read_sql
from relatum.sql.translation import Translator
from relatum.sql.tree import Condition, Conjuncts, Known, Least, Negation, Outermost, Query, Select, WithQueries


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
    refusals = Refusals(text)
    read = read_sql(text)
    query, known, least = _with_attributes(read, refusals)
    translator = Translator(catalog, refusals)
    bound = Binder(catalog, refusals, translator.evaluated).query(query)
    if read.name is not None:
        _check_view(read, catalog, refusals)
    if read.name is None:  # in a view, columns that a join makes equal stay two
        expression, positions = translator.merged(bound)
    else:
        expression, positions = translator.expression(bound), tuple(range(len(bound.names)))
    if expression is None:
        raise refusals.at(bound.at, "no row can be: what this demands can never hold together", "nothing-can-match")
    return Statement(
        expression,
        bound.names,
        positions,
        read.kind,
        None if read.name is None else read.name.text,
        read.limit,
        "probability" if read.is_ordered else None,
        known,
        least,
    )


def _check_view(read: Outermost, catalog: Catalog, refusals: Refusals) -> None:
    if read.name is None:
        return
    if found := matching(read.name, (*catalog.tables, *catalog.views)):
        raise refusals.at(read.name.at, f"there is a table {found[0]!r} already: give the view another name", "name-taken")
    if read.at is not None:
        raise refusals.at(read.at, "a view has no LIMIT and no ORDER BY: they belong to the query that reads it")


def _with_attributes(read: Outermost, refusals: Refusals) -> tuple[Query, bool | None, float | None]:
    """Return a query without what its WHERE says of rows of the result, and that: whether known, and how probable."""
    if isinstance(read.query, WithQueries):
        inner, known, least = _with_attributes(_inside(read, read.query.query), refusals)
        return WithQueries(read.query.named, inner, read.query.at), known, least
    if not isinstance(read.query, Select) or read.query.where is None:
        return read.query, None, None
    where = read.query.where
    kept: list[Condition] = []
    wanted: dict[bool, int] = {}
    lowest: float | None = None
    waiting: list[Condition] = [where]
    while waiting:
        part = waiting.pop(0)
        match part:
            case Conjuncts(parts):
                waiting = [*parts, *waiting]
            case Known(at):
                wanted[True] = at
            case Negation(Known(at)):
                wanted[False] = at
            case Least(probability):
                lowest = probability if lowest is None else max(lowest, probability)
            case _:
                kept.append(part)
    if len(wanted) > 1:
        raise refusals.at(max(wanted.values()), "no row can be: known and not known at once", "nothing-can-match")
    if read.name is not None and (wanted or lowest is not None):
        raise _of_a_view(where.at, refusals)
    condition = Conjuncts(tuple(kept), where.at) if kept else None
    select = Select(read.query.items, read.query.sources, condition, read.query.at)
    return select, next(iter(wanted), None), lowest


def _inside(read: Outermost, query: Query) -> Outermost:
    return Outermost(query, read.kind, read.name, read.limit, read.is_ordered, read.at)


def _of_a_view(at: int, refusals: Refusals) -> SqlError:
    return refusals.at(at, "a view has no known and no probability: they belong to the query that reads it")
