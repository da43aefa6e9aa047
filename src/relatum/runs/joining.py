"""Queries with joins, answered by a run: known facts count 1, predicted ones their probability, and the best rows win."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from relatum.algebra import Difference, Expression, Filter, Intersection, Join, Product
from relatum.algebra.lexer import as_written
from relatum.algebra.node import post_order
from relatum.data.schema import RelationSchema
from relatum.errors import DataError
from relatum.joins.answering import JoinAnswer, WitnessFact, best_answers, holds, witnesses_of
from relatum.joins.conjunction import Conjunction, Stored, alternatives_of
from relatum.joins.search import Assignment, Search, Work
from relatum.joins.truths import FactTruths, Truths, conjunction_by
from relatum.progress import progress
from relatum.reasoning.query import Query
from relatum.runs.answers import Question
from relatum.runs.completion import complete
from relatum.runs.join_truths import CAP, FLOOR, RunTruths
from relatum.runs.query_rows import Asked, QueryRows
from relatum.runs.trained import SECONDS, Trained
from relatum.settings import whole_number
from relatum.sql.catalog import columns_of
from relatum.time_limit import Deadline

_KNOWN = 1000  # rows of a covered query that are known, at most


def has_joins(expression: Expression) -> bool:
    """Return whether an expression has operations that only joins answer: the others have closed forms."""
    nodes = post_order(expression, lambda node: node.children)
    return any(isinstance(node, Join | Product | Intersection | Filter) for node in nodes)


def has_negations(expression: Expression) -> bool:
    """Return whether something must not be, which a prediction may make less likely."""
    return any(isinstance(node, Difference) for node in post_order(expression, lambda node: node.children))


def joined_rows(
    run: Trained, asked: Asked, k: int = 100, *, new_only: bool = False, seconds: float | None = SECONDS
) -> QueryRows:
    """Return the k best rows that answer a query, by the product of probabilities; of new ones alone if these are wanted."""
    k = whole_number("k", k)
    truths, facts = run_truths(run), fact_truths(run)
    with (
        progress("looking for answers", 0 if seconds is None else int(1000 * seconds)) as advance,
        Deadline(seconds, advance if seconds else None) as limit,
    ):
        wanted = new_by(asked.expression, facts) if new_only else lambda _: True
        found = best_answers(asked.expression, truths, k, limit=limit, keep=wanted)
        follow = holds(asked.expression, facts, [one.entities for one in found.answers])
    return asked.rows(run, found.answers, follow, floor=FLOOR, proven=found.proven, stopped=found.stopped)


def new_by(expression: Expression, facts: Truths) -> Callable[[tuple[int, ...]], bool]:
    """Return the test that an answer to an expression does not follow from facts; each is looked up once."""
    seen: dict[tuple[int, ...], bool] = {}

    def is_new(entities: tuple[int, ...]) -> bool:
        if entities not in seen:
            (seen[entities],) = holds(expression, facts, [entities])
        return not seen[entities]

    return is_new


def covered_rows(
    run: Trained, asked: Asked, coverage: float, *, new_only: bool = False, seconds: float | None = None
) -> QueryRows:
    """Return the known rows of a query with one predicted link, and the set of new ones that holds the missing one so often.

    What is promised is about one question (`require_promise`). So one fact of the query, the link, holds the column that is
    selected, and known facts decide all else: they hold, and leave one entity for each other position of the link. Where
    they leave several there are several questions, and where the selected column stands in two facts its answer must pass
    two: no questions of either sort were held out, so nothing is promised.
    """
    with Deadline(seconds) as limit:
        return _covered(run, asked, coverage, limit, new_only=new_only)


def _covered(run: Trained, asked: Asked, coverage: float, limit: Deadline, *, new_only: bool) -> QueryRows:
    one, link = _link_of(asked.expression, asked.text)
    facts, names = FactTruths(run.stored, run.known), run.entities
    given, rest = _rest_of(facts, one, link, asked.text, limit)
    position = next(at for at, term in enumerate(link.terms) if term in one.head)
    filled = tuple(
        None if at == position else term if isinstance(term, str) else names[given[term]]
        for at, term in enumerate(link.terms)
    )
    answers = complete(run, Question(link.relation, filled), _KNOWN, new_only=new_only, coverage=coverage)
    found = []
    for answer in answers:
        entity = names.id(answer.entities[0])
        fact = tuple(entity if name is None else names.id(name) for name in filled)
        worth = 1.0 if answer.known else min(answer.probability or 0.0, CAP)
        head = tuple(facts.entity(term) if isinstance(term, str) else entity for term in one.head)
        own = WitnessFact(link.relation, fact, worth, answer.known, position)
        found.append(JoinAnswer(head, worth, (own, *rest), True))
    return asked.rows(run, found, [answer.known for answer in answers], coverage=coverage, limit=answers.limit)


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
        times = sum(atom.terms.count(name) for atom in links)
        raise DataError(
            "coverage-needs-one-link",
            f"coverage needs the selected column in one fact alone; it stands {times} times, in {several}",
            place=query,
        )
    return one, links[0]


def _rest_of(
    facts: FactTruths, one: Conjunction, link: Stored, query: str, limit: Deadline
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


def joined_query(
    run: Trained,
    query: Query,
    k: int = 10,
    *,
    new_only: bool = False,
    seconds: float | None = SECONDS,
    coverage: float | None = None,
) -> QueryRows:
    """Return the k best rows that answer a query of relational algebra over stored relations, asked as by `Run.joined`."""
    expression = query.expression
    for position, name in enumerate(query.arguments):
        if name is not None:
            expression = expression.filter(position, name)
    open_ = query.open or list(range(expression.arity))
    whole = expression if len(open_) == expression.arity else expression.project(*open_)
    columns = columns_of(RelationSchema("query", whole.arity, whole.roles))
    asked = Asked(whole, str(query), tuple(columns), tuple(range(whole.arity)))
    if coverage is not None:
        return covered_rows(run, asked, coverage, new_only=new_only, seconds=seconds)
    return joined_rows(run, asked, k, new_only=new_only, seconds=seconds)


def run_truths(run: Trained) -> RunTruths:
    """Return what a run knows and believes; indexes and the best candidates of questions are kept with the run."""
    return run.remembered("truths", lambda: RunTruths(run))


def fact_truths(run: Trained) -> FactTruths:
    """Return what a run knows."""
    return run.remembered("facts", lambda: FactTruths(run.stored, run.known))
