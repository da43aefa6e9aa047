"""Facts with gaps that a run fills, from what is known and from what it believes; and what it thinks of whole facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from relatum.arrays import Float32
from relatum.data.hypergraph import Block, Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids
from relatum.errors import DataError, whole_number
from relatum.inference import scoring
from relatum.inference.candidates import CandidateScorer
from relatum.inference.completion import EXHAUSTIVE_LIMIT, best_facts
from relatum.runs.answers import Answer, FactScore, Question, parse_question
from relatum.runs.names import allowed_entities, given_entities

if TYPE_CHECKING:
    from relatum.runs.trained import Run

__all__ = ["complete", "score"]

_BEAM = 256


def complete(
    run: Run, question: str | Question, k: int = 10, *, new_only: bool = False, beam: int | None = None
) -> list[Answer]:
    """Return what `Run.complete` does."""
    k = whole_number("k", k)
    if beam is not None:
        beam = whole_number("beam", beam)
    asked = _parsed(run, question)
    if not asked.open:
        raise DataError(f"{asked}: at least one position must be open (a ?)")
    given = given_entities(run, asked)
    facts, sources = _known_facts(run, asked, given)
    known = [] if new_only else _known_answers(run, asked, facts, sources, k)
    return known + _new_answers(run, asked, given, facts, k, beam)


def score(run: Run, fact: str | Question) -> FactScore:
    """Return what `Run.score` does."""
    asked = _parsed(run, fact)
    if asked.open:
        raise DataError(f"{asked}: a fact to score has no open position")
    columns = given_entities(run, asked)
    (answer,) = _answers(run, asked, columns, _scores(run, asked.relation, columns), _known_facts(run, asked, columns)[1])
    return FactScore(answer.score, answer.probability, _percentile(run, asked.relation, columns), answer.source)


def _known_answers(run: Run, asked: Question, facts: Ids, sources: list[str], k: int) -> list[Answer]:
    """Return the k best of the facts that are known; on ties smaller ids first."""
    scores = _scores(run, asked.relation, facts)
    order = np.argsort(-scores, kind="stable")[:k]
    return _answers(run, asked, facts[:, order], scores[order], [sources[one] for one in order])


def _new_answers(run: Run, asked: Question, given: Ids, facts: Ids, k: int, beam: int | None) -> list[Answer]:
    """Return the k best answers that are not among the facts that are known; on ties smaller ids first."""
    (model, tables), relation = run.asked, run.schema.id(asked.relation)
    allowed = allowed_entities(run, asked.relation)
    sizes = (model.entity_count if ids is None else len(ids) for ids in (allowed[position] for position in asked.open))
    if beam is None and math.prod(sizes) > EXHAUSTIVE_LIMIT:
        beam = _BEAM
    block = Block(np.full(facts.shape[1], relation, np.int32), facts)
    known = KnownAnswers(Hypergraph(run.model.graph.entities, run.schema, [block]))  # other facts answer other questions
    columns = torch.from_numpy(given.astype(np.int64))
    found, scores = best_facts(model, tables, relation, columns, asked.open, k, known, beam, allowed)
    return _answers(run, asked, found.numpy().astype(np.int32), scores.numpy(), [])


def _answers(run: Run, asked: Question, facts: Ids, scores: Float32, sources: Sequence[str | None]) -> list[Answer]:
    """Return facts, int32[arity, n], as answers with their probabilities; without sources they are new."""
    count, names = len(scores), run.model.graph.entities
    found = None
    if count:
        found = run.probabilities(asked.relation, torch.from_numpy(facts.astype(np.int64)), scores.astype(np.float64))
    chances = [None] * count if found is None else found.tolist()
    entities = [tuple(names[one] for one in fact) for fact in facts[asked.open].T.tolist()]
    rows = zip(entities, scores.tolist(), chances, sources or [None] * count, strict=True)
    return [Answer(*row) for row in rows]


def _known_facts(run: Run, asked: Question, given: Ids) -> tuple[Ids, list[str]]:
    """Return the known facts that agree with what is given, int32[arity, n], sorted, and the part that holds each."""
    if asked.relation in run.definitions:
        parts = {"derived": run.table(asked.relation)}
    else:
        parts = {part: graph.table(asked.relation) for part, graph in run.split.parts.items()}
    found = []
    for table in parts.values():
        columns = table.columns
        for position, name in enumerate(asked.arguments):
            if name is not None:
                columns = columns[:, columns[position] == given[position, 0]]
        found.append(columns)
    columns, part = np.concatenate(found, axis=1), np.repeat(np.arange(len(found)), [one.shape[1] for one in found])
    order = np.lexsort((part, *columns[::-1]))  # a fact that several parts hold is taken from the first
    order = order[differs_from_previous([column[order] for column in columns])]
    names = list(parts)
    return columns[:, order], [names[one] for one in part[order]]


def _scores(run: Run, relation: str, facts: Ids) -> Float32:
    """Return the scores of facts, int32[arity, n]."""
    model, tables = run.asked
    columns = torch.from_numpy(facts.astype(np.int64))
    found: Float32 = scoring.score(model, tables, torch.full((facts.shape[1],), run.schema.id(relation)), columns).numpy()
    return found


def _percentile(run: Run, relation: str, fact: Ids) -> float:
    """Return the share of a fact's alternatives that it beats, in percent."""
    scorer = CandidateScorer(*run.asked, run.schema.id(relation), run.known_of(relation), allowed_entities(run, relation))
    below = alternatives = 0.0
    for position in range(len(fact)):
        better, equal, others = (int(counts[0]) for counts in scorer.count_better(position, fact))
        alternatives += others
        below += others - better - equal / 2
    return 100 * below / alternatives if alternatives else 100.0


def _parsed(run: Run, question: str | Question) -> Question:
    return parse_question(question, run.schema) if isinstance(question, str) else question
