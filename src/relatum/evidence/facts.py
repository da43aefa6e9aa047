"""The training facts as rules read them: by any of their positions, each index made when it is first wanted.

Rules are judged by training facts as well, each of which does not speak for itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Int64
from relatum.data.answer_index import AnswerIndex, AnswerLists
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.sorting import differs_from_previous, spread
from relatum.data.vocabulary import Ids
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule, constant_entity
from relatum.kernels.soft_rules import MATCH, PATH, TIMES, VALUE, PooledIndexes, RuleProgram, count_named


class IndexPool:
    """Indexes that are put together, one after the other; what was there stays as it is."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._lock = threading.Lock()
        short = "offsets", "answers"
        self._grown = {name: _Growing(np.int32 if name in short else np.int64) for name in PooledIndexes._fields}
        self._extend(levels=[0], bounds=[0])

    def number(self, name: Hashable, make: Callable[[], AnswerIndex]) -> int:
        """Return the number of the index of a name; `make` makes it where it is not there yet."""
        with self._lock:
            if name not in self._numbers:
                self._numbers[name] = self._add(make())
            return self._numbers[name]

    @property
    def arrays(self) -> PooledIndexes:
        """The arrays as they are now; what is added later does not change them."""
        with self._lock:
            return PooledIndexes(**{name: each.values for name, each in self._grown.items()})

    def _add(self, index: AnswerIndex) -> int:
        size = {name: len(each) for name, each in self._grown.items()}
        self._extend(offset_starts=[size["offsets"]], answer_starts=[size["answers"]])
        self._extend(offsets=index.offsets, answers=index.answers)
        for columns, keys in index.levels:
            self._extend(widths=[len(columns)], keys=keys)
            self._extend(bounds=[len(self._grown["keys"])])
        self._extend(levels=[len(self._grown["widths"])])
        return size["levels"] - 1

    def _extend(self, **values: npt.ArrayLike) -> None:
        for name, each in values.items():
            self._grown[name].extend(each)


