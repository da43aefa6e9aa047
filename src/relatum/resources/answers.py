"""Answers to questions, what a run thinks of a fact, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relatum.algebra.lexer import as_written
from relatum.api import Run
from relatum.errors import DataError
from relatum.evidence.reasons import Reason
from relatum.resources.fact_index import known_fact
from relatum.resources.limits import MOST_ANSWERS, MOST_REASONS, bounded, bounded_seconds, bounded_text
from relatum.resources.references import EntityRef, FactRef, entity_refs, fact_ref, role_names
from relatum.runs.answers import Answer, Answers, Question, parse_question
from relatum.runs.reasons import why, without_prefixes
from relatum.runs.trained import SECONDS


@dataclass(frozen=True, slots=True)
class ReasonItem:
    """A rule that speaks for a fact.

    Attributes:
        rule: as Datalog writes it, entities without the prefixes of their types.
        answers: which argument of the fact the rule names.
        confidence: how likely a candidate is right that the rule names.
        right: how often it named the answer of a training fact.
        named: how many candidates it named in all.
        facts: some of the facts that it rests on here, in words; of a path two in one text.
        more: how many others there are.
        grounds: the same facts, each once; none where neighbours speak, entities with similar answers.
    """

    rule: str
    answers: str
    confidence: float
    right: int
    named: int
    facts: tuple[str, ...]
    more: int
    grounds: tuple[FactRef, ...] = ()


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
    """

    fact: FactRef
    probability: float | None
    percentile: float
    score: float


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
    question: str,
    k: int = 10,
    *,
    new_only: bool = False,
    reasons: int = 0,
    seconds: float = SECONDS,
    coverage: float | None = None,
) -> QuestionAnswers:
    """Return the answers to a question such as `sold(drew, ?, book)`: the k best known ones, then the k best new ones.

    Args:
        run: the run that is asked.
        question: a text with at least one open position.
        k: how many known answers, and how many new ones; at most MOST_ANSWERS.
        new_only: leave out those that are known.
        reasons: how many rules to show for each new answer of a stored relation; at most MOST_REASONS.
        seconds: that answers with free positions, or of a defined relation, may take.
        coverage: the share of sets of new answers that hold the missing one; the new answers are then such a set.
    """
    bounded("k", k, MOST_ANSWERS)
    if reasons:
        bounded("reasons", reasons, MOST_REASONS)
    parsed = parse_question(bounded_text(question, "the question"), run.schema)
    return answered(run, parsed, k, new_only=new_only, reasons=reasons, seconds=bounded_seconds(seconds), coverage=coverage)


def answered(
    run: Run,
    parsed: Question,
    k: int,
    *,
    new_only: bool = False,
    reasons: int = 0,
    seconds: float = SECONDS,
    coverage: float | None = None,
) -> QuestionAnswers:
    """Return the answers to a question that was read already; what `complete` takes."""
    found = run.complete(parsed, k=k, new_only=new_only, seconds=seconds, coverage=coverage)
    return _Filler(run, parsed).filled(found, k, reasons, covering=coverage is not None)


def score(run: Run, fact: str) -> ScoredFact:
    """Return what a run thinks of a fact such as `sold(drew, alex, book)`."""
    parsed = parse_question(bounded_text(fact, "the fact"), run.schema)
    found = run.score(parsed)
    ref = fact_ref(run, parsed.relation, _names(run, parsed), probability=found.probability, source=found.source)
    return ScoredFact(ref, found.probability, found.percentile, found.score)


def explain(run: Run, fact: str, k: int = 5) -> ExplainedFact:
    """Return what speaks for a fact and what against it: the k most confident rules, objections, similar facts."""
    bounded("k", k, MOST_REASONS)
    parsed = parse_question(bounded_text(fact, "the fact"), run.schema)
    if parsed.relation in run.definitions:
        return ExplainedFact(score(run, fact), (), (), ())
    found = why(run, parsed, k)
    similar = tuple(
        SimilarFactItem(known_fact(run, parsed.relation, _names(run, parse_question(one.fact, run.schema))), one.similarity)
        for one in run.similar_facts(parsed)
    )
    return ExplainedFact(
        score(run, fact), tuple(reason_item(run, one) for one in found), tuple(run.objections(parsed)), similar
    )


