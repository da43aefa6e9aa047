"""Compiled rules name what rules name one by one, and put confidences together and count as a plain count does."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.evidence.facts import WIDEST, FactStore
from relatum.evidence.soft_rule import ANY, JOINED, Atom, SoftRule, constant
from relatum.kernels import parallel, soft_rules
from relatum.kernels.filters import Excluded, _Lists
from relatum.kernels.soft_rules import TIMES, RuleScratch, count_named, fire

P, Q, WIDE = 0, 1, 2
RULES = [
    SoftRule(Q, 1, (Atom(P, (0, 1)),), 1),
    SoftRule(Q, 1, (Atom(P, (1, 0)),), 1),
    SoftRule(Q, 1, (Atom(Q, (0, 1, ANY)),), 1),
    SoftRule(Q, 1, (Atom(Q, (0, 1, 1)),), 1),
    SoftRule(Q, 1, (Atom(Q, (ANY, 1, constant(2))), ), 1),
    SoftRule(Q, 1, (Atom(P, (0, 2)),), constant(2)),
    SoftRule(Q, 1, (Atom(Q, (0, ANY, 2)),), 0),
    SoftRule(Q, 1, (Atom(Q, (ANY, constant(3), ANY)),), constant(3)),
    SoftRule(Q, 1, (Atom(P, (0, JOINED)), Atom(P, (JOINED, 1))), 1),
    SoftRule(Q, 1, (Atom(Q, (JOINED, ANY, 2)), Atom(Q, (1, JOINED, ANY))), 1),
    SoftRule(Q, 1, (Atom(Q, (0, JOINED, JOINED)), Atom(P, (JOINED, 1))), 1),
]  # fmt: skip


def graph_of(rng: np.random.Generator, entities: int) -> Hypergraph:
    facts = [("p", *each) for each in rng.integers(0, entities, (25, 2)).tolist()]
    facts += [("q", *each) for each in rng.integers(0, entities, (60, 3)).tolist()]
    facts += [("wide", *each) for each in rng.integers(0, entities, (40, 9)).tolist()]
    named = [(name, *(f"e{one}" for one in rest)) for name, *rest in facts]
    return Hypergraph.of([*named, *(("p", f"e{one}", f"e{one}") for one in range(entities))])


def rules_of(rng: np.random.Generator, rules: list[SoftRule]) -> list[SoftRule]:
    """Draw how often some rules were right, the most confident first."""
    chosen = [rules[one] for one in rng.permutation(len(rules))[: rng.integers(1, len(rules) + 1)]]
    named = [tuple(rng.integers(1, 30, TIMES).tolist()) for _ in chosen]
    rights = [tuple(int(rng.integers(0, each + 1)) for each in one) for one in named]
    judged = [replace(one, rights=r, nameds=n) for one, r, n in zip(chosen, rights, named, strict=True)]
    return sorted(judged, key=lambda one: -one.confidence)


def plainly(store: FactStore, rules: list[SoftRule], questions: np.ndarray, most: int) -> dict[tuple[int, int], list[float]]:
    """Return the four confidences of each question and candidate, rule by rule."""
    found: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 1.0, 1.0, 0.0])
    used: Counter[tuple[int, int]] = Counter()
    for rule in rules:
        lists = store.found(rule, questions)
        for number in range(questions.shape[1]):
            for candidate, times in Counter(lists[number].tolist()).items():
                key = number, candidate
                one = found[key]
                if not rule.names_what_is_read:
                    one[3] = one[3] or rule.confidence
                elif used[key] < most:
                    one[0] = one[0] or rule.confidence
                    one[1] *= 1 - rule.confidence
                    one[2] *= 1 - float(rule.confidences[min(times, TIMES) - 1])
                    used[key] += 1
    return {key: [one[0], 1 - one[1], 1 - one[2], one[3]] for key, one in found.items()}


def check(store: FactStore, rules: list[SoftRule], questions: np.ndarray, scratches: list[RuleScratch]) -> int:
    size = len(store.graph.entities)
    rows, ids, *strengths = fire(store.program(rules), store.pool.arrays, questions, size, 2, WIDEST, scratches)
    expected = plainly(store, rules, questions, 2)
    assert list(zip(rows.tolist(), ids.tolist(), strict=True)) == sorted(expected)
    wanted = np.array([expected[key] for key in sorted(expected)]).reshape(-1, 4)
    assert np.allclose(np.stack(strengths, 1), wanted, atol=1e-6)
    return len(rows)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_named_is_what_rules_name_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    store, scratches, named = FactStore(graph_of(rng, 7)), list[RuleScratch](), 0
    for _ in range(3):
        questions = rng.integers(-1, 9, (3, 40)).astype(np.int32)  # some hold entities that no fact has
        questions[1] = 0
        named += check(store, rules_of(rng, RULES), questions, scratches)
    assert named > 100
    assert all(not one.times.any() and not one.value.any() for one in scratches), "clean for the next question"


def test_keys_that_no_number_holds_are_found_level_by_level() -> None:
    rng = np.random.default_rng(3)
    graph = graph_of(rng, 300)  # 8 columns of 300 are more than 2^63
    store = FactStore(graph)
    rule = SoftRule(WIDE, 8, (Atom(WIDE, tuple(range(9))),), 8)
    questions = store.columns[WIDE].copy()
    assert len(store.pool.arrays.levels) == 1
    assert check(store, rules_of(rng, [rule]), questions, []) == questions.shape[1]
    assert np.diff(store.pool.arrays.levels).max() > 1


def test_a_path_that_leads_to_too_many_says_nothing() -> None:
    store, rng = FactStore(graph_of(np.random.default_rng(0), 7)), np.random.default_rng(0)
    rules, questions = rules_of(rng, RULES[8:9]), rng.integers(0, 7, (3, 30)).astype(np.int32)
    arguments = store.program(rules), store.pool.arrays, questions, len(store.graph.entities), 2
    whole, few = (len(fire(*arguments, widest, [])[0]) for widest in (WIDEST, 14))
    assert 0 < few < whole


def test_there_is_room_for_whatever_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_rules, "_CAPACITY", 1)
    rng = np.random.default_rng(4)
    store = FactStore(graph_of(rng, 7))
    assert check(store, rules_of(rng, RULES), rng.integers(0, 7, (3, 50)).astype(np.int32), []) > 50


def test_threads_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_rules, "_QUESTIONS", 3)
    rng = np.random.default_rng(5)
    store = FactStore(graph_of(rng, 7))
    rules, questions, found = rules_of(rng, RULES), rng.integers(0, 7, (3, 90)).astype(np.int32), []
    program = store.program(rules)
    for threads in (1, 2, 5):
        parallel.set_threads(threads)
        try:
            named = fire(program, store.pool.arrays, questions, len(store.graph.entities), 5, WIDEST, [])
        finally:
            parallel.set_threads(None)
        found.append([each.tobytes() for each in named])
    assert found[0] == found[1] == found[2]


def test_no_rules_and_no_questions_name_nothing() -> None:
    store = FactStore(graph_of(np.random.default_rng(0), 7))
    size = len(store.graph.entities)
    for rules, count in (([], 4), (RULES, 0)):
        named = fire(store.program(rules), store.pool.arrays, np.zeros((3, count), np.int32), size, 2, WIDEST, [])
        assert [len(each) for each in named] == [0] * 6


def lists_of(rng: np.random.Generator, questions: int, candidates: int, repeated: int) -> tuple[Excluded, list[list[int]]]:
    """Draw ascending lists in which a candidate stands up to so many times."""
    each = [
        sorted(c for c in range(candidates) for _ in range(rng.integers(0, 1 + repeated)) if rng.random() < 0.4)
        for _ in range(questions)
    ]
    counts = np.array([len(one) for one in each], np.int64)
    return _Lists(np.array([*itertools.chain(*each)], np.int32), np.cumsum(counts) - counts, counts), each


@pytest.mark.parametrize("seed", range(60))
def test_rules_are_counted_as_right_by_other_facts_and_beside_unknown_candidates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    questions = seed % 7
    found, named = lists_of(rng, questions, 9, 7)
    known, answered = lists_of(rng, questions, 9, 1)
    answers, left_out = rng.integers(0, 9, questions).astype(np.int32), rng.integers(-1, 9, questions).astype(np.int32)
    right, total = np.zeros((2, TIMES), int)
    own, whole = [], []
    for q in range(questions):
        rest = Counter(named[q])
        rest[left_out[q]] -= left_out[q] in named[q]
        rivals = {one: times for one, times in rest.items() if times and (one == answers[q] or one not in answered[q])}
        for one, times in rivals.items():
            total[min(times, TIMES) - 1] += 1
            right[min(times, TIMES) - 1] += one == answers[q]
        own.append(rest[answers[q]])
        whole.append(sum(rivals.values()))
    for one, expected in zip(count_named(found, answers, known, left_out), (right, total, own, whole), strict=True):
        assert one.tolist() == list(expected)
