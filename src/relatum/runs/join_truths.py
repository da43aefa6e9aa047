"""What a run knows and believes about facts, as joins need it: known facts, and probabilities of answers to questions."""

from __future__ import annotations

import copy
import itertools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch

from relatum.algebra import Relation
from relatum.arrays import Bool, Float32, Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.keyed_answers import SettledQuestions, taken_keys
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.fitting import sigmoid
from relatum.inference.answer_sample import RIVALS, Rivals
from relatum.inference.scoring import CandidateScorer, score
from relatum.joins.truths import BestFacts, Ranked
from relatum.memory import budget
from relatum.models.ops import one_torch_thread
from relatum.models.reale import ReAlE
from relatum.reasoning.query import Query
from relatum.reasoning.reasoner import Reasoner
from relatum.runs.column_answers import ColumnTruths
from relatum.runs.trained import Trained
from relatum.time_limit import Deadline

CAP = 0.99  # that a predicted fact counts at most
FLOOR = 0.001  # below which it counts nothing
_REMEMBERED = 1 << 14  # questions whose best candidates are remembered, within a kilobyte each


class RunTruths:
    """What a run knows and believes.

    The facts `given` are those that count as known, by default all that the run was given. Facts outside are then held
    out, and probabilities are those that an answer is true which is not among the training facts. A predicted fact
    counts `cap` at most, and nothing if its probability is below `floor`; what rests on such a one is no answer.
    """

    def __init__(self, run: Trained, given: Hypergraph | None = None, cap: float = CAP, floor: float = FLOOR) -> None:
        calibration = run.answer_calibration
        if calibration is None:
            raise DataError(
                "no-probabilities",
                "there are no probabilities to join, since there were no valid facts to fit them on",
                place=run.name,
                remedy="train with a part of the facts held out",
            )
        self._run, self._calibration, self._given = run, calibration, given
        self._cap, self._floor = cap, floor
        self._facts = run.stored if given is None else given
        self._known = run.known if given is None else KnownAnswers(given)
        self._scorers: OrderedDict[tuple[str, int], CandidateScorer] = OrderedDict()
        self._side = run.tables["entities"].nbytes  # about what a candidate side takes
        self._columns: dict[str, ColumnTruths | None] = {}
        self._settled: dict[tuple[str, int], SettledQuestions | None] = {}
        self._rivals: OrderedDict[tuple[str, int, bytes], tuple[Float64, Ids, int]] = OrderedDict()
        self._lock = threading.Lock()  # several threads may ask at once
        self._known_count = True

    def without_known(self) -> RunTruths:
        """Return the same with what is predicted alone: a known fact counts nothing. What was looked up is shared."""
        found = copy.copy(self)
        found._known_count = False
        return found

    @property
    def size(self) -> int:
        """How many entities there are."""
        return len(self._run.entities)

    def entity(self, name: str) -> int:
        """Return the number of an entity."""
        return self._run.entities.id(name)

    @one_torch_thread()  # so little work at once that waking others takes longer
    def best(self, relation: str, position: int, questions: Ids, k: int) -> Ranked:
        """Return the best answers to questions, known ones first; at least k where there are so many."""
        number, count = self._run.schema.id(relation), questions.shape[1]
        lists = self._known.lookup(np.full(count, number, np.int32), questions, position)
        found, likely, rest = self._new(relation, position, questions, max(k, RIVALS))
        if not self._known_count:
            return Ranked(found, likely, rest)
        known = np.minimum(lists.counts, k)
        width = int(known.max(initial=0))
        entities, values = np.full((count, width + found.shape[1]), -1, np.int32), np.zeros((count, width + found.shape[1]))
        for one in range(count):
            many = int(known[one])
            entities[one, :many], values[one, :many] = lists[one][:many], 1.0
            entities[one, many : many + found.shape[1]], values[one, many : many + found.shape[1]] = found[one], likely[one]
        return Ranked(entities, values, np.where(lists.counts > k, 1.0, rest))

    def _new(self, relation: str, position: int, questions: Ids, k: int) -> tuple[Ids, Float64, Float64]:
        """Return the best answers that are not known, their values, and what others are at most."""
        scorer, number = self._scorer(relation, position), self._run.schema.id(relation)
        if (column := self.column(relation)) is not None:
            found, likely, most = column.best(position, questions, k)
            return found, self._counted(likely), most
        entities, scores = scorer.top(position, questions, k)
        lists = scorer.answers(position, questions)
        rivals = Rivals(scores[:, :RIVALS].astype(np.float64), entities[:, :RIVALS], lists.counts)
        self._remember(relation, position, questions, rivals)
        among = np.zeros(entities.shape, np.bool_)
        among[:, :RIVALS] = True
        values = self._likely(number, position, scores, rivals, among)
        open_ = ~self._is_settled(relation, position, questions)[:, None] & (entities >= 0)
        values = np.where(open_, values, 0.0)
        rest = np.where(entities[:, -1] >= 0, values[:, -1], 0.0) if k < scorer.count(position) else np.zeros(len(values))
        return np.where(open_, entities, -1), values, rest

    @one_torch_thread()
    def values(self, relation: str, position: int, facts: Ids) -> Float64:
        """Return the values of facts as answers at a position."""
        known = self.known(relation, facts)
        found = (known & self._known_count).astype(np.float64)
        others = np.flatnonzero(~known & self._is_allowed(relation, facts))
        if not len(others):
            return found
        columns = facts[:, others]
        if (column := self.column(relation)) is not None:
            found[others] = self._counted(column.values(columns))
            return found
        opened = columns.copy()
        opened[position] = 0
        questions, which = np.unique(opened, axis=1, return_inverse=True)
        which = which.ravel()
        rivals = self._rivals_of(relation, position, questions)
        scorer = self._scorer(relation, position)
        scores = scorer.answer_scores(position, questions, which, columns[position])
        own = Rivals(rivals.scores[which], rivals.entities[which], rivals.known[which])
        among = (own.entities == columns[position][:, None]).any(1)
        values = self._likely(self._run.schema.id(relation), position, scores, own, among)
        open_ = ~self._is_settled(relation, position, questions)[which] & ~self._is_taken(relation, columns)
        found[others] = np.where(open_, values, 0.0)
        return found

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> BestFacts:
        """Return the best facts that hold given entities, known ones first; by what the model says alone."""
        facts = self._facts.table(relation).columns
        facts = facts if self._known_count else facts[:, :0]
        for column, entity in enumerate(given):
            if entity is not None:
                facts = facts[:, facts[column] == entity]
        if (cells := self.column(relation)) is not None:
            new, likely = cells.all()
            likely = self._counted(likely)
            there = likely > 0
            for column, entity in enumerate(given):
                there &= (new[column] == entity) | (entity is None)
            columns, values = (
                np.concatenate([facts, new[:, there]], axis=1),
                np.append(np.ones(facts.shape[1]), likely[there]),
            )
            return BestFacts(columns, values, 0.0)
        if facts.shape[1] >= k:
            return BestFacts(facts, np.ones(facts.shape[1]), self._cap)
        if isinstance(self._run.model, ReAlE):
            new, proven = self._reasoned_facts(relation, given, k, limit)
        else:
            table = self._facts.table(relation).columns
            new, proven = tried_facts(self._run, self._known, table, relation, given, k, limit)
        values = self.fact_values(relation, new)
        order = np.argsort(-values, kind="stable")
        rest = self._cap if not proven else float(values.min()) if len(values) >= k else 0.0
        return BestFacts(
            np.concatenate([facts, new[:, order]], axis=1), np.append(np.ones(facts.shape[1]), values[order]), rest
        )

    def _reasoned_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> tuple[Ids, bool]:
        """Return the best facts that are not known, int32[arity, found], and whether they surely are; by bounds of ReAlE."""
        names = self._run.entities
        arguments = tuple(None if entity is None else names[entity] for entity in given)
        query = Query(Relation(self._run.model.schema[relation]), arguments)
        found = self._reasoner.answer(query, k, "exact", new_only=True, limit=limit)
        new = np.zeros((len(given), len(found)), np.int32)
        for column, entity in enumerate(given):
            new[column] = 0 if entity is None else entity
        for number, one in enumerate(found):
            new[query.open, number] = [names.id(name) for name in one.entities]
        return new, found.proven

    def fact_values(self, relation: str, facts: Ids) -> Float64:
        """Return the values of facts that answer no question: known or, of what is no cell by the model alone, likely.

        A probability of the calibration assumes that facts are as common as others; there are as many others as candidates.
        """
        number, known = self._run.model.schema.id(relation), self.known(relation, facts)
        if (cells := self.column(relation)) is not None:  # how likely it is does not depend on what is asked
            return np.where(known, float(self._known_count), self._counted(cells.values(facts)))
        if self._run.calibration is None or not facts.shape[1]:
            return (known & self._known_count).astype(np.float64)
        scores = score(
            self._run.model,
            self._run.tables,
            torch.full((facts.shape[1],), number),
            torch.from_numpy(facts.astype(np.int64)),
        )
        logits = self._run.calibration.calibrated_logit(number, scores.numpy(force=True).astype(np.float64))
        scorer = self._scorer(relation, 0)
        candidates = max(scorer.count(position) for position in range(len(facts)))
        likely = self._counted(sigmoid(logits - np.log(max(1, candidates))))
        open_ = self._is_allowed(relation, facts) & ~self._is_taken(relation, facts)
        return np.where(known, float(self._known_count), np.where(open_, likely, 0.0))

    @cached_property
    def _reasoner(self) -> Reasoner:
        run = self._run
        return Reasoner(run.model, run.tables, run.calibration, self._facts, run.split.column_types)

    def known(self, relation: str, facts: Ids) -> Bool:
        """Return which facts are known."""
        numbers = np.full(facts.shape[1], self._run.schema.id(relation), np.int32)
        return self._known.lookup(numbers, facts, 0).contain(facts[0])

    def _likely(self, relation: int, position: int, scores: Float32, rivals: Rivals, among: Bool) -> Float64:
        """Return what answers count that are not known."""
        judged = self._calibration.new if self._given is None else self._calibration.truth
        return self._counted(judged(relation, position, scores.astype(np.float64), rivals, among))

    def _counted(self, likely: Float64) -> Float64:
        """Return what predicted facts count that are so likely."""
        return np.where(likely < self._floor, 0.0, np.minimum(likely, self._cap))

    def _scorer(self, relation: str, position: int) -> CandidateScorer:
        """Return what scores candidates at a position; as many are kept as fit in memory, with their candidate sides."""
        key = relation, position
        with self._lock:
            found = self._scorers.get(key)
            if found is None:
                keyed = bool(self._run.keys_of(relation))
                found = self._scorers[key] = (
                    self._run.scorer_of_new_facts(relation, self._given)
                    if keyed
                    else self._run.scorer(relation, self._known)
                )
            self._scorers.move_to_end(key)
            while len(self._scorers) > max(2, budget() // self._side):
                self._scorers.popitem(last=False)
        return found

    def column(self, relation: str) -> ColumnTruths | None:
        """Return what fills the cells of a relation that is a column of a table; with facts held out nothing does."""
        if relation not in self._columns:
            rows = self._scorer(relation, 0).entities(0)
            fill = lambda: ColumnTruths.of(self._run, relation, rows)  # noqa: E731
            self._columns[relation] = None if self._given is not None else self._run.remembered(f"cells of {relation}", fill)
        return self._columns[relation]

    def _is_settled(self, relation: str, position: int, questions: Ids) -> Bool:
        """Return which questions have no answer but the known ones, by a key."""
        if (relation, position) not in self._settled:
            keys = self._run.keys_of(relation)
            known = self._facts.table(relation).columns
            self._settled[relation, position] = SettledQuestions(known, keys, position, self.size) if keys else None
        settled = self._settled[relation, position]
        return np.zeros(questions.shape[1], np.bool_) if settled is None else settled.among(questions)

    def _is_taken(self, relation: str, facts: Ids) -> Bool:
        keys = self._run.keys_of(relation)
        if not keys:
            return np.zeros(facts.shape[1], np.bool_)
        return taken_keys(facts, self._facts.table(relation).columns, keys)

    def _is_allowed(self, relation: str, facts: Ids) -> Bool:
        found = np.ones(facts.shape[1], np.bool_)
        for allowed, column in zip(self._run.allowed_entities(relation), facts, strict=True):
            if allowed is not None:
                found &= np.isin(column, allowed)
        return found

    def _remember(self, relation: str, position: int, questions: Ids, rivals: Rivals) -> None:
        with self._lock:
            for number, key in enumerate(_keys(relation, position, questions)):
                # Copied, since a view would keep all that was found beside it.
                scores, entities = rivals.scores[number].copy(), rivals.entities[number].copy()
                self._rivals[key] = scores, entities, int(rivals.known[number])
            while len(self._rivals) > max(_REMEMBERED, questions.shape[1]):
                self._rivals.popitem(last=False)

    def _rivals_of(self, relation: str, position: int, questions: Ids) -> Rivals:
        """Return the best candidates of questions, of which many were asked before."""
        keys = _keys(relation, position, questions)
        remembered = [self._rivals.get(key) for key in keys]
        # More than once only where another thread has put so many others in that these are forgotten by now.
        while missing := [number for number, one in enumerate(remembered) if one is None]:
            self._new(relation, position, questions[:, missing], RIVALS)
            for number in missing:
                remembered[number] = self._rivals.get(keys[number])
        found = [one for one in remembered if one is not None]
        return Rivals(
            np.stack([scores for scores, _, _ in found]),
            np.stack([entities for _, entities, _ in found]),
            np.array([known for _, _, known in found], np.int64),
        )


def _keys(relation: str, position: int, questions: Ids) -> list[tuple[str, int, bytes]]:
    """Return what tells questions apart: all but the open position."""
    others = np.delete(questions, position, axis=0).T
    return [(relation, position, row.tobytes()) for row in np.ascontiguousarray(others)]


_QUESTIONS = 256  # at once


def tried_facts(
    run: Trained, known: KnownAnswers, facts: Ids, relation: str, given: Sequence[int | None], k: int, limit: Deadline
) -> tuple[Ids, bool]:
    """Return the k best facts that are not known, int32[arity, found], and whether all were tried; by the model alone.

    `facts` are those of the relation; `given` names an entity for each position, or None where it is open.
    """
    scorer = CandidateScorer(run.model, run.tables, run.schema.id(relation), known, run.allowed_entities(relation))
    *first, last = (position for position, entity in enumerate(given) if entity is None)
    question = np.array([[0 if entity is None else entity] for entity in given], np.int32)
    best, scores = question[:, :0], np.empty(0, np.float32)
    fillings = itertools.product(*(_likely_first(scorer.entities(position), facts[position]) for position in first))
    most = max(1, min(k, scorer.count(last)))
    while part := list(itertools.islice(fillings, _QUESTIONS)):
        if limit.reached():
            return best, False
        questions = np.repeat(question, len(part), axis=1)
        questions[first] = np.array(part, np.int32).reshape(len(part), len(first)).T
        entities, more = scorer.top(last, questions, most)
        filled = np.repeat(questions, most, axis=1)
        filled[last] = entities.ravel()
        there = filled[last] >= 0
        best, scores = np.concatenate([best, filled[:, there]], axis=1), np.append(scores, more.ravel()[there])
        order = np.argsort(-scores, kind="stable")[:k]
        best, scores = best[:, order], scores[order]
    return best, True


def _likely_first(entities: Ids, known: Ids) -> list[int]:
    """Return entities, those that stand in known facts first."""
    return [*entities[np.isin(entities, known)].tolist(), *entities[~np.isin(entities, known)].tolist()]
