"""The rows of a query with one predicted link: a set that holds the missing one as often as is promised.

What is promised is about one question (`runs/covering_sets`). So one fact of the query, the link, holds the column that is
selected, and known facts decide all else: they hold, and leave one entity for each other position of the link. Where they
leave several there are several questions, and where the selected column stands in two facts its answer must pass two: no
questions of either sort were held out, so nothing is promised.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from relatum.algebra import Expression
from relatum.algebra.column_types import column_types_of
from relatum.algebra.lexer import as_written
from relatum.errors import DataError
from relatum.joins.answering import JoinAnswer, WitnessFact, witnesses_of
from relatum.joins.conjunction import Conjunction, Stored, alternatives_of
from relatum.joins.search import Assignment, Search, Work
from relatum.joins.truths import FactTruths, conjunction_by
from relatum.runs.answers import Question
from relatum.runs.completion import complete
from relatum.runs.join_truths import CAP
from relatum.runs.query_rows import QueryRow, QueryRows, row_of
from relatum.runs.trained import Trained
from relatum.time_limit import Limit

_KNOWN = 1000  # rows that are known, at most


def covered_rows(
    run: Trained,
    expression: Expression,
    columns: Sequence[str],
    query: str,
    coverage: float,
    *,
    new_only: bool = False,
    seconds: float | None = None,
) -> QueryRows:
    """Return the known rows of a query with one predicted link, and the set of new ones that holds the missing one so often.

    Args:
        run: the run that is asked.
        expression: the query; its constants are names of entities.
        columns: how its columns are called.
        query: how the query was written.
        coverage: the share of sets that hold the missing row.
        new_only: leave out the rows that are known.
        seconds: that looking for the known facts may take; None is no limit.
    """
    one, link = _link_of(expression, query)
    facts = FactTruths(run.stored, run.known)
    given, rest = _rest_of(facts, one, link, query, Limit(seconds))
    position = next(at for at, term in enumerate(link.terms) if term in one.head)
    names = run.entities
    filled = tuple(
        None if at == position else term if isinstance(term, str) else names[given[term]]
        for at, term in enumerate(link.terms)
    )
    answers = complete(run, Question(link.relation, filled), _KNOWN, new_only=new_only, coverage=coverage)
    types = column_types_of(expression, run.split.column_types)
    prefixes = ["" if kind is None else kind.prefix for kind in types]
    rows: list[QueryRow] = []
    for answer in answers:
        entity = names.id(answer.entities[0])
        fact = tuple(entity if name is None else names.id(name) for name in filled)
        worth = 1.0 if answer.known else min(answer.probability or 0.0, CAP)
        head = tuple(facts.entity(term) if isinstance(term, str) else entity for term in one.head)
        own = WitnessFact(link.relation, fact, worth, answer.known, position)
        rows.append(row_of(run, JoinAnswer(head, worth, (own, *rest), True), tuple(columns), prefixes, answer.known))
    return QueryRows(
        rows,
        columns,
        query,
        conjunction="product",
        cap=CAP,
        floor=0.0,
        proven=True,
        stopped=False,
        coverage=coverage,
        limit=answers.limit,
    )


def _link_of(expression: Expression, query: str) -> tuple[Conjunction, Stored]:
    """Return a query as a conjunction, and the one fact of it that holds what is selected; anything else is refused."""
    alternatives = alternatives_of(expression)
    if len(alternatives) != 1:
        raise DataError(
            "coverage-needs-one-link",
            "coverage needs one link; of alternatives (OR, IN, UNION) nothing is promised together",
            place=query,
        )
    (one,) = alternatives
    if one.negations or one.unequal:
        raise DataError(
            "coverage-needs-one-link",
            "coverage needs one link; of what must not be (NOT, EXCEPT, <>) nothing is promised",
            place=query,
        )
    selected = {term for term in one.head if isinstance(term, int)}
    if len(selected) != 1:
        raise DataError(
            "coverage-needs-one-gap",
            f"coverage needs one column that is open, not {len(selected)}",
            place=query,
            remedy="give the others a value" if selected else "leave one without a value",
        )
    (name,) = selected
    links = [atom for atom in one.atoms if name in atom.variables]
    if len(links) != 1 or links[0].terms.count(name) != 1:
        several = " and ".join(dict.fromkeys(as_written(atom.relation) for atom in links))
        raise DataError(
            "coverage-needs-one-link",
            (f"coverage needs the selected column in one fact alone; it stands {_times(links, name)}, in {several}"),
            place=query,
        )
    return one, links[0]


def _times(links: Sequence[Stored], name: int) -> str:
    return f"{sum(atom.terms.count(name) for atom in links)} times"


def _rest_of(
    facts: FactTruths, one: Conjunction, link: Stored, query: str, limit: Limit
) -> tuple[Assignment, tuple[WitnessFact, ...]]:
    """Return the entities that known facts leave for the other variables of a link, and these facts."""
    others = tuple(atom for atom in one.atoms if atom is not link)
    needed = tuple(name for name in link.variables if name not in one.head)
    open_ones = [name for name in needed if not any(name in atom.variables for atom in others)]
    if open_ones:
        raise DataError(
            "coverage-needs-one-link",
            (
                f"coverage needs a value at every other position of {as_written(link.relation)}; {len(open_ones)}"
                " of them may hold anything"
            ),
            place=query,
        )
    if not others:
        return {}, ()
    rest = replace(one, head=needed, atoms=others)
    work = Work(facts, conjunction_by("minimum"), limit)
    found = list(itertools.islice(Search(work, rest).run(), 2))
    if limit.stopped:
        raise DataError(
            "coverage-needs-one-link",
            "coverage needs known facts for all but one link, which took too long to look up",
            place=query,
        )
    if not found:
        raise DataError(
            "coverage-needs-one-link",
            (f"coverage needs known facts for all but {as_written(link.relation)}; the rest does not follow from any"),
            place=query,
        )
    if len(found) > 1:
        raise DataError(
            "coverage-needs-one-link",
            (
                f"coverage needs one question; known facts leave several for {as_written(link.relation)}, so "
                "give that position a value"
            ),
            place=query,
        )
    (witness,) = witnesses_of(work, rest, [found[0].assignment])
    return found[0].assignment, witness
