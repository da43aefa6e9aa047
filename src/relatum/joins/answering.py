"""The best answers to a query with joins, proven best, each with the facts that it rests on.

`plan_of` says in words how a query is answered: which variable each fact decides, and by which search.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from relatum.algebra.expression import Expression
from relatum.algebra.lexer import as_written
from relatum.algebra.rule import Term, variable_name
from relatum.joins.conjunction import Conjunction, Negation, Stored, alternatives_of
from relatum.joins.order import DirectedAtom, steps_of
from relatum.joins.search import Assignment, Found, Search, Work, against
from relatum.joins.stream import TimeOver
from relatum.joins.tree import is_tree, stream_of
from relatum.joins.truths import Truths, conjunction_by
from relatum.time_limit import Deadline

_Ranked = tuple[tuple[int, ...], Found, Conjunction]  # an answer, its assignment, and what that is of
_BATCH = 8  # assignments that are extended at once, at first, where many answers are wanted


@dataclass(frozen=True, slots=True)
class WitnessFact:
    """A fact that an answer rests on."""

    relation: str
    entities: tuple[int, ...]  # its entities, by number
    value: float  # 1 if it is known, else how likely it is
    known: bool
    position: int | None = None  # the position at which it answers a question; None for a fact that answers no question
    negated: bool = False  # whether the answer rests on it being false


@dataclass(frozen=True, slots=True)
class JoinAnswer:
    """Entities, by number, at the columns of a query, how true they are together, and what that rests on."""

    entities: tuple[int, ...]
    value: float
    witness: tuple[WitnessFact, ...]
    proven: bool


@dataclass(frozen=True, slots=True)
class JoinAnswers:
    """The best answers, best first."""

    answers: tuple[JoinAnswer, ...]
    proven: bool  # whether there are surely no better ones
    stopped: bool  # whether the time was over before that was certain


def best_answers(
    expression: Expression,
    truths: Truths,
    k: int,
    conjunction: str = "product",
    limit: Deadline | None = None,
    *,
    least: float = 0.0,
    keep: Callable[[tuple[int, ...]], bool] = lambda _: True,
) -> JoinAnswers:
    """Return the k best answers to an expression, all of whose columns are open.

    No answer is looked for below the value `least`; `keep` says which answers are wanted.
    """
    limit = limit or Deadline()
    work = Work(truths, conjunction_by(conjunction), limit, least)
    wanted = (one for one in _ranked(work, alternatives_of(expression)) if keep(one[0]))
    ranked = list(itertools.islice(wanted, k))
    answers = _answers_of(work, ranked)
    return JoinAnswers(answers, all(one.proven for one in answers) and not limit.stopped, limit.stopped)


def ranked_answers(
    expression: Expression,
    truths: Truths,
    conjunction: str = "product",
    limit: Deadline | None = None,
    *,
    negated: Truths | None = None,
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the answers to an expression and their values, best first, arguments as of `best_answers`.

    `negated` is what facts are worth where they must not hold; None is the same.
    """
    work = Work(truths, conjunction_by(conjunction), limit or Deadline(), negated=negated)
    for entities, found, _ in _ranked(work, alternatives_of(expression)):
        yield entities, found.value


def holds(expression: Expression, truths: Truths, answers: Sequence[tuple[int, ...]]) -> list[bool]:
    """Return which answers to an expression have any value at all: with known facts alone, those that follow from them."""
    work, alternatives = Work(truths, conjunction_by("minimum"), Deadline()), alternatives_of(expression)
    return [any(_for(work, one, entities) is not None for one in alternatives) for entities in answers]


def judged(
    expression: Expression,
    truths: Truths,
    answers: Sequence[tuple[int, ...]],
    conjunction: str = "product",
    limit: Deadline | None = None,
) -> tuple[JoinAnswer, ...]:
    """Return given answers with their values and witnesses, the first of them where time is over; else as `best_answers`."""
    work, alternatives = Work(truths, conjunction_by(conjunction), limit or Deadline()), alternatives_of(expression)
    found = [JoinAnswer(entities, 0.0, (), True) for entities in answers]
    there = []
    for number, entities in enumerate(answers):
        ways = [(entities, best, one) for one in alternatives if (best := _for(work, one, entities)) is not None]
        if ways:
            there.append((number, max(ways, key=lambda way: way[1].value)))
    whole = _answers_of(work, [way for _, way in there])
    for (number, _), answer in zip(there, whole, strict=False):
        found[number] = answer
    late = {number for number, _ in there[len(whole) :]}
    return tuple(answer for number, answer in enumerate(found) if number not in late)


def _for(work: Work, one: Conjunction, entities: tuple[int, ...]) -> Found | None:
    """Return the best assignment of a conjunction whose head are some entities."""
    given: Assignment = {}
    for term, entity in zip(one.head, entities, strict=True):
        if (work.entity(term) if isinstance(term, str) else given.setdefault(term, entity)) != entity:
            return None
    return next(Search(work, one, fixed=given).run(), None)


