"""Answers to questions, what a run thinks of a fact, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relatum.api import Run
from relatum.errors import DataError
from relatum.evidence.reasons import Reason
from relatum.resources.facts import known_fact
from relatum.resources.limits import MOST_ANSWERS, MOST_REASONS, bounded, bounded_seconds, bounded_text
from relatum.resources.references import EntityRef, FactRef, entity_ref, fact_ref, role_names
from relatum.runs.answers import Answer, Question, parse_question
from relatum.runs.reasons import why, without_prefixes
from relatum.runs.trained import SECONDS


@dataclass(frozen=True)
class ReasonItem(Reason):
    """A rule that speaks for a fact, with entities as people call them, and the facts that it rests on here."""

    grounds: tuple[FactRef, ...] = ()  # type: ignore[assignment]  # the same facts, as references


@dataclass(frozen=True, slots=True)
class AnswerItem:
    """An answer to a question.

    Attributes:
        entities: those at the open positions, in their order.
        fact: the fact that they make.
        probability: how likely it is as an answer to this question; None without calibration. Of a known answer it is what
            the run would think of it if it were not known.
        known: whether the fact is known.
        source: the split part that holds it, `derived` if it follows by definition, `assumed` if it was taken as true for
            this question, None if it is not known.
        score: the model's score; to be compared among answers of one question only.
        reasons: what speaks for it, if that was wanted; empty where nothing but the embedding does.
    """

    entities: tuple[EntityRef, ...]
    fact: FactRef
    probability: float | None
    known: bool
    source: str | None
    score: float
    reasons: tuple[ReasonItem, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """The answers to a question: known ones, best first, and behind them new ones, best first.

    Attributes:
        question: as it was understood.
        relation: its relation.
        arguments: the given entities in the order of the positions; None where it is open or free.
        roles: how the open positions are called.
        answers: up to k that are known and up to k that are not.
        truncated: whether there may be more answers than are listed.
        promise: with a coverage, how often the new answers hold the missing one, and if what is so; else None.
    """

    question: str
    relation: str
    arguments: tuple[EntityRef | None, ...]
    roles: tuple[str, ...]
    answers: tuple[AnswerItem, ...]
    truncated: bool
    promise: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredFact:
    """What a run thinks of a fact.

    Attributes:
        fact: the fact; its probability is 1 if it is known.
        probability: how likely it would be if it were not known; None without calibration.
        percentile: the share of its one-cell variations that score lower, in percent.
        score: the model's score; to be compared among facts of one relation only.
        interval: what score and probability are of, where the fact has a number or a date and is not known; else None.
        stored: what is stored in a cell of the fact instead; None where nothing is, or the fact is known.
    """

    fact: FactRef
    probability: float | None
    percentile: float
    score: float
    interval: str | None = None
    stored: str | None = None


@dataclass(frozen=True, slots=True)
class SimilarFactItem:
    """A known fact that differs in one entity, and how similar the embedding finds these two entities."""

    fact: FactRef
    similarity: float


@dataclass(frozen=True, slots=True)
class ExplainedFact:
    """What speaks for a fact and what against it.

    Attributes:
        scored: what the run thinks of it.
        reasons: the most confident rules that speak for it.
        objections: what speaks against it, in words.
        similar: the known facts that the embedding finds most similar.
    """

    scored: ScoredFact
    reasons: tuple[ReasonItem, ...]
    objections: tuple[str, ...]
    similar: tuple[SimilarFactItem, ...]


def complete(
    run: Run,
    question: str | Question,
    k: int = 10,
    *,
    new_only: bool = False,
    reasons: int = 0,
    seconds: float = SECONDS,
    coverage: float | None = None,
) -> QuestionAnswers:
    """Return the answers to a question such as `sold(drew, ?, book)`: the k best known ones, then the k best new ones.

    New answers of a stored relation come with as many `reasons`. Answers with free positions, or of a defined relation, may
    take so many `seconds`. With a `coverage` the new answers are a set that holds the missing one in that share of cases.
    """
    bounded("k", k, MOST_ANSWERS)
    bounded("reasons", reasons, MOST_REASONS, least=0)
    seconds = bounded_seconds(seconds)
    parsed = parse_question(bounded_text(question, "the question"), run.schema) if isinstance(question, str) else question
    found = run.complete(parsed, k=k, new_only=new_only, seconds=seconds, coverage=coverage)
    known, new = found.known[:k], found.new if coverage is None else found.new[:MOST_ANSWERS]
    relation, roles = parsed.relation, role_names(run, parsed.relation)
    given = run.given_names(parsed)
    explained = reasons if not parsed.free and relation not in run.definitions else 0
    return QuestionAnswers(
        str(parsed),
        relation,
        tuple(None if name is None else entity_ref(run, name) for name in given),
        tuple(roles[position] for position in parsed.open),
        tuple(_item(run, replace(parsed, arguments=given, roles=roles), one, explained) for one in (*known, *new)),
        truncated=len(known) == k or (len(new) == k if coverage is None else len(found.new) > len(new)),
        promise=found.promise,
    )


def score(run: Run, fact: str) -> ScoredFact:
    """Return what a run thinks of a fact such as `sold(drew, alex, book)`."""
    relation, names = whole_fact(run, bounded_text(fact, "the fact"))
    found = run.score(Question(relation, names))
    ref = known_fact(run, relation, names) if relation not in run.definitions else None
    if ref is None or not ref.known:
        ref = fact_ref(run, relation, names, probability=found.probability, source=found.source)
    return ScoredFact(ref, found.probability, found.percentile, found.score, found.interval, found.stored)


def explain(run: Run, fact: str, k: int = 5) -> ExplainedFact:
    """Return what speaks for a fact and what against it: the k most confident rules, objections, similar facts."""
    bounded("k", k, MOST_REASONS)
    scored = score(run, fact)
    if scored.fact.relation in run.definitions:
        return ExplainedFact(scored, (), (), ())
    question = _question(scored.fact)
    similar = tuple(
        SimilarFactItem(known_fact(run, *whole_fact(run, one.fact)), one.similarity) for one in run.similar_facts(question)
    )
    return ExplainedFact(scored, reasons_for(run, scored.fact, k), tuple(run.objections(question)), similar)


def whole_fact(run: Run, fact: str) -> tuple[str, tuple[str, ...]]:
    """Return the relation of a fact, and its entities by their whole names; one with a gap is refused."""
    question = parse_question(fact, run.schema)
    if question.open or question.free:
        reason = f"a fact names an entity for every position of {run.schema[question.relation]}"
        raise DataError("gap-in-fact", reason, place=question)
    return question.relation, tuple(name or "" for name in run.given_names(question))


def reasons_for(run: Run, fact: FactRef, k: int, only: int | None = None) -> tuple[ReasonItem, ...]:
    """Return the k most confident rules that speak for a fact of a stored relation; `only` as `why` has it."""
    return tuple(reason_item(run, one) for one in why(run, _question(fact), k, only)) if k else ()


def reason_item(run: Run, reason: Reason) -> ReasonItem:
    """Return a rule that speaks for a fact, as people read it."""
    grounds = tuple(known_fact(run, relation, entities) for relation, entities in reason.grounds)
    return ReasonItem(**{**vars(without_prefixes(run, reason)), "grounds": grounds})


def _question(fact: FactRef) -> Question:
    """Return a whole fact as the question that has nothing open."""
    return Question(fact.relation, tuple(one.name for one in fact.entities))


def _item(run: Run, question: Question, answer: Answer, reasons: int) -> AnswerItem:
    """Return an answer to a question whose entities have their whole names; of a new one, with what speaks for it."""
    filled = list(question.arguments)
    between: list[str | None] = [None] * len(filled)
    for position, name, interval in zip(
        question.open, answer.entities, answer.intervals or (None,) * len(answer.entities), strict=True
    ):
        filled[position], between[position] = name, interval
    there = [at for at, name in enumerate(filled) if name is not None]  # without those at free positions
    fact = fact_ref(
        run,
        question.relation,
        [filled[at] or "" for at in there],
        intervals=[between[at] for at in there],
        probability=answer.probability,
        source=answer.source,
    )
    if question.free:
        roles = tuple(role for role, name in zip(fact.roles, filled, strict=True) if name is not None)
        fact = replace(fact, roles=roles, text=str(replace(question, arguments=tuple(filled))))
    listed: tuple[ReasonItem, ...] = ()
    if reasons and answer.source is None:
        if len(question.open) == 1:
            listed = reasons_for(run, fact, reasons, question.open[0])
        listed = listed or reasons_for(run, fact, reasons)  # what names other entities of the fact speaks for it, too
    entities = tuple(
        entity_ref(run, name, between[at], known=answer.known)
        for at, name in zip(question.open, answer.entities, strict=True)
    )
    return AnswerItem(entities, fact, answer.probability, fact.known, answer.source, answer.score, listed)
