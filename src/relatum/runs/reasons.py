"""Why a run thinks that a fact is true or not: rules and the facts they rest on, what it never saw, and similar facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relatum.algebra.lexer import as_written, write_arguments
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.evidence.reasons import Reason, reasons
from relatum.records import Record, columns_of
from relatum.runs.answers import Question
from relatum.runs.lookup import similarities
from relatum.runs.trained import Trained
from relatum.settings import whole_number


@dataclass(frozen=True)
class SimilarFact(Record):
    """A known fact that differs in one entity, and how similar the embedding finds these two entities."""

    fact: str
    similarity: float


SIMILAR_FACT_COLUMNS = columns_of(SimilarFact)


def why(run: Trained, question: Question, k: int = 5, only: int | None = None) -> list[Reason]:
    """Return the k most confident rules that speak for a fact, with the training facts that they rest on.

    A run that was trained without evidence is searched for rules when it is asked first. `only` is the position whose entity
    the rules are to name, if not any.
    """
    k, fact = whole_number("k", k), _fact(run, question)
    found = reasons(run.rules_of_facts, run.model.schema.id(question.relation), fact, k, only)
    return [with_values(run, one) for one in found]


def with_values(run: Trained, reason: Reason) -> Reason:
    """Return a reason whose known facts have the numbers and dates that are stored."""
    facts, grounds = list(reason.facts), []
    for relation, entities in reason.grounds:
        shown = run.shown_values.fact(relation, run.entities.ids(entities).tolist(), known=True)
        grounds.append((relation, shown.names))
        if shown.intervals:
            before, after = (f"{relation}({', '.join(names)})" for names in (entities, shown.texts))
            facts = [text.replace(before, after) for text in facts]
    return replace(reason, facts=tuple(facts), grounds=tuple(grounds))


def objections(run: Trained, question: Question) -> list[str]:
    """Return what speaks against a fact: that it has an entity twice where no known fact of its relation has."""
    fact, schema = _fact(run, question), run.schema[question.relation]
    store, relation = run.rules_of_facts.store, run.model.schema.id(question.relation)
    count = store.columns[relation].shape[1]
    names = schema.roles or [f"argument {position + 1}" for position in range(schema.arity)]
    return [
        f"none of the {count:,} training facts of {schema.name} has the same {names[other]} and {names[position]}"
        for position in range(len(fact))
        for other in store.never_equal(relation, position)
        if other < position and fact[other] == fact[position]
    ]


def similar_facts(run: Trained, question: Question, k: int = 3) -> list[SimilarFact]:
    """Return the k known facts that differ in one entity from a fact, and whose other entity is most like its own."""
    k, fact = whole_number("k", k), _fact(run, question)
    scorer = run.scorer(question.relation)
    found: list[tuple[float, tuple[int, ...]]] = []
    for position in range(len(fact)):
        others = [one for one in scorer.answers(position, fact[:, None])[0].tolist() if one != fact[position]]
        if others:
            alike = similarities(run, int(fact[position]))[others].tolist()
            rest = fact.tolist()
            found += [
                (-like, (*rest[:position], other, *rest[position + 1 :])) for other, like in zip(others, alike, strict=True)
            ]
    return [SimilarFact(_written(run, question.relation, entities), -like) for like, entities in sorted(found)[:k]]


def without_prefixes(run: Trained, reason: Reason) -> Reason:
    """Return a reason as people read it: entities without the prefixes of their types, `Germany` for `countries:Germany`."""
    facts = tuple(without_prefixes_in(run, fact) for fact in reason.facts)
    return replace(reason, rule=without_prefixes_in(run, reason.rule), facts=facts)


def without_prefixes_in(run: Trained, text: str) -> str:
    """Return a text with facts in it, whose entities are without the prefixes of their types."""
    prefixes = {one.prefix for types in run.split.column_types.values() for one in types if one is not None}
    alternatives = "|".join(re.escape(prefix) for prefix in sorted(prefixes, key=len, reverse=True))
    return re.sub(rf"(?<=[( \"])({alternatives})", "", text) if prefixes else text


def _fact(run: Trained, question: Question) -> Ids:
    """Return the entities of a question that names one at every position of a stored relation."""
    schema = run.schema[question.relation]
    if question.open or question.free:
        raise DataError("gap-in-fact", f"a fact to explain names an entity for every position of {schema}", place=question)
    if question.relation in run.definitions:
        raise DataError(
            "defined-relation", f"{question.relation} is a defined relation; explain it as a query", place=question
        )
    return run.entities_of(question)[:, 0]


def _written(run: Trained, relation: str, entities: Sequence[int]) -> str:
    return as_written(relation) + write_arguments(run.shown_values.fact(relation, entities, known=True).names)