class _Growing:
    """An array that grows at its end; views of it stay valid."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array, self._size = np.empty(64, dtype), 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> npt.NDArray[Any]:
        return self._array[: self._size]

    def extend(self, values: npt.ArrayLike) -> None:
        more = np.asarray(values, self._array.dtype)
        wanted = self._size + len(more)
        if wanted > len(self._array):
            larger = np.empty(max(wanted, len(self._array) * 3 // 2), self._array.dtype)
            larger[: self._size] = self.values
            self._array = larger
        self._array[self._size : wanted] = more
        self._size = wanted


_TEMPLATES = {"match": MATCH, "path": PATH}
WIDEST = 300  # facts that a path may lead to from one question; what leads to more says little about each
SUPPORT = 3  # facts that bear out what a rule may be made of, at least
_LEAST = 0.002  # confidence: what names hundreds for one that is right says nothing

Which = tuple[int, int, tuple[int, ...], tuple[int, ...]]  # relation, answer, positions of the key, equal positions


@dataclass(eq=False)
class FactStore:
    """The distinct facts of a hypergraph by relation, and what stands at a position where others hold given entities."""

    graph: Hypergraph
    columns: list[Ids] = field(init=False)
    pool: IndexPool = field(default_factory=IndexPool)
    _indexes: dict[Which, AnswerIndex] = field(default_factory=dict)
    _never_equal: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        distinct = self.graph.distinct()
        self.columns = [distinct.table(relation.name).columns for relation in self.graph.schema]

    def answers(self, relation: int, position: int, facts: Ids) -> AnswerLists:
        """Return what stands at a position of the facts that are like others, int32[arity, n], at all other positions."""
        others = tuple(one for one in range(len(facts)) if one != position)
        return self.lookup((relation, position, others, ()), [facts[one] for one in others])

    def lookup(self, which: Which, key: Sequence[Ids]) -> AnswerLists:
        """Return what stands at the answer's position of the facts that hold a key, as often as facts have it.

        Only facts are read that have the same there and at the equal positions.
        """
        if which not in self._indexes:
            self._indexes[which] = self._index_of(which)
        return self._indexes[which].lookup(key)

    def program(self, rules: Sequence[SoftRule]) -> RuleProgram:
        """Return rules, the most confident first, as compiled loops read them from the pool."""
        firsts, seconds = [], []
        for rule in rules:
            first, *rest = rule.body
            wanted = JOINED if rest else rule.position if rule.names_what_is_read else None
            firsts.append(self._pooled(first, wanted))
            seconds.append(self._pooled(rest[0], rule.position) if rest else (0, []))
        return RuleProgram(
            np.array([_TEMPLATES.get(rule.template, VALUE) for rule in rules], np.int8),
            np.array([rule.confidence for rule in rules], np.float32),
            np.array([rule.confidences for rule in rules], np.float32).reshape(-1, TIMES),
            np.array([rule.answer for rule in rules], np.int64),
            *_with_terms(firsts, 0),
            *_with_terms(seconds, sum(len(terms) for _, terms in firsts)),
            np.array([term for _, terms in (*firsts, *seconds) for term in terms], np.int64),
        )

    def _pooled(self, atom: Atom, wanted: int | None) -> tuple[int, list[int]]:
        """Return the index that `_standing` looks in, by its number in the pool, and the terms of the key."""
        which = _which(atom, wanted)
        return self.pool.number(which, lambda: self._index_of(which)), [atom.terms[position] for position in which[2]]

    def _index_of(self, which: Which) -> AnswerIndex:
        relation, answer, positions, equal = which
        columns, size = self.columns[relation], len(self.graph.entities)
        if equal:
            columns = columns[:, (columns[list(equal)] == columns[answer]).all(axis=0)]
        return AnswerIndex([columns[one] for one in positions], [size] * len(positions), columns[answer], size)

    def never_equal(self, relation: int, position: int) -> list[int]:
        """Return the other positions of a relation that have never the same entity as one, in any of its facts."""
        if (relation, position) not in self._never_equal:
            columns = self.columns[relation]
            others = (one for one in range(len(columns)) if one != position)
            self._never_equal[relation, position] = [
                one for one in others if columns.size and not (columns[one] == columns[position]).any()
            ]
        return self._never_equal[relation, position]

    def borne_out(self, atom: Atom, questions: Ids) -> Bool:
        """Return for each question whether there is a fact that is like an atom."""
        return self._standing(atom, None, questions).counts > 0

    def found(self, rule: SoftRule, questions: Ids, *, itself: bool = True) -> AnswerLists:
        """Return what a rule finds for questions, int32[arity, n], a candidate as often as facts name it.

        What stands at the open position is not looked at, unless the questions are facts and a path is not to lead through
        these themselves (`itself=False`). An entity that no fact has, whatever its id, finds nothing.
        """
        if not rule.names_what_is_read:
            return self._values(rule, questions)
        if len(rule.body) == 1:
            return self._standing(rule.body[0], rule.position, questions)
        return self._joined(rule, questions, itself=itself)

    def groundings(self, rule: SoftRule, fact: Ids) -> list[tuple[int, ...]]:
        """Return the facts, by number, one of each atom, by which a rule speaks for a fact; never the fact itself."""
        entity = constant_entity(rule.answer)
        if fact[rule.position] != (fact[rule.answer] if entity is None else entity):
            return []
        found = [np.flatnonzero(self._like(atom, fact, rule.relation)) for atom in rule.body]
        if len(found) == 1:
            return [(number,) for number in found[0].tolist()]
        first, second = (
            self.columns[atom.relation][atom.where(JOINED)[0]][one].tolist()
            for atom, one in zip(rule.body, found, strict=True)
        )
        ends: dict[int, list[int]] = {}
        for number, entity in zip(found[1].tolist(), second, strict=True):
            ends.setdefault(entity, []).append(number)
        same = rule.body[0].relation == rule.body[1].relation
        paths: dict[int, tuple[int, int]] = {}  # one through each entity is enough to read
        for number, entity in zip(found[0].tolist(), first, strict=True):
            for other in ends.get(entity, [])[:2]:
                if not same or other != number:  # a fact and itself are no path
                    paths.setdefault(entity, (number, other))
        return list(paths.values())

    def written(self, rule: SoftRule, grounding: Sequence[int]) -> str:
        """Return the facts of a grounding as people read them."""
        return ", ".join(f"{relation}({', '.join(entities)})" for relation, entities in self.named(rule, grounding))

    def named(self, rule: SoftRule, grounding: Sequence[int]) -> list[tuple[str, tuple[str, ...]]]:
        """Return the facts of a grounding by name: the relation and the entities of each."""
        names, found = self.graph.entities, []
        for atom, number in zip(rule.body, grounding, strict=True):
            entities = tuple(names[one] for one in self.columns[atom.relation][:, number].tolist())
            found.append((self.graph.schema[atom.relation].name, entities))
        return found

    def _like(self, atom: Atom, fact: Ids, relation: int) -> Bool:
        """Return which facts of an atom's relation are like it, where a fact of another is given; not this one itself."""
        columns = self.columns[atom.relation]
        like = _is_like(atom, columns, (JOINED,), fact)
        if atom.relation == relation:
            like &= (columns != fact[:, None]).any(axis=0)
        return like

    def own(self, rule: SoftRule, facts: Ids) -> Ids:
        """Return the candidate that each fact itself names, where a rule reads it among others; -1 if it names none."""
        nothing = np.full(facts.shape[1], -1, np.int32)
        if len(rule.body) > 1 or rule.body[0].relation != rule.relation:
            return nothing
        (atom,) = rule.body
        if rule.names_what_is_read:
            answer, *equal = atom.where(rule.position)
            like = _is_like(atom, facts, (rule.position,)) & (facts[equal] == facts[answer]).all(axis=0)
            named = facts[answer]
        else:
            like, named = _is_like(atom, facts), self._column(rule.answer, facts)
        return np.where(like, named, nothing)

    def _standing(self, atom: Atom, wanted: int | None, questions: Ids, joined: Ids | None = None) -> AnswerLists:
        """Return what stands where an atom has a term, or for None something, in the facts that are like it."""
        which = _which(atom, wanted)
        key = [self._column(atom.terms[position], questions, joined) for position in which[2]]
        there = np.all([(one >= 0) & (one < len(self.graph.entities)) for one in key], axis=0)
        lists = self.lookup(which, [np.where(there, one, 0).astype(np.int32) for one in key])
        return AnswerLists(lists.pool, lists.starts, np.where(there, lists.counts, 0))

    def _column(self, term: int, questions: Ids, joined: Ids | None = None) -> Ids:
        """Return the entity that a term is in each question."""
        if term == JOINED and joined is not None:
            return joined
        entity = constant_entity(term)
        return questions[term] if entity is None else np.full(questions.shape[1], entity, np.int32)

    def _values(self, rule: SoftRule, questions: Ids) -> AnswerLists:
        """Return the constant or given entity that a rule names, as often as facts are like its atom, up to `TIMES`."""
        (atom,) = rule.body
        named = self._column(rule.answer, questions)
        there = (named >= 0) & (named < len(self.graph.entities))
        counts = np.where(there, np.minimum(self._standing(atom, None, questions).counts, TIMES), 0)
        return AnswerLists(np.repeat(named, counts), np.cumsum(counts) - counts, counts)

    def _joined(self, rule: SoftRule, questions: Ids, *, itself: bool) -> AnswerLists:
        """Return what a path leads to: from given entities to the joined ones, and from these to candidates."""
        first, second = rule.body
        count, position = questions.shape[1], rule.position
        rows, joined = _pairs(self._standing(first, JOINED, questions), np.arange(count))
        if not itself and first.relation == rule.relation:
            own = _is_like(first, questions, (JOINED,))[rows] & (questions[first.where(JOINED)[0]][rows] == joined)
            rows, joined = _without_one(own, rows, joined)
        through, candidates = _pairs(self._standing(second, position, questions[:, rows], joined), rows)
        if not itself and second.relation == rule.relation:
            start, end = second.where(JOINED)[0], second.where(position)[0]
            own = (_is_like(second, questions, (JOINED, position))[rows] & (questions[start][rows] == joined))[through]
            own &= questions[end][rows[through]] == candidates
            through, candidates = _without_one(own, through, candidates)
        rows = rows[through]
        order = np.argsort(rows * len(self.graph.entities) + candidates, kind="stable")
        counts = np.bincount(rows, minlength=count)
        return AnswerLists(candidates[order], np.cumsum(counts) - counts, counts)


