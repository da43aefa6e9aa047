"""What answers questions about one open position of a relation, one question or many at once, known answers and new ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from relatum.arrays import Float32, Float64, Int64
from relatum.data.answer_index import AnswerLists
from relatum.data.hypergraph import Block, Hypergraph
from relatum.data.keyed_answers import SettledQuestions
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.inference.answer_sample import RIVALS, Rivals, rivals_of
from relatum.inference.scoring import CandidateScorer
from relatum.runs.column_answers import ColumnQuestions
from relatum.runs.probabilities import block_probabilities
from relatum.runs.shown_values import NO_SPANS, ShownFact, Spans
from relatum.runs.trained import Trained


class AnswerBlock(NamedTuple):
    """Answers to the questions of a block, question by question, the known ones first, and of each sort the best first."""

    questions: int  # how many questions were answered, some of them perhaps by nothing
    rows: Int64  # which question each of the answers is to, ascending
    facts: Ids  # int32[arity, n], the answers with the entities of their questions
    ranks: Int64  # of each answer among those to its question, from 1; known ones and new ones are counted apart
    scores: Float32
    probabilities: Float64 | None  # theirs, or None where there were no facts to calibrate with
    sources: Int64  # the split part that holds each already, by its number; -1 for those that are new
    relation: str = ""
    spans: Spans = NO_SPANS  # the values that the questions have, where numbers and dates are taken in groups

    def shown(self, run: Trained) -> Iterator[ShownFact]:
        """Yield the facts that the answers make, with the values that are stored or predicted."""
        for fact, source in zip(self.facts.T.tolist(), self.sources.tolist(), strict=True):
            yield run.shown_values.fact(self.relation, fact, known=source >= 0, spans=self.spans)

    def rows_of(
        self, run: Trained, positions: Sequence[int]
    ) -> Iterator[tuple[ShownFact, int, float, float | None, str | None]]:
        """Yield of each answer what is at some positions, its rank, score and probability, and the part that holds it."""
        parts = [*run.split.parts, None]
        likely = [None] * len(self.ranks) if self.probabilities is None else self.probabilities.tolist()
        sources = (parts[one] for one in self.sources.tolist())
        facts = (fact.at(positions) for fact in self.shown(run))
        yield from zip(facts, self.ranks.tolist(), self.scores.tolist(), likely, sources, strict=True)

    @classmethod
    def empty(cls, arity: int) -> AnswerBlock:
        """Return a block of no answers to no questions."""
        none = np.empty(0, np.int64)
        return cls(0, none, np.empty((arity, 0), np.int32), none, np.empty(0, np.float32), None, none)


class Answerer:
    """What answers questions about a relation at one open position: known answers as they are, new ones as keys let them."""

    def __init__(self, run: Trained, relation: str, position: int) -> None:
        self._run, self._position, self._relation = run, position, relation
        self.scorer = run.scorer(relation)
        self._new = run.scorer_of_new_facts(relation) if run.keys_of(relation) else self.scorer
        self._settled = SettledQuestions(run.table(relation).columns, run.keys_of(relation), position, len(run.entities))
        self._column = ColumnQuestions.of(run, relation, position)
        self._parts = run.remembered(f"known parts of {relation}", lambda: _known_parts(run, relation))

    @classmethod
    def of(cls, run: Trained, relation: str, position: int) -> Answerer:
        """Return what answers questions about a position of a relation, which a run keeps."""
        return run.remembered(f"answerer of {relation} at {position}", lambda: cls(run, relation, position))

    def width(self, k: int) -> int:
        """Return how many candidates of a question are looked at, for k answers."""
        return min(max(k, RIVALS), max(self.scorer.count(self._position), RIVALS))

    def answered(self, questions: Ids, k: int, *, new_only: bool = False, spans: Spans = NO_SPANS) -> AnswerBlock:
        """Return the k best known answers, unless these are not wanted, and the k best new ones, to questions.

        `spans` are the values that all of the questions have, which a known answer must be stored with.
        """
        position = self._position
        sides = self._sides(questions, k, spans, new_only=new_only)
        self.scorer.forget()  # what is kept of a position is its packed side, as far as there is memory
        self._new.forget()
        rows, ranks, answers, found = (np.concatenate([getattr(one, name) for one in sides]) for name in _Ranked._fields[:4])
        judged = [one.probabilities for one in sides if one.probabilities is not None]
        likely = np.concatenate(judged) if len(judged) == len(sides) else None
        sources = np.full(len(rows), -1, np.int64)
        facts = questions[:, rows]
        facts[position] = answers
        if not new_only:
            among = slice(None, len(sides[0].rows))
            sources[among] = _sources(self.scorer.relation, self._parts, position, facts[:, among])
        order = np.argsort(rows, kind="stable")  # what is known stays before what is new
        return AnswerBlock(
            questions.shape[1],
            rows[order],
            facts[:, order],
            ranks[order],
            found[order],
            None if likely is None else likely[order],
            sources[order],
            self._relation,
            spans,
        )

    def _sides(self, questions: Ids, k: int, spans: Spans, *, new_only: bool) -> list[_Ranked]:
        """Return the known answers to questions, unless only new ones are wanted, and the new ones."""
        run, position = self._run, self._position
        opened = np.flatnonzero(~self._settled.among(questions))
        rivals = None
        if self._column is not None:
            new = self._of_column(questions[:, opened], self._column, k)
        else:
            entities, scores = self._new.top(position, questions[:, opened], self.width(k))
            best, counts = slice(None, RIVALS), self._new.answers(position, questions[:, opened]).counts
            rivals = Rivals(scores[:, best].astype(np.float64), entities[:, best], counts)
            new = _ranked(run, self._new, position, rivals, entities[:, :k], scores[:, :k], known=False)
        new = new._replace(rows=opened[new.rows])
        if new_only:
            return [new]
        if rivals is None or self._new is not self.scorer:
            rivals = rivals_of(self.scorer, position, questions)
        known = self.scorer.answers(position, questions)
        if spans:
            known = self._exactly(questions, known, spans)
        held = _best_known(self.scorer, position, questions, known, k)
        return [_ranked(run, self.scorer, position, rivals, *held, known=True), new]

    def _exactly(self, questions: Ids, known: AnswerLists, spans: Spans) -> AnswerLists:
        """Return those of the known answers whose facts are stored with the values that the questions have."""
        rows, entities = known.pairs()
        facts = questions[:, rows]
        facts[self._position] = entities
        kept = self._run.shown_values.exactly(self._relation, facts, spans)
        counts = np.bincount(rows[kept], minlength=len(known))
        return AnswerLists(entities[kept], np.cumsum(counts) - counts, counts)

    def _of_column(self, questions: Ids, column: ColumnQuestions, k: int) -> _Ranked:
        """Return the most probable values of a column of a table, by the probabilities that cells are filled with."""
        entities, likely = column.best(questions, k)
        rows, columns = np.nonzero(entities >= 0)
        scores = self.scorer.answer_scores(self._position, questions, rows, entities[rows, columns])
        return _Ranked(rows, columns + 1, entities[rows, columns], scores, likely[rows, columns])


class _Ranked(NamedTuple):
    """Answers to questions: which question, their ranks, the entities, their scores and probabilities."""

    rows: Int64
    ranks: Int64
    entities: Ids
    scores: Float32
    probabilities: Float64 | None


def _ranked(
    run: Trained, scorer: CandidateScorer, position: int, rivals: Rivals, entities: Ids, scores: Float32, *, known: bool
) -> _Ranked:
    """Return answers, [n, m] with -1 for none and best first; new ones by probability, as `complete` has them."""
    likely = block_probabilities(run, scorer, position, rivals, entities, scores, known=known)
    if likely is not None and not known:
        order = np.argsort(np.where(entities < 0, np.inf, -likely), axis=1, kind="stable")
        entities, scores = np.take_along_axis(entities, order, 1), np.take_along_axis(scores, order, 1)
        likely = np.take_along_axis(likely, order, 1)
    rows, columns = np.nonzero(entities >= 0)
    there = rows, columns
    return _Ranked(rows, columns + 1, entities[there], scores[there], None if likely is None else likely[there])


def _best_known(scorer: CandidateScorer, position: int, questions: Ids, known: AnswerLists, k: int) -> tuple[Ids, Float32]:
    """Return the k best known answers to each question and their scores, [n, at most k]; -1 and minus infinity for none."""
    rows, entities = known.pairs()
    scores = scorer.answer_scores(position, questions, rows, entities)
    order = np.lexsort((entities, -scores, rows))
    ranks = np.arange(len(rows)) - (np.cumsum(known.counts) - known.counts)[rows]  # rows ascend before and after
    kept = ranks < k
    shape = questions.shape[1], min(k, int(known.counts.max(initial=0)))
    best, found = np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32)
    where = rows[kept], ranks[kept]
    best[where], found[where] = entities[order[kept]], scores[order[kept]]
    return best, found


def _sources(relation: int, parts: Sequence[KnownAnswers], position: int, facts: Ids) -> Int64:
    """Return the number of the first part that holds each of these facts, int32[arity, n]."""
    found, relations = np.full(facts.shape[1], -1, np.int64), np.full(facts.shape[1], relation, np.int32)
    for number, part in reversed(list(enumerate(parts))):
        found[part.lookup(relations, facts, position).contain(facts[position])] = number
    return found


def _known_parts(run: Trained, relation: str) -> list[KnownAnswers]:
    """Return what each split part knows of a relation."""
    found = []
    for graph in run.split.parts.values():
        columns = graph.table(relation).columns
        block = Block(np.full(columns.shape[1], run.schema.id(relation), np.int32), columns)
        found.append(KnownAnswers(Hypergraph(run.entities, run.model.schema, [block])))
    return found
