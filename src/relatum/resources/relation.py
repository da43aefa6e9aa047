"""A relation: its schema and facts; on demand its quality, its rules, its doubtful facts, and those that it likely lacks."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.report.quality import Measured
from relatum.resources.answers import ReasonItem, reason_item, reasons_for
from relatum.resources.facts import FactPage, facts_of, known_fact, offset_of, token_of
from relatum.resources.limits import MOST_FACTS, MOST_MISSING, MOST_REASONS, MOST_RULES, bounded
from relatum.resources.overview import RelationRow, relation_rows
from relatum.resources.quality import evaluated
from relatum.resources.references import EntityRef, FactRef, entity_ref, fact_ref, role_names
from relatum.resources.rules import RulesView, rules, rules_using
from relatum.runs.answers import Prediction
from relatum.runs.doubt import DoubtfulFact
from relatum.runs.prediction import predict

_DOUBTFUL = 100  # facts of a relation that are judged worth showing
_AROUND = 500  # known facts of a relation that are varied to find new ones
_ROWS = 20_000  # of a table whose gaps are looked at
_MISSING = "missing facts of "  # before a relation's name: what they are remembered by
_PER_QUESTION = 5  # new answers to one question, so that the list is not all about one entity


@dataclass(frozen=True, slots=True)
class RelationPage:
    """A relation.

    Attributes:
        relation: its schema, size, an example and a question.
        keys: the sets of roles by which no two facts are alike, where it was made from tables.
        facts: its first facts.
    """

    relation: RelationRow
    keys: tuple[tuple[str, ...], ...]
    facts: FactPage


@dataclass(frozen=True, slots=True)
class RelationQuality:
    """How the held-out facts of a relation rank.

    Attributes:
        relation: its name.
        part: the split part whose facts were hidden; None where there are none.
        overall: how all of its questions rank; None where there are none.
        roles: the same for each role, in the order of the positions; only those that have questions.
    """

    relation: str
    part: str | None
    overall: Measured | None
    roles: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class RelationRules:
    """The rules that conclude facts of a relation, and those that read them to conclude others."""

    relation: str
    about: RulesView
    using: RulesView


@dataclass(frozen=True, slots=True)
class DoubtfulItem:
    """A known fact one of whose entities seems to be wrong.

    Attributes:
        fact: the fact.
        position: the position that is most likely wrong.
        role: how it is called.
        stored: what stands there.
        expected: what is expected there instead; None if nothing else is known there.
        doubt: the log-odds that what is stored stands there by accident.
        reasons: what speaks for the expected entity.
        support: what speaks for the stored one.
    """

    fact: FactRef
    position: int
    role: str
    stored: EntityRef
    expected: EntityRef | None
    doubt: float
    reasons: tuple[ReasonItem, ...]
    support: tuple[ReasonItem, ...]


@dataclass(frozen=True, slots=True)
class DoubtfulFacts:
    """The known facts of a relation that are most doubtful, and whether there are more."""

    relation: str
    facts: tuple[DoubtfulItem, ...]
    truncated: bool


def relation_page(run: Run, name: str, *, after: str | None = None, limit: int = 20) -> RelationPage:
    """Return a relation with some of its facts, page by page."""
    relation = run.schema[name].name
    row, roles = next(one for one in relation_rows(run) if one.name == relation), role_names(run, relation)
    keys = tuple(tuple(roles[position] for position in key) for key in run.keys_of(relation))
    return RelationPage(row, keys, facts_of(run, relation=relation, after=after, limit=limit))


def relation_quality(run: Run, name: str) -> RelationQuality:
    """Return how the held-out facts of a relation rank; all held-out facts are ranked once, which may take a while."""
    relation, tested = run.schema[name].name, evaluated(run)
    if tested is None or relation in run.definitions:
        return RelationQuality(relation, None if tested is None else tested.part, None, ())
    ranks = tested.ranks.where(tested.ranks.relation == run.model.schema.id(relation))
    if not len(ranks):
        return RelationQuality(relation, tested.part, None, ())
    by_role = [
        Measured.of(role, tested.part, chosen)
        for position, role in enumerate(role_names(run, relation))
        if len(chosen := ranks.where(ranks.position == position))
    ]
    return RelationQuality(relation, tested.part, Measured.of("all", tested.part, ranks), tuple(by_role))


def relation_rules(run: Run, name: str, k: int = 20) -> RelationRules:
    """Return the rules that conclude facts of a relation, and those that read them."""
    relation = run.schema[name].name
    return RelationRules(relation, rules(run, relation, k), rules_using(run, relation, k))


def doubtful(run: Run, name: str, k: int = 10) -> DoubtfulFacts:
    """Return the k most doubtful known facts of a relation; they are judged once, which may take a while."""
    relation, k = run.schema[name].name, bounded("k", k, MOST_RULES)
    if relation in run.definitions:
        return DoubtfulFacts(relation, (), truncated=False)
    found = run.remembered(f"doubtful facts of {relation}", lambda: tuple(run.doubt(relation, _DOUBTFUL)))
    return DoubtfulFacts(relation, tuple(_doubtful_item(run, one) for one in found[:k]), truncated=len(found) > k)


def _doubtful_item(run: Run, one: DoubtfulFact) -> DoubtfulItem:
    return DoubtfulItem(
        known_fact(run, one.relation, one.entities),
        one.position,
        role_names(run, one.relation)[one.position],
        entity_ref(run, one.stored),
        None if one.expected is None else entity_ref(run, one.expected, one.interval),
        one.doubt,
        tuple(reason_item(run, each) for each in one.reasons),
        tuple(reason_item(run, each) for each in one.support),
    )


@dataclass(frozen=True, slots=True)
class MissingFact:
    """A fact that is not known.

    Attributes:
        fact: the fact with its probability; None without calibration.
        position: where it differs from a known one; None if all facts were tried.
        score: the model's score; to be compared among facts of one relation only.
        reasons: what speaks for it, if that was wanted.
    """

    fact: FactRef
    position: int | None
    score: float
    reasons: tuple[ReasonItem, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingPage:
    """Facts of a relation that are likely missing, the most likely first.

    Attributes:
        relation: its name.
        roles: how its positions are called.
        facts: those of this page.
        total: how many were found on all pages; at most MOST_MISSING.
        next: the token of the next page; None on the last one.
        truncated: whether more could be found than all pages have.
    """

    relation: str
    roles: tuple[str, ...]
    facts: tuple[MissingFact, ...]
    total: int
    next: str | None
    truncated: bool


def missing(run: Run, relation: str, *, after: str | None = None, limit: int = 20, reasons: int = 0) -> MissingPage:
    """Return a page of the facts of a relation, stored or defined, that are likely missing, with what speaks for each.

    They are looked for once around known facts, which may take a while.
    """
    limit, name = bounded("limit", limit, MOST_FACTS), run.schema[relation].name
    bounded("reasons", reasons, MOST_REASONS, least=0)
    found = run.remembered(_MISSING + name, lambda: _found(run, name))
    wanted = ("missing", name, len(found), len(run.entities))
    start = offset_of(after, *wanted)
    facts = tuple(_item(run, one, reasons) for one in found[start : start + limit])
    ends = start + len(facts)
    return MissingPage(
        name,
        role_names(run, name),
        facts,
        len(found),
        token_of(ends, *wanted) if facts and ends < len(found) else None,
        truncated=len(found) == MOST_MISSING,
    )


def missing_is_known(run: Run, relation: str) -> bool:
    """Return whether the facts that are likely missing of a relation were looked for already."""
    return run.remembers(_MISSING + relation)


def _found(run: Run, relation: str) -> tuple[Prediction, ...]:
    """Return the likeliest new facts of a relation: those that fill the gaps of a column, or vary known ones."""
    if run.columns is not None and run.schema[relation].arity == 2 and (0,) in run.keys_of(relation):
        rows = run.allowed_entities(relation)[0]
        if rows is not None and len(rows) <= _ROWS:
            return _gaps(run, relation)
    return tuple(predict(run, [relation], MOST_MISSING, around=_AROUND, per_question=_PER_QUESTION)[relation])


def _gaps(run: Run, relation: str) -> tuple[Prediction, ...]:
    """Return what most likely stands in the empty cells of a column; a row that has a value there lacks none."""
    found = [
        Prediction(relation, one.entities, one.score, one.probability, 1, one.roles, one.intervals)
        for one in run.complete_each(relation, "*", None, k=1, new_only=True, all_entities=True)
    ]
    found.sort(key=lambda one: (-(one.probability or 0.0), one.entities))
    return tuple(found[:MOST_MISSING])


def _item(run: Run, one: Prediction, reasons: int) -> MissingFact:
    fact = fact_ref(run, one.relation, one.entities, intervals=one.intervals, probability=one.probability)
    listed = () if one.relation in run.definitions else reasons_for(run, fact, reasons)
    return MissingFact(fact, one.position, one.score, listed)
