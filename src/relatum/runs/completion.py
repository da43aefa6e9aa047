"""Facts with gaps that a run fills, from what is known and from what it believes; and what it thinks of whole facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from relatum.arrays import Float32
from relatum.data.hypergraph import Block, Hypergraph
from relatum.data.keyed_answers import taken_keys
from relatum.data.known_answers import KnownAnswers
from relatum.data.row_store import HELD_OUT_PARTS
from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.inference.answer_sets import Limit, conformities, limit_of, require_coverage
from relatum.inference.prediction import EXHAUSTIVE_LIMIT, best_facts
from relatum.inference.scoring import CandidateScorer
from relatum.models.ops import one_torch_thread
from relatum.models.reale import ReAlE
from relatum.reasoning.closed_form import require_reale
from relatum.reasoning.query import Query
from relatum.runs.answerer import Answerer
from relatum.runs.answers import Answer, Answers, FactScore, Question, field_names, interval_of
from relatum.runs.column_answers import ColumnQuestions
from relatum.runs.probabilities import answer_probabilities, fact_probabilities
from relatum.runs.shown_values import ANY
from relatum.runs.trained import SECONDS, Trained
from relatum.settings import whole_number

_BEAM = 256


def complete(
    run: Trained,
    question: Question,
    k: int = 10,
    *,
    new_only: bool = False,
    beam: int | None = None,
    seconds: float | None = None,
    coverage: float | None = None,
) -> Answers:
    """Return the answers to a question: the k best that are known, then the k best that are not.

    Where the relation was a table, an entity stands only in a column of its type. With several open positions all facts are
    tried where that takes no more than a minute; beyond, or if `beam` is given, partial facts are extended position by
    position, which may miss some of the best new ones. A position that is free takes the entity that suits an answer best.

    Arguments are as of `Run.complete`.
    """
    k = whole_number("k", k)
    if beam is not None:
        beam = whole_number("beam", beam)
    if coverage is not None:
        require_promise(run, question, coverage)
    if not question.open:
        raise DataError("nothing-open", "at least one position must be open (a ?)", place=question)
    schema = run.schema[question.relation]
    roles = field_names(schema, question.open)
    given, spans = run.entities_of(question), run.shown_values.spans(question)
    has_intervals = any(position in run.shown_values.columns(question.relation) for position in question.open)
    is_stored, limit = question.relation not in run.definitions, None
    if (question.free or not is_stored) and isinstance(run.model, ReAlE) and beam is None:
        found = _by_reasoning(run, question, k, new_only, seconds or SECONDS)
    elif is_stored and len(question.open) == 1 and not question.free and coverage is None and beam is None:
        with one_torch_thread():  # as where many questions are answered: what torch adds up has the same bits
            answerer = Answerer.of(run, question.relation, question.open[0])
            block = answerer.answered(given, k, new_only=new_only, spans=spans)
        rows = block.rows_of(run, question.open)
        listed = [Answer(one.names, score, likely, source, roles, one.intervals) for one, _, score, likely, source in rows]
        return Answers(listed, question, roles, has_intervals=has_intervals)
    else:
        facts, sources = _known_facts(run, question, given)
        known = [] if new_only else _known_answers(run, question, *_exactly(run, question, facts, sources), k)
        new: list[Answer] = []
        if not _is_settled(run, question, facts) and coverage is not None:
            new, limit = _covering(run, question, given, facts, coverage)
        elif not _is_settled(run, question, facts):
            new = _new_answers(run, question, given, facts, k, beam)
        found = known + new
    found = [replace(one, roles=roles) for one in found]
    return Answers(found, question, roles, limit, has_intervals=has_intervals)


def score(run: Trained, question: Question) -> FactScore:
    """Return what the run thinks of a fact."""
    if question.open or question.free:
        raise DataError(
            "gap-in-fact",
            f"a fact to score names an entity for every position of {run.schema[question.relation]}",
            place=question,
        )
    columns, scorer = run.entities_of(question), run.scorer(question.relation)
    scores, sources = _scores(scorer, columns), _known_facts(run, question, columns)[1]
    (one,) = _answers(run, question, scorer, columns, scores, sources)
    known = _exactly(run, question, columns, sources)[1]
    shown = run.shown_values.fact(question.relation, columns[:, 0].tolist(), known=False)
    return FactScore(
        str(question),
        one.score,
        one.probability,
        _percentile(scorer, columns),
        known[0] if known else None,
        None if known else interval_of(shown.intervals).get("interval"),
        None if known else _stored_instead(run, question, columns),
    )


def _stored_instead(run: Trained, question: Question, fact: Ids) -> str | None:
    """Return what is stored in the cells of a fact that is not known, by its keys; None if nothing is."""
    values, name = run.shown_values, question.relation
    spans = values.spans(question)
    alike = [(list(range(len(fact))), fact)] if len(spans) else []  # the same groups with other values
    for key in run.keys_of(name):
        others = [position for position in range(len(fact)) if position not in key]
        given = tuple(None if position in others else one for position, one in enumerate(question.arguments))
        alike.append((others, _known_facts(run, replace(question, arguments=given), fact)[0]))
    found = dict[str, None]()
    for positions, facts in alike:
        for other in facts.T.tolist():
            shown = values.fact(name, other, known=True)
            texts = run.shown(name, shown.names, intervals=shown.intervals, known=shown.is_known)
            column = np.array(other, np.int32)[:, None]
            for at in positions if shown.is_known else ():
                same = other[at] == fact[at, 0] and values.exactly(name, column, {at: spans[at]} if at in spans else {})[0]
                found.update({} if same else {texts[at]: None})
    return "; ".join(found) or None


def _exactly(run: Trained, question: Question, facts: Ids, sources: list[str]) -> tuple[Ids, list[str]]:
    """Return those known facts that are stored with the very numbers and dates of a question, and their parts."""
    spans = run.shown_values.spans(question)
    if not spans:
        return facts, sources
    kept = np.flatnonzero(run.shown_values.exactly(question.relation, facts, spans))
    return facts[:, kept], [sources[one] for one in kept.tolist()]


def _by_reasoning(run: Trained, question: Question, k: int, new_only: bool, seconds: float) -> list[Answer]:
    """Return the best answers by the closed form of what is asked, those that follow from facts first.

    What is free is projected away, so its entity is the best one for each answer.
    """
    kept = [position for position in range(len(question.arguments)) if position not in question.free]
    expression = run.expression(question.relation)
    entities = run.entities_of(question)[:, 0].tolist()
    names = [None if name is None else run.entities[one] for name, one in zip(question.arguments, entities, strict=True)]
    query = Query(expression.project(*kept) if question.free else expression, tuple(names[position] for position in kept))
    mode = "exact" if question.free else "closed"
    found = run.query(query, k, mode, new_only=new_only, seconds=seconds)
    scale = require_reale(run.model).scale
    answers = []
    for one in found:
        score = scale * (one.degree if question.free else one.closed or 0.0)
        if question.relation in run.definitions:
            answers.append(Answer(one.entities, score, one.probability, "derived" if one.known else None))
            continue
        fact = [ANY if at in question.free else entity for at, entity in enumerate(entities)]
        for position, name in zip(question.open, one.entities, strict=True):
            fact[position] = run.entities.id(name)
        spans = run.shown_values.spans(question)
        if one.known and spans and not run.shown_values.exactly(question.relation, np.array(fact)[:, None], spans)[0]:
            continue  # the same groups with other values
        shown = run.shown_values.fact(question.relation, fact, known=one.known, spans=spans).at(question.open)
        source = _source(run, question, one.entities) if one.known else None
        answers.append(Answer(shown.names, score, one.probability, source, (), shown.intervals))
    return answers


def _source(run: Trained, question: Question, entities: tuple[str, ...]) -> str:
    """Return the first split part that holds a fact with these entities at the open positions."""
    filled = list(question.arguments)
    for position, name in zip(question.open, entities, strict=True):
        filled[position] = name
    fact = replace(question, arguments=tuple(filled))
    return min(_known_facts(run, fact, run.entities_of(fact))[1], key=list(run.split.parts).index)


def _known_answers(run: Trained, question: Question, facts: Ids, sources: list[str], k: int) -> list[Answer]:
    """Return the k best of the facts that are known; on ties smaller ids first."""
    if question.free:
        facts, sources = _with_best_free(run, question, facts, sources)
    scorer = run.scorer(question.relation)
    scores = _scores(scorer, facts, question)
    order = np.argsort(-scores, kind="stable")
    order = order[_first_of_each(facts[question.open][:, order])][:k]
    return _answers(run, question, scorer, facts[:, order], scores[order], [sources[one] for one in order])


def _new_answers(run: Trained, question: Question, given: Ids, facts: Ids, k: int, beam: int | None) -> list[Answer]:
    """Return the k best answers that are not among the facts that are known; on ties smaller ids first."""
    searched = sorted({*question.open, *question.free})
    keys, scorer = run.keys_of(question.relation), _scorer_of_new(run, question, facts)
    if beam is None and math.prod(map(scorer.count, searched)) > EXHAUSTIVE_LIMIT:
        beam = _BEAM
    columns = torch.from_numpy(given.astype(np.int64))
    wanted, given_already = k, set(map(tuple, facts[question.open].T.tolist()))
    while True:
        found, scores = best_facts(scorer, columns, searched, wanted, beam)
        best = found.numpy().astype(np.int32)
        if len(searched) > 1 and scorer.evidence is not None:  # by now each has the evidence at one of its positions alone
            scores = torch.from_numpy(_scores(scorer, best))
            order = np.argsort(-scores.numpy(), kind="stable")
            best, scores = best[:, order], scores[torch.from_numpy(order)]
        new = np.array([tuple(fact) not in given_already for fact in best[question.open].T.tolist()], bool)
        if keys:
            new &= ~taken_keys(best, run.table(question.relation).columns, keys)
        order = np.flatnonzero(new)[_first_of_each(best[question.open][:, new])][:k]
        if len(order) == k or best.shape[1] < wanted:  # with free positions several facts give the same answer
            expected = not facts.shape[1]
            answers = _answers(run, question, scorer, best[:, order], scores.numpy()[order], [], expected=expected)
            return sorted(answers, key=lambda one: -(one.probability or 0.0))  # of one question the scores say the same
        wanted *= 4


def _scorer_of_new(run: Trained, question: Question, facts: Ids) -> CandidateScorer:
    """Return what scores new answers to a question, which the facts answer that are known."""
    if run.keys_of(question.relation):
        return run.scorer_of_new_facts(question.relation)
    block = Block(np.full(facts.shape[1], run.schema.id(question.relation), np.int32), facts)
    known = KnownAnswers(Hypergraph(run.entities, run.schema, [block]))  # other facts answer other questions
    return run.scorer(question.relation, known)


def _covering(run: Trained, question: Question, given: Ids, facts: Ids, coverage: float) -> tuple[list[Answer], Limit]:
    """Return the smallest set of new answers that holds the missing one with a probability of `coverage`, and the promise.

    Of questions whose answer is missing by the same accident as validation facts were held out, that many get a set that
    holds it: by how likely answers are, or of a column of a table by what its validation cells hold. There can be none,
    where even the best is too unlikely. `require_promise` says before whether it can be promised.
    """
    (position,) = question.open
    scorer, column = _scorer_of_new(run, question, facts), ColumnQuestions.of(run, question.relation, position)
    kept: list[float] | None = None
    if column is not None:
        limit = limit_of(coverage, column.held_out(HELD_OUT_PARTS["valid"]))
        (best,), (likely,) = column.best(given, scorer.count(position))
        enough = (best >= 0) & (likely >= limit.least)
        entities, kept = best[enough], likely[enough].tolist()
        scores = scorer.answer_scores(position, given, np.zeros(len(entities), np.int64), entities)
    elif (sets := run.answer_sets_by_facts) is None or (calibration := run.answer_calibration) is None:
        raise DataError(
            "coverage-needs-validation", "coverage needs validation facts", place=run.name, remedy="train a run with some"
        )
    else:
        limit = sets.limit(scorer.relation, position, coverage)
        entities, scores, found = conformities(calibration, scorer, position, given)
        size = int(np.count_nonzero(found >= limit.least))  # the first ones: a higher score always conforms better
        entities, scores = entities[:size], scores[:size]
    filled = np.repeat(given, len(entities), axis=1)
    filled[position] = entities
    answers = _answers(run, question, scorer, filled, scores, [])
    if kept is not None:
        answers = [replace(one, probability=likely) for one, likely in zip(answers, kept, strict=True)]
    return answers, limit


def require_promise(run: Trained, question: Question, coverage: float) -> None:
    """Refuse a coverage that cannot be promised for a question, whatever is known about it."""
    require_coverage(coverage)
    if len(question.open) != 1 or question.free:
        raise DataError(
            "coverage-needs-one-gap",
            "coverage needs one open position (a ?), and an entity at every other one",
            place=question,
        )
    if question.relation in run.definitions:
        raise DataError(
            "coverage-not-promised",
            f"coverage is for stored relations; {question.relation} was defined, and no fact of it held out",
            place=question,
        )
    if run.spec.training.refit:
        raise DataError(
            "coverage-needs-validation",
            (
                "coverage needs validation facts that the model has not learned; it was refitted on them, so "
                "train without training.refit"
            ),
            place=run.name,
        )
    if run.answer_calibration is None:
        raise DataError(
            "coverage-needs-one-link",
            "coverage needs answers calibrated on validation facts",
            place=run.name,
            remedy="train a new run, with some",
        )


def _is_settled(run: Trained, question: Question, facts: Ids) -> bool:
    """Return whether the given entities hold a key that a known fact has: then there is no other answer."""
    given = {position for position, name in enumerate(question.arguments) if name is not None}
    return bool(facts.shape[1]) and any(given.issuperset(key) for key in run.keys_of(question.relation))


def _with_best_free(run: Trained, question: Question, facts: Ids, sources: list[str]) -> tuple[Ids, list[str]]:
    """Return one fact for each known answer, with the entities that suit it best at the free positions."""
    free = sorted(question.free)
    nothing = KnownAnswers(Hypergraph(run.entities, run.schema, []))
    scorer, beam = run.scorer(question.relation, nothing), _BEAM if len(free) > 1 else None
    chosen = _first_of_each(facts[question.open])
    found = []
    for number in chosen:
        columns = torch.from_numpy(facts[:, [number]].astype(np.int64))
        best, _ = best_facts(scorer, columns, free, 1, beam)
        found.append(best.numpy().astype(np.int32))
    return np.concatenate([facts[:, :0], *found], axis=1), [sources[number] for number in chosen]


def _first_of_each(columns: Ids) -> Ids:
    """Return where each different tuple, int32[arity, n], stands first, ascending."""
    seen: dict[tuple[int, ...], int] = {}
    for number, one in enumerate(map(tuple, columns.T.tolist())):
        seen.setdefault(one, number)
    return np.fromiter(seen.values(), np.int32, len(seen))


def _answers(
    run: Trained,
    question: Question,
    scorer: CandidateScorer,
    facts: Ids,
    scores: Float32,
    sources: Sequence[str | None],
    *,
    expected: bool = False,
) -> list[Answer]:
    """Return facts, int32[arity, n], as answers with their probabilities; without sources they are new.

    `expected` says that the question has no known answer: it is taken to have one.
    """
    count = len(scores)
    found = None
    if count and len(question.open) == 1 and not question.free:
        found = answer_probabilities(run, scorer, question.open[0], facts, scores)
    elif count:
        found = fact_probabilities(run, scorer, facts, scores, expected=expected)
    chances = [None] * count if found is None else found.tolist()
    known, spans = bool(sources), run.shown_values.spans(question)
    shown = (run.shown_values.fact(question.relation, fact, known=known, spans=spans) for fact in facts.T.tolist())
    rows = zip(shown, scores.tolist(), chances, sources or [None] * count, strict=True)
    return [
        Answer((at := one.at(question.open)).names, score, chance, source, (), at.intervals)
        for one, score, chance, source in rows
    ]


def _known_facts(run: Trained, question: Question, given: Ids) -> tuple[Ids, list[str]]:
    """Return the known facts that agree with what is given, int32[arity, n], sorted, and the part that holds each."""
    if question.relation in run.definitions:
        parts = {"derived": run.table(question.relation)}
    else:
        parts = {part: graph.table(question.relation) for part, graph in run.split.parts.items()}
    found = []
    for table in parts.values():
        columns = table.columns
        for position, name in enumerate(question.arguments):
            if name is not None:
                columns = columns[:, columns[position] == given[position, 0]]
        found.append(columns)
    columns, part = np.concatenate(found, axis=1), np.repeat(np.arange(len(found)), [one.shape[1] for one in found])
    order = np.lexsort((part, *columns[::-1]))  # a fact that several parts hold is taken from the first
    order = order[differs_from_previous([column[order] for column in columns])]
    names = list(parts)
    return columns[:, order], [names[one] for one in part[order]]


def _scores(scorer: CandidateScorer, facts: Ids, question: Question | None = None) -> Float32:
    """Return the scores of facts, int32[arity, n]: as answers to a question, or, as whole facts, the mean of those."""
    open_ones = [] if question is None else question.open
    positions = open_ones if len(open_ones) == 1 else range(len(facts))
    found: Float32 = np.mean([scorer.scores(position, facts) for position in positions], axis=0, dtype=np.float32)
    return found


def _percentile(scorer: CandidateScorer, fact: Ids) -> float:
    """Return the share of a fact's alternatives that it beats, in percent."""
    below = alternatives = 0.0
    for position in range(len(fact)):
        better, equal, others = (int(counts[0]) for counts in scorer.count_better(position, fact))
        alternatives += others
        below += others - better - equal / 2
    return 100 * below / alternatives if alternatives else 100.0