def _which(atom: Atom, wanted: int | None) -> Which:
    """Return the index of the facts that are like an atom, whose answer stands where it has a term; for None anywhere."""
    bound = tuple(position for position, term in enumerate(atom.terms) if term not in (ANY, wanted))
    answer, *equal = bound[:1] if wanted is None else atom.where(wanted)
    return atom.relation, answer, bound, tuple(equal)


def _is_like(atom: Atom, facts: Ids, free: Sequence[int] = (), head: Ids | None = None) -> Bool:
    """Return which facts of an atom's relation are like it, where the head is a fact, or by default they themselves."""
    head = facts if head is None else head
    like = np.ones(facts.shape[1], np.bool_)
    for position, term in enumerate(atom.terms):
        if term != ANY and term not in free:
            entity = constant_entity(term)
            like &= facts[position] == (head[term] if entity is None else entity)
    return like


def _pairs(lists: AnswerLists, questions: Int64) -> tuple[Int64, Ids]:
    """Return the pairs of a row and what was found for it, without the questions for which too much was."""
    total = np.bincount(questions, lists.counts, minlength=int(questions.max(initial=-1)) + 1)
    counts = np.where(total[questions] <= WIDEST, lists.counts, 0)
    return np.repeat(np.arange(len(questions)), counts), lists.pool[spread(lists.starts, counts)]


