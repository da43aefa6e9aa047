"""Neighbours: those who have some of the same answers speak for what else they have, and the more of them, the more.

A rule reads an answer from one fact, or from two that are joined. What a customer buys next is seldom named by any single
fact: it is what many of those have bought who bought some of the same. All of them are heard together, each as far as they
share answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.artefacts import Count, Declared, Known, Named
from relatum.data.schema import Schema
from relatum.data.sorting import differs_from_previous
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.evidence.facts import FactStore
from relatum.kernels.neighbours import Links, neighbour_shares

_BEST = 10  # answers of a question that a neighbourhood is judged by
_NAMED = 300  # answers that neighbours name for a question, at most
_JUDGED = 200  # facts of a relation that a neighbourhood is judged by
_FACTS = 50  # that a relation has at least
_RIGHT, _SHARE = 3, 0.03  # of these facts must be right, at least


@dataclass(frozen=True, slots=True)
class Neighbourhood(Declared):
    """Where an entity at a given position has answers at an open one, others who share some speak for more answers."""

    relation: Annotated[int, Named("schema")]
    position: Count  # the open one
    given: Count  # the position of the entity whose answers are shared
    right: Count = 0  # how often the answer of a training fact was among the `_BEST` that others named for the rest
    named: Count = 0  # how many were, in all

    @property
    def confidence(self) -> float:
        """How likely one of the best is right."""
        return self.right / (self.named + 3)

    def text(self, schema: Schema) -> str:
        """Return the neighbourhood as Datalog writes it: whoever has an answer that the given entity has too."""
        relation = schema[self.relation]
        pairs = ("A", "B"), ("A", "Z"), ("Y", "Z"), ("Y", "B")  # of who has what
        written = []
        for given, answer in pairs:
            terms = ["_"] * relation.arity
            terms[self.given], terms[self.position] = given, answer
            written.append(f"{relation.name}({', '.join(terms)})")
        return f"{written[0]} <- {', '.join(written[1:])}"

    def check(self, known: Known) -> None:
        """Refuse positions that the relation does not have, and more right answers than there were."""
        two = self.given != self.position and max(self.given, self.position) < known["schema"][self.relation].arity
        if not (two and self.right <= self.named):
            raise DataError("damaged-file", "no neighbourhood of the relation")


@dataclass(frozen=True)
class Shared:
    """An answer that others have too."""

    answer: int
    others: int  # how many have it
    both: int  # how many of these have the answer in question


class Neighbours:
    """Who has what, by one neighbourhood."""

    def __init__(self, store: FactStore, neighbourhood: Neighbourhood) -> None:
        columns = store.columns[neighbourhood.relation]
        given, answers = columns[neighbourhood.given], columns[neighbourhood.position]
        self._size, self.neighbourhood = len(store.graph.entities), neighbourhood
        order = np.lexsort((answers, given))
        order = order[differs_from_previous([given[order], answers[order]])]
        self._given, holders = np.unique(given[order], return_inverse=True)
        self._answers, held = np.unique(answers[order], return_inverse=True)
        counts, times = np.bincount(holders, minlength=len(self._given)), np.bincount(held, minlength=len(self._answers))
        self._links = Links(
            np.concatenate([[0], np.cumsum(counts)]),
            held.astype(np.int64),
            np.concatenate([[0], np.cumsum(times)]),
            holders[np.argsort(held, kind="stable")].astype(np.int64),
        )

    def named(self, questions: Ids, left_out: Ids | None = None) -> tuple[Int64, Ids, Float64]:
        """Return what neighbours name for questions, int32[arity, n]: question, entity and share of all, ascending.

        `left_out` is the answer of each question that is looked upon as if it were not known; -1 for none.
        """
        given = _indices(self._given, questions[self.neighbourhood.given])
        own = np.full(len(given), -1, np.int64) if left_out is None else _indices(self._answers, left_out)
        rows, answers, shares = neighbour_shares(self._links, given, own, _NAMED)
        return rows, self._answers[answers], shares

    def shared(self, fact: Ids) -> list[Shared]:
        """Return the answers that others have too who have the answer of a fact, int32[arity]; those that say most first."""
        one, answer = (
            int(_indices(known, fact[[position]])[0])
            for known, position in ((self._given, self.neighbourhood.given), (self._answers, self.neighbourhood.position))
        )
        if one < 0 or answer < 0:
            return []
        links, found = self._links, []
        having = set(links.holders[links.holder_starts[answer] : links.holder_starts[answer + 1]].tolist()) - {one}
        for shared in links.answers[links.starts[one] : links.starts[one + 1]].tolist():
            others = set(links.holders[links.holder_starts[shared] : links.holder_starts[shared + 1]].tolist()) - {one}
            if shared != answer and others & having:
                found.append(Shared(int(self._answers[shared]), len(others), len(others & having)))
        return sorted(found, key=lambda each: (-each.both / np.sqrt(each.others), each.answer))

    def best(self, facts: Ids, store: FactStore) -> Iterator[list[int]]:
        """Yield of each fact, int32[arity, n], the answers that neighbours name most for the rest of it, `_BEST` at most.

        The fact is looked upon as if it were not known; other known answers to the same question are not among them.
        """
        position, relation = self.neighbourhood.position, self.neighbourhood.relation
        known = store.answers(relation, position, facts)
        rows, entities, shares = self.named(facts, facts[position])
        starts = np.searchsorted(rows, np.arange(facts.shape[1] + 1))
        for question in range(facts.shape[1]):
            mine = slice(starts[question], starts[question + 1])
            named, share = entities[mine], shares[mine]
            new = ~np.isin(named, known[question]) | (named == facts[position, question])
            order = np.argsort(-share[new], kind="stable")[:_BEST]
            yield named[new][order].tolist()

    def among_the_best(self, fact: Ids, store: FactStore) -> bool:
        """Return whether the entity of a fact, int32[arity], is among the best for its question."""
        (best,) = self.best(fact[:, None], store)
        return int(fact[self.neighbourhood.position]) in best

    def judged(self, facts: Ids, store: FactStore) -> Neighbourhood:
        """Return the neighbourhood with how often it is right about training facts, int32[arity, n]."""
        answers, best = facts[self.neighbourhood.position].tolist(), list(self.best(facts, store))
        right = sum(answer in named for answer, named in zip(answers, best, strict=True))
        return replace(self.neighbourhood, right=right, named=sum(map(len, best)))


def find_neighbourhoods(store: FactStore, seed: int = 0) -> Iterator[Neighbourhood]:
    """Yield the best neighbourhood of each position of each relation, where others name answers of training facts."""
    rng = np.random.default_rng(seed)
    for relation, columns in enumerate(store.columns):
        arity, count = columns.shape
        if count < _FACTS or arity < 2:
            continue
        sample = columns[:, np.sort(rng.permutation(count)[:_JUDGED])]
        for position in range(arity):
            judged = [
                Neighbours(store, Neighbourhood(relation, position, given)).judged(sample, store)
                for given in range(arity)
                if given != position
            ]
            best = max(judged, key=lambda one: one.right)
            if best.right >= max(_RIGHT, _SHARE * sample.shape[1]):
                yield best


def _indices(known: Ids, entities: Ids) -> Int64:
    """Return where entities stand among ascending known ones; -1 for those that are not there."""
    index = np.minimum(np.searchsorted(known, entities), len(known) - 1)
    return np.where(known[index] == entities, index, -1) if len(known) else np.full(len(entities), -1, np.int64)
