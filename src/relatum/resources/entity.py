"""An entity: its facts by relation and role, what is predicted about it, entities like it, and its neighbourhood."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from relatum.api import Run
from relatum.resources.answers import AnswerItem, complete, reasons_for
from relatum.resources.facts import Standing, count_of, fact_index, standings_of
from relatum.resources.limits import MOST_ANSWERS, MOST_FACTS, MOST_REASONS, bounded, bounded_seconds
from relatum.resources.references import EntityRef, FactRef, entity_ref, role_names
from relatum.runs.answers import Question
from relatum.runs.trained import SECONDS


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts with an entity at one role of a relation.

    Attributes:
        relation: the relation.
        role: the role; the number of the position where there are no roles.
        position: its number.
        count: how many facts there are.
        facts: the first of them; `facts_of(entity, relation, role)` has all.
    """

    relation: str
    role: str
    position: int
    count: int
    facts: tuple[FactRef, ...]


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """An entity like another, and the cosine of their embeddings."""

    entity: EntityRef
    similarity: float


@dataclass(frozen=True, slots=True)
class EntityPage:
    """An entity.

    Attributes:
        entity: the entity.
        facts: in how many known facts it stands.
        groups: its facts by relation and role, largest group first.
        similar: entities like it, those of its own type first.
        truncated: whether there are more groups than are listed.
    """

    entity: EntityRef
    facts: int
    groups: tuple[FactGroup, ...]
    similar: tuple[SimilarItem, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class PredictedFacts:
    """New facts with an entity, the most likely first.

    Attributes:
        entity: the entity.
        answers: the facts as answers: their entities are what was varied.
        truncated: whether the search was cut short.
    """

    entity: EntityRef
    answers: tuple[AnswerItem, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The facts around an entity, to be drawn: known ones and predicted ones, spread over its relations.

    Attributes:
        centre: the entity.
        facts: each with the entity in it; `known` tells the two apart.
        truncated: whether there are more known facts than are listed.
    """

    centre: EntityRef
    facts: tuple[FactRef, ...]
    truncated: bool


_GROUPS = 100  # of facts, by relation and role, that a page lists
_QUESTIONS, _OF_ONE_ROLE = 48, 6  # that are asked for predictions: in all, and about one role of the entity


def entity_page(run: Run, name: str, *, facts: int = 10, similar: int = 10) -> EntityPage:
    """Return an entity, by its whole name, its value or its label, with so many `facts` of each group and `similar` ones."""
    facts, similar = bounded("facts", facts, MOST_FACTS), bounded("similar", similar, MOST_ANSWERS)
    (ref, there), index = standings_of(run, name), fact_index(run)
    standings = sorted(there, key=lambda one: -len(one.facts))
    groups = tuple(
        FactGroup(
            relation := run.model.schema[one.relation].name,
            role_names(run, relation)[one.position],
            one.position,
            len(one.facts),
            tuple(index.refs(one.facts[:facts].tolist())),
        )
        for one in standings[:_GROUPS]
    )
    alike = run.similar(ref.name, similar)
    found = tuple(SimilarItem(entity_ref(run, one.name, one.interval), one.similarity) for one in alike)
    return EntityPage(ref, count_of(there), groups, found, truncated=len(standings) > _GROUPS)


def predicted(
    run: Run, name: str, k: int = 10, *, reasons: int = 0, least: float = 0.0, seconds: float = SECONDS
) -> PredictedFacts:
    """Return the k most likely new facts with an entity, by the questions that its known facts answer.

    None is less likely than `least`; after so many `seconds` no more questions are asked.
    """
    k, until = bounded("k", k, MOST_ANSWERS), time.monotonic() + bounded_seconds(seconds)
    bounded("reasons", reasons, MOST_REASONS, least=0)
    entity = run.entity_id(name)
    best: dict[str, AnswerItem] = {}
    stopped = False
    for number, question in enumerate(_questions(run, entity)):
        if stopped := number >= _QUESTIONS or time.monotonic() > until:
            break
        for item in complete(run, question, min(k, 10), new_only=True).answers:
            if (item.probability or 0.0) >= least and item.fact.text not in best:
                best[item.fact.text] = item
    ranked = sorted(best.values(), key=lambda one: -(one.probability or 0.0))[:k]
    explained = tuple(replace(one, reasons=reasons_for(run, one.fact, reasons)) for one in ranked)
    return PredictedFacts(standings_of(run, name)[0], explained, truncated=stopped)


def neighbourhood(run: Run, name: str, *, known: int = 16, new: int = 6, least: float = 0.05) -> Neighbourhood:
    """Return the facts around an entity: some that are known, spread over its relations, and the likeliest new ones.

    No new one is less likely than `least`; with none at all it is much quicker.
    """
    known, (ref, there), index = bounded("known", known, MOST_FACTS), standings_of(run, name), fact_index(run)
    standings = sorted(there, key=lambda one: -len(one.facts))
    rounds = itertools.zip_longest(*(one.facts[:known].tolist() for one in standings))
    chosen = list(dict.fromkeys(fact for row in rounds for fact in row if fact is not None))[:known]
    guessed = predicted(run, ref.name, new, least=least).answers if new else ()
    facts = (*index.refs(sorted(chosen)), *(item.fact for item in guessed))
    return Neighbourhood(ref, facts, truncated=count_of(there) > len(chosen))


def _questions(run: Run, entity: int) -> Iterator[Question]:
    """Yield questions with an entity, some about each of its roles in turn, and each once."""
    standings = fact_index(run).standings(entity)
    waiting = [_around(run, one, entity) for one in sorted(standings, key=lambda one: -len(one.facts))]
    waiting.append(_first_questions(run, standings, entity))
    seen: set[Question] = set()
    for row in itertools.zip_longest(*waiting):
        for question in row:
            if question is not None and question not in seen:
                seen.add(question)
                yield question


def _around(run: Run, standing: Standing, entity: int) -> Iterator[Question]:
    """Yield the questions that known facts with an entity at a position answer, with another position open."""
    relation, table = run.model.schema[standing.relation], fact_index(run).table(standing.relation)
    rows = standing.facts - fact_index(run).starts[standing.relation]
    found: dict[Question, None] = {}
    for row in rows.tolist():
        names = [run.entities[one] for one in table[:, row].tolist()]
        for position in range(relation.arity):
            if position != standing.position:
                given = tuple(None if at == position else name for at, name in enumerate(names))
                found.setdefault(Question(relation.name, given))
        if len(found) >= _OF_ONE_ROLE:
            break
    yield from list(found)[:_OF_ONE_ROLE]


def _first_questions(run: Run, standings: list[Standing], entity: int) -> Iterator[Question]:
    """Yield questions of relations over two entities that have none of its facts, though a column is of its type."""
    there = {(one.relation, one.position) for one in standings}
    for number, relation in enumerate(run.model.schema):
        types = run.column_types(relation.name)
        for position, one in enumerate(types if relation.arity == 2 else ()):
            name = run.entities[entity]
            if one is not None and one.prefix and name.startswith(one.prefix) and (number, position) not in there:
                yield Question(relation.name, (name, None) if position == 0 else (None, name))
