"""Queries with joins, answered by a run: known facts count 1, predicted ones their probability, and the best rows win."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.algebra import Expression, Filter, Intersection, Join, Product
from relatum.algebra.column_types import column_types_of
from relatum.algebra.node import post_order
from relatum.data.schema import RelationSchema
from relatum.errors import SettingError
from relatum.joins.answering import JoinAnswers, best_answers, holds, judged
from relatum.joins.truths import FactTruths, conjunction_by
from relatum.progress import progress
from relatum.reasoning.query import Query
from relatum.runs.covered_rows import covered_rows
from relatum.runs.join_truths import CAP, FLOOR, RunTruths
from relatum.runs.query_rows import QueryRows, row_of
from relatum.runs.trained import SECONDS, Trained
from relatum.settings import whole_number
from relatum.sql.catalog import columns_of
from relatum.time_limit import Limit


def has_joins(expression: Expression) -> bool:
    """Return whether an expression has operations that only joins answer: the others have closed forms."""
    nodes = post_order(expression, lambda node: node.children)
    return any(isinstance(node, Join | Product | Intersection | Filter) for node in nodes)


def joined_rows(
    run: Trained,
    expression: Expression,
    columns: Sequence[str],
    query: str,
    k: int = 100,
    *,
    known: bool | None = None,
    least: float = 0.0,
    conjunction: str = "product",
    seconds: float | None = SECONDS,
) -> QueryRows:
    """Return the k best rows that answer an expression over stored relations.

    Args:
        run: the run that is asked.
        expression: the query; its constants are names of entities.
        columns: how its columns are called.
        query: how the query was written.
        k: how many rows.
        known: only those that follow from known facts, or only those that do not; None takes both.
        least: the probability below which no row is looked for.
        conjunction: how the probabilities of facts become that of a row, `product` or `minimum`.
        seconds: when to stop with the best that was found; None is no limit.
    """
    k = whole_number("k", k)
    conjunction_by(conjunction)
    if not 0 <= least <= 1:
        raise SettingError("setting-out-of-range", f"must be between 0 and 1, not {least}", place="probability")
    truths, facts = run_truths(run), fact_truths(run)
    with progress("looking for answers", 0 if seconds is None else int(1000 * seconds)) as advance:
        limit = Limit(seconds, advance if seconds else None)
        if known:
            crisp = best_answers(expression, facts, k, limit=limit)
            given = judged(expression, truths, [one.entities for one in crisp.answers], conjunction, limit)
            ranked = sorted((one for one in given if one.value >= least), key=lambda one: (-one.value, one.entities))
            found = JoinAnswers(tuple(ranked), crisp.proven, limit.stopped)
        else:
            seen: dict[tuple[int, ...], bool] = {}

            def is_new(entities: tuple[int, ...]) -> bool:
                if entities not in seen:
                    (seen[entities],) = holds(expression, facts, [entities])
                return not seen[entities]

            wanted = is_new if known is False else lambda _: True
            found = best_answers(expression, truths, k, conjunction, limit, least=least, keep=wanted)
    follow = holds(expression, facts, [one.entities for one in found.answers])
    types = column_types_of(expression, run.split.column_types)
    prefixes = ["" if one is None else one.prefix for one in types]
    rows = [
        row_of(run, one, tuple(columns), prefixes, is_known) for one, is_known in zip(found.answers, follow, strict=True)
    ]
    whole, stopped = found.proven, found.stopped
    return QueryRows(rows, columns, query, conjunction=conjunction, cap=CAP, floor=FLOOR, proven=whole, stopped=stopped)


def joined_query(
    run: Trained,
    query: Query,
    k: int = 10,
    *,
    new_only: bool = False,
    seconds: float | None = SECONDS,
    coverage: float | None = None,
) -> QueryRows:
    """Return the k best rows that answer a query of relational algebra with joins, those that are known among them.

    Args:
        run: the run that is asked.
        query: the query, over stored relations, whose names are those of entities.
        k: how many rows.
        new_only: leave out those that follow from what is known already.
        seconds: when to stop with the best that was found; None is no limit.
        coverage: the share of sets of new rows that hold the missing one, for queries with one predicted link; all rows of
            the set are returned, and `QueryRows.promise` says if what is so.
    """
    expression = query.expression
    for position, name in enumerate(query.arguments):
        if name is not None:
            expression = expression.filter(position, name)
    open_ = query.open or list(range(expression.arity))
    whole = expression if len(open_) == expression.arity else expression.project(*open_)
    columns = columns_of(RelationSchema("query", whole.arity, whole.roles))
    if coverage is not None:
        return covered_rows(run, whole, columns, str(query), coverage, new_only=new_only, seconds=seconds)
    known = False if new_only else None
    return joined_rows(run, whole, columns, str(query), k, known=known, seconds=seconds)


def run_truths(run: Trained) -> RunTruths:
    """Return what a run knows and believes; indexes and the best candidates of questions are kept with the run."""
    return run.remembered("truths", lambda: RunTruths(run))


def fact_truths(run: Trained) -> FactTruths:
    """Return what a run knows."""
    return run.remembered("facts", lambda: FactTruths(run.stored, run.known))