def _without_one(own: Bool, rows: Int64, found: Ids) -> tuple[Int64, Ids]:
    """Return sorted pairs without the first of equal ones that are what a fact itself would name."""
    kept = ~(own & differs_from_previous([rows, found]))
    return rows[kept], found[kept]


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


def _with_terms(looked: Sequence[tuple[int, Sequence[int]]], start: int) -> tuple[Int64, Int64]:
    """Return the indexes that rules look in, and where the terms of their keys begin among all, from a start on."""
    sizes = np.array([len(terms) for _, terms in looked], np.int64)
    return np.array([number for number, _ in looked], np.int64), np.append(0, np.cumsum(sizes)) + start


def judged(store: FactStore, rule: SoftRule, facts: Ids) -> SoftRule:
    """Return a rule with how often it is right about some facts."""
    known = store.answers(rule.relation, rule.position, facts)
    found = store.found(rule, facts, itself=False)
    counts = count_named(found, facts[rule.position], known, store.own(rule, facts))
    return replace(rule, rights=tuple(counts.right.tolist()), nameds=tuple(counts.named.tolist()))


def good(store: FactStore, rules: Iterable[SoftRule], facts: Ids, least: float = _LEAST) -> list[SoftRule]:
    """Return the rules that are right more than once and not too seldom, judged by some facts."""
    found = (judged(store, rule, facts) for rule in rules)
    return [rule for rule in found if rule.right > 1 and rule.confidence >= least]
