"""The training facts as rules read them: by any of their positions, each index made when it is first wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from relatum.arrays import Int64
from relatum.data.answer_index import AnswerIndex, AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.evidence.soft_rule import SoftRule

__all__ = ["FactStore", "other_answers"]


@dataclass(eq=False)
class FactStore:
    """The distinct facts of a hypergraph by relation, and what stands at a position where others hold given entities."""

    graph: Hypergraph
    columns: list[Ids] = field(init=False)
    _indexes: dict[tuple[int, int, tuple[int, ...]], AnswerIndex] = field(default_factory=dict)

    def __post_init__(self) -> None:
        distinct = self.graph.distinct()
        self.columns = [distinct.table(relation.name).columns for relation in self.graph.schema]

    def lookup(self, relation: int, answer: int, positions: Sequence[int], key: Sequence[Ids]) -> AnswerLists:
        """Return what stands at `answer` of the facts that hold a key at some positions, as often as facts have it."""
        which = (relation, answer, tuple(positions))
        if which not in self._indexes:
            columns, size = self.columns[relation], len(self.graph.entities)
            self._indexes[which] = AnswerIndex(
                [columns[one] for one in positions], [size] * len(positions), columns[answer], size
            )
        return self._indexes[which].lookup(key)

    def found(self, rule: SoftRule, questions: Ids) -> AnswerLists:
        """Return what a rule finds for questions, int32[arity, n]; what stands at their open position is not looked at.

        An entity that no fact has, whatever its id, finds nothing.
        """
        given, read = zip(*rule.given, strict=True)
        key = questions[list(given)]
        there = np.all((key >= 0) & (key < len(self.graph.entities)), axis=0)
        lists = self.lookup(rule.body, rule.answer, read, list(np.where(there, key, 0).astype(np.int32)))
        return AnswerLists(lists.pool, lists.starts, np.where(there, lists.counts, 0))


def other_answers(
    known: KnownAnswers | None, relation: int, position: int, facts: Ids, num_entities: int
) -> tuple[Int64, Int64]:
    """Return the answers of facts with one position open, and the other known answers to these questions, ascending both.

    Each is a number, question * num_entities + entity: so are candidates compared that belong to different questions.
    """
    count = facts.shape[1]
    right = np.arange(count) * num_entities + facts[position]
    if known is None:
        return right, np.empty(0, np.int64)
    rows, ids = known.lookup(np.full(count, relation, np.int32), facts, position).pairs()
    return right, np.setdiff1d(rows * num_entities + ids, right)
