"""What is already known: for a fact with one position left open, every entity that completes it."""

from __future__ import annotations

import numpy as np

from relatum.data.answer_index import AnswerIndex, AnswerLists
from relatum.data.hypergraph import Block, Hypergraph, check_ids
from relatum.data.vocabulary import Ids

_PIECE = 1 << 16  # facts that are looked up at once


class KnownAnswers:
    """All answers that the given hypergraphs know, looked up for many questions at once; built by sorting."""

    def __init__(self, *graphs: Hypergraph) -> None:
        self._bounds = (len(graphs[0].schema), len(graphs[0].entities))
        self._indexes: dict[int, list[AnswerIndex]] = {}
        for arity, facts in Hypergraph.union(graphs).distinct().blocks.items():
            self._indexes[arity] = [_index_of(facts, position, *self._bounds) for position in range(arity)]

    @classmethod
    def about(cls, facts: Hypergraph, *graphs: Hypergraph) -> KnownAnswers:
        """Return the answers to the questions that some facts ask, each with a position left open, and to no others.

        They are those that all of the given hypergraphs know, found without an index of all facts.
        """
        questions = cls(facts)
        return cls(*(questions._answering(graph) for graph in graphs))

    def _answering(self, graph: Hypergraph) -> Hypergraph:
        """Return the facts that answer any question to which there is an answer here."""
        kept = []
        for arity, block in graph.blocks.items():
            if arity in self._indexes:
                answers = np.zeros(len(block), np.bool_)
                for start in range(0, len(block), _PIECE):
                    relations, columns = block.relations[start : start + _PIECE], block.columns[:, start : start + _PIECE]
                    for position in range(arity):
                        answers[start : start + _PIECE] |= self.lookup(relations, columns, position).counts > 0
                kept.append(Block(block.relations[answers], block.columns[:, answers]))
        return Hypergraph(graph.entities, graph.schema, kept)

    def lookup(self, relations: Ids, columns: Ids, position: int) -> AnswerLists:
        """Return the entities known at `position` of each question, in ascending order.

        Args:
            relations: int32[n], the relation of each question; all of one arity.
            columns: int32[arity, n], the entities; what stands in row `position` is not looked at.
            position: the open position, from 0.
        """
        key = (relations, *columns[:position], *columns[position + 1 :])
        for column, bound in zip(key, (self._bounds[0], *[self._bounds[1]] * len(key)), strict=False):
            check_ids(column, bound, "question")
        if len(columns) not in self._indexes:
            nothing = np.zeros(len(relations), np.int64)
            return AnswerLists(np.empty(0, np.int32), nothing, nothing)
        return self._indexes[len(columns)][position].lookup(key)

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take."""
        return sum(index.nbytes for indexes in self._indexes.values() for index in indexes)


def _index_of(facts: Block, position: int, num_relations: int, num_entities: int) -> AnswerIndex:
    """Return the answers at one position of the facts of one arity."""
    key = [facts.relations, *(column for other, column in enumerate(facts.columns) if other != position)]
    return AnswerIndex(key, (num_relations, *[num_entities] * (facts.arity - 1)), facts.columns[position], num_entities)