def reason_item(run: Run, reason: Reason) -> ReasonItem:
    """Return a rule that speaks for a fact, as people read it."""
    one = without_prefixes(run, reason)
    grounds = tuple(known_fact(run, relation, entities) for relation, entities in reason.grounds)
    return ReasonItem(one.rule, one.answers, one.confidence, one.right, one.named, one.facts, one.more, grounds)


def fact_question(fact: FactRef) -> Question:
    """Return a whole fact as the question that has nothing open."""
    return Question(fact.relation, tuple(one.name for one in fact.entities))


class _Filler:
    """Turns the answers to one question into items."""

    def __init__(self, run: Run, question: Question) -> None:
        self._run, self.question = run, question
        self._roles = roles = role_names(run, question.relation)
        self._ref = entity_refs(run)
        self.open_roles = tuple(roles[position] for position in question.open)
        self._arguments: list[str | None] = [
            None if name is None else run.entities[entity]
            for name, entity in zip(question.arguments, run.entities_of(question)[:, 0].tolist(), strict=True)
        ]
        self.given = tuple(None if name is None else self._ref(name) for name in self._arguments)
        self._head = as_written(question.relation)
        self._written = ["" if name is None else _written(name) for name in self._arguments]

    def filled(self, found: Answers, k: int, reasons: int = 0, *, covering: bool = False) -> QuestionAnswers:
        """Return answers as they are shown; `covering` says that the new ones are a set that holds the missing one."""
        question = self.question
        known, new = found.known[:k], found.new[:MOST_ANSWERS] if covering else found.new
        explained = reasons if not question.free and question.relation not in self._run.definitions else 0
        answers = tuple(self._item(one, explained) for one in (*known, *new))
        truncated = len(known) == k or (len(found.new) > len(new) if covering else len(new) == k)
        return QuestionAnswers(
            str(question),
            question.relation,
            self.given,
            self.open_roles,
            answers,
            truncated=truncated,
            promise=found.promise,
        )

    def _item(self, answer: Answer, reasons: int) -> AnswerItem:
        run, question = self._run, self.question
        entities, source = tuple(map(self._ref, answer.entities)), answer.source
        fact = self._rest(answer) if question.free else self._whole(entities, answer)
        found: Sequence[Reason] = ()
        if reasons and source is None:
            whole = fact_question(fact)
            if len(question.open) == 1:
                found = why(run, whole, reasons, question.open[0])
            found = found or why(run, whole, reasons)  # what names other entities of the fact speaks for it, too
        listed = tuple(reason_item(run, one) for one in found)
        return AnswerItem(entities, fact, answer.probability, source is not None, source, answer.score, listed)

    def _whole(self, entities: Sequence[EntityRef], answer: Answer) -> FactRef:
        """Return the fact that an answer makes, as `fact_ref` would: here are many, of which most is the same."""
        filled, written = list(self.given), self._written.copy()
        for position, one in zip(self.question.open, entities, strict=True):
            filled[position], written[position] = one, _written(one.name)
        return FactRef(
            self.question.relation,
            tuple(filled),  # type: ignore[arg-type]  # nothing is open any more
            self._roles,
            f"{self._head}({', '.join(written)})",
            answer.source is not None,
            1.0 if answer.source is not None else answer.probability,
            answer.source,
        )

    def _rest(self, answer: Answer) -> FactRef:
        """Return what is left of the fact that an answer makes, where positions are free."""
        relation, filled = self.question.relation, list(self._arguments)
        for position, name in zip(self.question.open, answer.entities, strict=True):
            filled[position] = name
        kept = [position for position in range(len(filled)) if position not in self.question.free]
        shown = Question(relation, tuple(filled), self.question.free, self._roles)
        return FactRef(
            relation,
            tuple(self._ref(filled[position] or "") for position in kept),
            tuple(self._roles[position] for position in kept),
            str(shown),
            answer.known,
            1.0 if answer.known else answer.probability,
            answer.source,
        )


def _written(name: str) -> str:
    """Return the name of an entity as an argument: one that is called `?` is no open position."""
    return as_written(name, quote=name == "?")


def _names(run: Run, question: Question) -> list[str]:
    """Return the whole names of the entities of a fact."""
    if question.open or question.free:
        raise DataError(
            "gap-in-fact", f"a fact names an entity for every position of {run.schema[question.relation]}", place=question
        )
    return [run.entities[one] for one in run.entities_of(question)[:, 0].tolist()]