def _ranked(work: Work, alternatives: Sequence[Conjunction]) -> Iterator[_Ranked]:
    """Yield the answers to the likeliest of some conjunctions, best first, down to the least value."""
    seen: set[tuple[int, ...]] = set()
    parts = [_of_conjunction(work, one) for one in alternatives]
    for entities, found, one in heapq.merge(*parts, key=lambda part: -part[1].value):
        if entities not in seen:
            seen.add(entities)
            yield entities, found, one


def _of_conjunction(work: Work, one: Conjunction) -> Iterator[_Ranked]:
    for found in _found(work, one):
        if found.value < work.least:
            return
        yield (
            tuple(work.entity(term) if isinstance(term, str) else found.assignment[term] for term in one.head),
            found,
            one,
        )


def _found(work: Work, one: Conjunction) -> Iterator[Found]:
    """Yield the assignments of a conjunction that differ in the head, best first."""
    if not is_tree(one):
        yield from Search(work, one, batch=_BATCH).run()
        return
    stream, at = stream_of(work, one), 0
    try:
        while stream.reach(at + 1):
            yield Found(stream.assigned(stream.entities[at]), stream.values[at])
            at += 1
    except TimeOver:
        for entity, value in stream.unproven():
            yield Found(stream.assigned(entity), value, proven=False)


def witnesses_of(
    work: Work, one: Conjunction, rows: Sequence[Assignment], given: Sequence[int] = ()
) -> list[tuple[WitnessFact, ...]]:
    """Return the facts that a conjunction rests on under each of some assignments.

    Of what is negated these are the facts that speak most for it.
    """
    found: list[list[WitnessFact]] = [[] for _ in rows]
    for step in steps_of(one, given):
        for directed in step.atoms:
            facts = work.facts(directed.atom.terms, rows)
            known, values = work.truths.known(directed.atom.relation, facts), work.values(directed, facts)
            for each, fact, is_known, value in zip(found, facts.T.tolist(), known.tolist(), values.tolist(), strict=True):
                each.append(WitnessFact(directed.atom.relation, tuple(fact), value, is_known, directed.position))
        for negation in step.negations:
            for each, row in zip(found, rows, strict=True):
                if (opposed := against(work, negation, row)) is not None:
                    (inner,) = witnesses_of(work, opposed[0], [opposed[1]], negation.variables)
                    each += (replace(fact, negated=not fact.negated) for fact in inner)
    return [tuple(each) for each in found]


def _answers_of(work: Work, found: Sequence[_Ranked]) -> tuple[JoinAnswer, ...]:
    """Return what was found as answers with their witnesses, best first: fewer where time does not allow all of them."""
    answers: list[JoinAnswer] = []
    while len(answers) < len(found) and not (answers and work.limit.is_late()):
        answers += _with_witnesses(work, found[len(answers) : 1 + 2 * len(answers)])
    return tuple(answers)


def _with_witnesses(work: Work, found: Sequence[_Ranked]) -> list[JoinAnswer]:
    """Return what was found as answers with their witnesses, those of one conjunction looked up together."""
    witnesses: dict[int, tuple[WitnessFact, ...]] = {}
    for one in dict.fromkeys(each for _, _, each in found):
        mine = [number for number, (_, _, each) in enumerate(found) if each == one]
        rows = [found[number][1].assignment for number in mine]
        witnesses.update(zip(mine, witnesses_of(work, one, rows), strict=True))
    return [
        JoinAnswer(entities, best.value, witnesses[number], best.proven) for number, (entities, best, _) in enumerate(found)
    ]


def plan_of(expression: Expression) -> tuple[str, ...]:
    """Return how an expression is answered, line by line."""
    alternatives = alternatives_of(expression)
    lines: list[str] = []
    for number, one in enumerate(alternatives, start=1):
        if len(alternatives) > 1:
            lines.append(f"alternative {number} of {len(alternatives)}, of which the likeliest counts")
        lines += _lines(one)
    return tuple(lines)


def _lines(one: Conjunction) -> list[str]:
    way = "one list of entities for each variable" if is_tree(one) else "best-first search"
    lines = [f"answers are ({', '.join(map(_term, one.head))}), found by {way}"]
    for step in steps_of(one):
        for directed in step.atoms:
            if not step.variables:
                lines.append(f"{_atom(directed.atom)} is looked up")
            elif directed.position is None:
                lines.append(f"{', '.join(map(_term, step.variables))}: the likeliest facts {_atom(directed.atom)}")
            else:
                lines.append(f"{_term(step.variables[0])} answers {_question(directed)}")
        lines += [f"{_term(left)} is not {_term(right)}" for left, right in step.unequal]
        lines += [f"and not: {_negated(negation)}" for negation in step.negations]
    return lines


def _negated(negation: Negation) -> str:
    return " or ".join(" and ".join(map(_atom, one.atoms)) for one in negation.alternatives)


def _question(directed: DirectedAtom) -> str:
    terms = [("?" if position == directed.position else _term(term)) for position, term in enumerate(directed.atom.terms)]
    return f"{as_written(directed.atom.relation)}({', '.join(terms)})"


def _atom(atom: Stored) -> str:
    return f"{as_written(atom.relation)}({', '.join(map(_term, atom.terms))})"


def _term(term: Term) -> str:
    return as_written(term) if isinstance(term, str) else variable_name(term)
