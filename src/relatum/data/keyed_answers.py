"""What is already known or ruled out by keys: for a fact with an open position, the entities that no new fact has there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relatum.arrays import Bool
from relatum.data.answer_index import AnswerIndex, AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids

Keys = Sequence[tuple[int, ...]]  # sets of positions, by which no two facts of a relation are alike


class KeyedAnswers(KnownAnswers):
    """All answers that the given facts know, and those that would repeat a key of several positions that a fact has.

    A key that the given entities hold whole, or that is the open position alone, is for `open_positions` and `free_entities`
    to say: there no list per question is needed.
    """

    def __init__(self, graph: Hypergraph, keys: Mapping[str, Keys]) -> None:
        super().__init__(graph)
        self._graph, self._keys = graph, keys
        self._by_key: dict[tuple[int, int, tuple[int, ...]], AnswerIndex] = {}

    def lookup(self, relations: Ids, columns: Ids, position: int) -> AnswerLists:
        """Return the entities that are known or ruled out at `position` of each question, arguments as of `KnownAnswers`.

        The questions are about one relation, if that has keys.
        """
        found = super().lookup(relations, columns, position)
        keys = self._keys.get(self._graph.schema[int(relations[0])].name, ()) if len(relations) else ()
        listed = [key for key in keys if position in key and len(key) > 1]
        if not listed:
            return found
        size = len(self._graph.entities)
        rows, entities = found.pairs()
        pairs = [rows * size + entities]
        for key in listed:
            rows, entities = self._index(int(relations[0]), position, key).lookup(_given(columns, key, position)).pairs()
            pairs.append(rows * size + entities)
        whole = np.unique(np.concatenate(pairs))
        counts = np.bincount(whole // size, minlength=len(relations))
        return AnswerLists((whole % size).astype(np.int32), np.cumsum(counts) - counts, counts)

    def _index(self, relation: int, position: int, key: tuple[int, ...]) -> AnswerIndex:
        if (relation, position, key) not in self._by_key:
            facts, size = self._graph.table(self._graph.schema[relation].name).columns, len(self._graph.entities)
            given = _given(facts, key, position)
            self._by_key[relation, position, key] = AnswerIndex(given, [size] * len(given), facts[position], size)
        return self._by_key[relation, position, key]


class SettledQuestions:
    """The questions at a position whose given entities hold a key that a known fact has: they have no other answer.

    `known` are int32[arity, n], and `size` is how many entities there are.
    """

    def __init__(self, known: Ids, keys: Keys, position: int, size: int) -> None:
        self._indexes = {
            key: AnswerIndex([known[one] for one in key], [size] * len(key), known[position], size)
            for key in keys
            if position not in key
        }

    def among(self, questions: Ids) -> Bool:
        """Return which of the questions, int32[arity, n], are settled."""
        settled = np.zeros(questions.shape[1], np.bool_)
        for key, index in self._indexes.items():
            settled |= index.lookup([questions[one] for one in key]).counts > 0
        return settled


def _given(columns: Ids, key: tuple[int, ...], position: int) -> list[Ids]:
    return [columns[one] for one in key if one != position]


def open_positions(arity: int, keys: Keys) -> list[int]:
    """Return the positions at which a known fact can be changed to make a new one: those that are part of every key.

    At any other position the entities that stay hold a key, which the known fact has already.
    """
    return [position for position in range(arity) if all(position in key for key in keys)]


def free_entities(allowed: Sequence[Ids | None], known: Ids, keys: Keys, size: int) -> list[Ids | None]:
    """Return the allowed entities of each position without those that are a key by themselves and are taken.

    The allowed ones ascend, and None allows all; `known` are int32[arity, n], and `size` is how many entities there
    are.
    """
    found = list(allowed)
    for (position,) in (key for key in keys if len(key) == 1):
        there = found[position]
        found[position] = np.setdiff1d(np.arange(size, dtype=np.int32) if there is None else there, known[position])
    return found


def taken_keys(facts: Ids, known: Ids, keys: Keys) -> Bool:
    """Return which facts, int32[arity, n], have a key that a known fact, int32[arity, m], has."""
    taken = np.zeros(facts.shape[1], np.bool_)
    for key in keys:
        there = set(map(tuple, known[list(key)].T.tolist()))
        taken |= np.array([tuple(one) in there for one in facts[list(key)].T.tolist()], np.bool_)
    return taken
