"""What soft rules name for questions, in one compiled loop over questions, rules and facts; and how often they are right.

The rules of one position of a relation are a `RuleProgram`: arrays that say in which index each rule looks, and with which
of the given entities. Rule by rule `relatum.evidence.facts.FactStore.found` finds the same, for many questions at once.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relatum.arrays import Float32, Int32, Int64
from relatum.kernels import parallel
from relatum.kernels.filters import Excluded, lists_of
from relatum.kernels.jit import exact, strict_inline

Named = tuple[Int64, Int32, Float32, Float32, Float32, Float32]

TIMES = 4  # as many facts or more, that name a candidate, count alike
MATCH, PATH, VALUE = 0, 1, 2  # a fact names the answer; two that are joined do; the answer is a value if there is a fact
_JOINED = -2  # the term of a key that is the joined entity; a constant entity e is the term -3 - e
_CAPACITY = 4096  # pairs of a question and a candidate that there is room for at first
_QUESTIONS = 64  # in a part at least
_ONE = np.float32(1)


class PooledIndexes(NamedTuple):
    """Many indexes of answers in a few arrays. Index number i is found so."""

    levels: Int64  # [n + 1]: its levels are levels[i] to levels[i + 1]; the last number is where the next would begin
    widths: Int64  # how many columns of a key each level takes
    bounds: Int64  # [levels + 1]: the keys of a level are keys[bounds[l] : bounds[l + 1]], ascending
    keys: Int64  # those of all levels
    offset_starts: Int64  # where the offsets of an index begin
    offsets: Int32  # where the answers to each key begin, from the first answer of the index; and where the last ones end
    answer_starts: Int64  # where the answers of an index begin
    answers: Int32  # those of all indexes


class RuleProgram(NamedTuple):
    """The rules of one position of a relation, the most confident first, as arrays."""

    templates: npt.NDArray[np.int8]  # MATCH, PATH or VALUE
    confidences: Float32
    by_times: Float32  # the confidence by how many facts name a candidate, [rules, TIMES]
    answers: Int64  # the term that a rule of values names
    first: Int64  # the index that each looks in first, by its number in the pool
    first_terms: Int64  # where its key begins among the terms, and where that of the next does, [rules + 1]
    second: Int64  # the index that a path looks in then
    second_terms: Int64  # as of the first
    terms: Int64  # those of all keys: a position of the question, the joined entity, or a constant


class RuleScratch:
    """What rules have said so far about the candidates of a question; clean between questions."""

    def __init__(self, candidates: int, widest: int) -> None:
        self.times = np.zeros(candidates, np.uint8)
        self.best, self.doubt, self.counted, self.value = np.zeros((4, candidates), np.float32)
        self.touched, self.found = np.empty(candidates, np.int32), np.empty(widest, np.int32)

    @property
    def arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        """What loops take."""
        return self.times, self.best, self.doubt, self.counted, self.value, self.touched, self.found


def fire(
    program: RuleProgram,
    indexes: PooledIndexes,
    questions: Int32,
    candidates: int,
    most: int,
    widest: int,
    scratches: list[RuleScratch],
) -> Named:
    """Return the candidates that rules name: question, candidate, and four confidences; 0 where no such rule names it.

    They are, of rules that read an answer from facts, that of the best one, that of several together, and that of several by
    how many facts name the candidate; and that of the best rule that names a value. Ordered by question and candidate.

    There are so many candidates; questions, int32[arity, n], may hold others, about which facts say nothing. The `most`
    confident rules that name a candidate are put together; a path that leads to more facts than the `widest` says nothing.
    `scratches` are of earlier calls, clean: one is taken by each part of the work, and given back.
    """
    columns = np.ascontiguousarray(questions.T)
    ranges = parallel.cuts(len(columns), _QUESTIONS)
    parts: list[list[Named]] = [[] for _ in ranges]

    def work(number: int) -> None:
        try:
            scratch = scratches.pop()  # of one thread at a time
        except IndexError:
            scratch = RuleScratch(candidates, widest)
        parts[number] = _part(program, indexes, columns, *ranges[number], candidates, most, scratch)
        scratches.append(scratch)

    parallel.run(work, len(ranges))
    whole = [*itertools.chain(*parts)]
    if len(whole) == 1:
        return whole[0]
    none = np.empty(0, np.float32)
    nothing = np.empty(0, np.int64), np.empty(0, np.int32), none, none, none, none
    rows, ids, best, together, counted, value = (np.concatenate(each) for each in zip(nothing, *whole, strict=True))
    return rows, ids, best, together, counted, value


def _part(
    program: RuleProgram,
    indexes: PooledIndexes,
    columns: Int32,
    first: int,
    last: int,
    candidates: int,
    most: int,
    scratch: RuleScratch,
) -> list[Named]:
    """Return what rules name for questions first..last, piece by piece."""
    capacity, found = _CAPACITY, list[Named]()
    while first < last:
        rows, ids = np.empty(capacity, np.int64), np.empty(capacity, np.int32)
        strengths = np.empty((4, capacity), np.float32)
        said = scratch.arrays
        reached, count = _fire(program, indexes, columns, first, last, candidates, most, said, rows, ids, strengths)
        found.append((rows[:count], ids[:count], *strengths[:, :count]))
        capacity = capacity * 2 if reached == first else capacity  # there was no room for what one question has
        first = reached
    return found


@strict_inline
def _entity(term, question, joined):  # type: ignore[no-untyped-def]
    """Return the entity that a term is."""
    if term >= 0:
        return np.int64(question[term])
    return np.int64(joined) if term == _JOINED else np.int64(_JOINED - 1 - term)


@strict_inline
def _find(indexes, index, terms, first, question, joined, size):  # type: ignore[no-untyped-def]
    """Return where the answers to a key begin in the pool, and how many they are."""
    levels, widths, bounds, keys, offset_starts, offsets, answer_starts, _ = indexes
    group = np.int64(0)
    at = first
    for level in range(levels[index], levels[index + 1]):
        for _ in range(widths[level]):
            entity = _entity(terms[at], question, joined)
            if entity < 0 or entity >= size:
                return np.int64(0), np.int64(0)
            group = group * size + entity
            at += 1
        low, high = bounds[level], bounds[level + 1]
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < group:
                low = middle + 1
            else:
                high = middle
        if low == bounds[level + 1] or keys[low] != group:
            return np.int64(0), np.int64(0)
        group = low - bounds[level]
    start = offset_starts[index] + group
    return answer_starts[index] + offsets[start], np.int64(offsets[start + 1] - offsets[start])


@strict_inline
def _take(pool, start, count, confidence, by_times, most, said, seen):  # type: ignore[no-untyped-def]
    """Note what one rule finds, ascending; return how many candidates were found by any rule yet."""
    times, best, doubt, counted, value, touched, _ = said
    index, end = start, start + count
    while index < end:
        candidate = pool[index]
        facts = 0
        while index < end and pool[index] == candidate:
            facts += 1
            index += 1
        if times[candidate] == 0:
            if value[candidate] == 0:
                touched[seen] = candidate
                seen += 1
            best[candidate] = confidence
            doubt[candidate] = _ONE
            counted[candidate] = _ONE
        if times[candidate] < most:
            times[candidate] += 1
            doubt[candidate] *= _ONE - confidence
            counted[candidate] *= _ONE - by_times[min(facts, TIMES) - 1]
    return seen


@exact
def _fire(program, indexes, questions, begin, end, size, most, said, rows, ids, strengths):  # type: ignore[no-untyped-def]
    """Fill what rules name for questions begin..end, as far as there is room; return the next question, and the count."""
    templates, confidences, by_times, answers_of = program[:4]
    first_index, first_terms, second_index, second_terms, terms = program[4:]
    times, best, doubt, counted, value, touched, found = said
    pool = indexes[7]
    count = 0
    for q in range(begin, end):
        question, seen = questions[q], 0
        for r in range(len(templates)):
            start, many = _find(indexes, first_index[r], terms, first_terms[r], question, 0, size)
            if many == 0:
                continue
            if templates[r] == MATCH:
                seen = _take(pool, start, many, confidences[r], by_times[r], most, said, seen)
            elif templates[r] == VALUE:
                named = _entity(answers_of[r], question, 0)
                if 0 <= named < size and value[named] == 0:
                    if times[named] == 0:
                        touched[seen] = named
                        seen += 1
                    value[named] = confidences[r]
            elif many <= len(found):
                total = 0
                for index in range(start, start + many):
                    there, more = _find(indexes, second_index[r], terms, second_terms[r], question, pool[index], size)
                    if total + more <= len(found):
                        for other in range(more):
                            found[total + other] = pool[there + other]
                    total += more
                if 0 < total <= len(found):
                    found[:total].sort()
                    seen = _take(found, 0, total, confidences[r], by_times[r], most, said, seen)
        room = count + seen <= len(rows)
        touched[:seen].sort()
        for index in range(seen):
            candidate = touched[index]
            if room:
                rows[count], ids[count] = q, candidate
                strengths[0, count] = best[candidate] if times[candidate] > 0 else 0
                strengths[1, count] = _ONE - doubt[candidate] if times[candidate] > 0 else 0
                strengths[2, count] = _ONE - counted[candidate] if times[candidate] > 0 else 0
                strengths[3, count] = value[candidate]
                count += 1
            times[candidate] = 0
            value[candidate] = 0
        if not room:
            return q, count
    return end, count


class Counts(NamedTuple):
    """How often a rule is right about some questions.

    Number n of `right` and `named` is about candidates that n + 1 facts name, the last about those that more do.
    """

    right: Int64  # [TIMES], how often the answer of a question is named
    named: Int64  # [TIMES], how many candidates are named that are no other known answers
    own: Int64  # [n], how many facts name the answer of each question
    total: Int64  # [n], how many name it, or anything that is not known


def count_named(found: Excluded, answers: Int32, known: Excluded, left_out: Int32) -> Counts:
    """Return how often a rule is right; other known answers are no rivals of a question's answer and are not counted.

    The rule finds candidates as often as facts name them; they and the known answers ascend. The fact that a question was
    made of may be among those that a rule reads: what it names itself, `left_out`, or -1, is counted one time less.
    """
    counts = Counts(*np.zeros((2, TIMES), np.int64), *np.zeros((2, len(answers)), np.int64))
    _count_named(*lists_of(found), *lists_of(known), answers, left_out, *counts)
    return counts


@exact
def _count_named(  # type: ignore[no-untyped-def]
    pool, starts, counts, known, known_starts, known_counts, answers, left_out, right, named, own, total
):
    for q in range(len(answers)):
        index, end = starts[q], starts[q] + counts[q]
        other, last = known_starts[q], known_starts[q] + known_counts[q]
        while index < end:
            candidate = pool[index]
            times = 0
            while index < end and pool[index] == candidate:
                times += 1
                index += 1
            if candidate == left_out[q]:
                times -= 1
            if times == 0:
                continue
            if candidate == answers[q]:
                right[min(times, TIMES) - 1] += 1
                own[q] += times
            else:
                while other < last and known[other] < candidate:
                    other += 1
                if other < last and known[other] == candidate:
                    continue
            named[min(times, TIMES) - 1] += 1
            total[q] += times
