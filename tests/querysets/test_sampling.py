"""Queries drawn from facts: of their shape, distinct, the same for one seed, and graded as evaluation says."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from relatum import Hypergraph, RelationSchema, Schema, Split
from relatum.algebra import Difference, evaluate, parse, parse_datalog
from relatum.algebra.clauses import definitions_of
from relatum.algebra.rule import Rule
from relatum.querysets import SHAPES, GradedQuery, QuerySet, sample_queries
from support.strategies import restrict


def random_split(seed: int, *, arities: tuple[int, ...] = (1, 2, 2, 2, 3, 4), entities: int = 25, facts: int = 60) -> Split:
    """Return a split of a random hypergraph; some facts are in two parts."""
    rng = random.Random(seed)
    names = [f"e{number}" for number in range(entities)]
    schema = Schema([RelationSchema("all", 1), *(RelationSchema(f"r{n}", arity) for n, arity in enumerate(arities))])
    rows = [(one.name, *rng.choices(names, k=one.arity)) for one in schema if one.name != "all" for _ in range(facts)]
    parts: dict[str, list[tuple[str, ...]]] = {"train": [], "valid": [], "test": []}
    for row in sorted(set(rows)):
        for part in rng.choices([("train",), ("valid",), ("test",), ("train", "test")], [6, 2, 3, 1])[0]:
            parts[part].append(row)
    # The same entities in each part: every part is a hypergraph over all names.
    whole = Hypergraph.of([*rows, *(("all", name) for name in names)], schema)
    return Split(*(restrict(whole, parts[part]) for part in ("train", "valid", "test")), source=f"random-{seed}")


def rules_of(query: GradedQuery) -> tuple[Rule, ...]:
    (definition,) = definitions_of(query.expression)
    return definition


@pytest.fixture(scope="module")
def drawn() -> tuple[Split, QuerySet]:
    split = random_split(1)
    return split, sample_queries(split, count=12)


def test_every_shape_is_drawn_and_is_what_its_name_says(drawn: tuple[Split, QuerySet]) -> None:
    _, queries = drawn
    assert {counts.shape: counts.queries for counts in queries.counts()} == dict.fromkeys(SHAPES, 12)
    for query in queries:
        shape = SHAPES[query.shape]
        rules = rules_of(query)
        assert len(rules) == len(shape.rules)
        assert query.expression.arity == len(shape.head)
        for rule, numbers in zip(rules, shape.rules, strict=True):
            sizes = Counter(len({term for term in atom.terms if isinstance(term, int)}) for atom in rule.positives)
            assert sizes == Counter(len(shape.atoms[number]) for number in numbers)
            assert len(rule.negatives) == len(shape.negated)
        arities = {len(atom.terms) for rule in rules for atom in rule.atoms}
        assert (max(arities) >= 3 and min(arities) >= 2) if shape.n_ary else arities == {2}
        named = {term for rule in rules for atom in rule.atoms for term in atom.terms if isinstance(term, str)}
        assert named == set(query.constants)


def test_answers_are_those_of_evaluation_and_some_are_full_hard(drawn: tuple[Split, QuerySet]) -> None:
    split, queries = drawn
    known = Hypergraph.union([split.train, split.valid])
    every = Hypergraph.union([known, split.test])
    for query in queries:
        assert sorted({*query.easy, *query.hard}) == list(evaluate(query.expression, every))
        by_known = set(evaluate(query.expression, known))
        negated = isinstance(query.expression, Difference)
        assert set(query.easy) == (by_known & {*query.easy, *query.hard} if negated else by_known)
        assert 0 < len(query.hard) <= queries.most_hard
        assert set(query.full_hard) <= set(query.hard)
        assert parse(str(query.expression), split.schema) == query.expression
        rules = query.to_dict()["datalog"]
        assert list(evaluate(parse_datalog(rules, split.schema), every)) == list(evaluate(query.expression, every))
    for name in SHAPES:
        assert all(query.full_hard for query in drawn[1].of_shape(name)[:6])


def test_a_negated_atom_takes_some_answer_away(drawn: tuple[Split, QuerySet]) -> None:
    split, queries = drawn
    every = Hypergraph.union(list(split.parts.values()))
    for query in [*queries.of_shape("2d"), *queries.of_shape("2d-n")]:
        assert isinstance(query.expression, Difference)
        assert len(evaluate(query.expression.left & query.expression.right, every))


def test_queries_are_distinct_and_take_no_step_back(drawn: tuple[Split, QuerySet]) -> None:
    queries = drawn[1]
    bodies = [
        (query.shape, frozenset(frozenset(rule.positives) | frozenset(rule.negatives) for rule in rules_of(query)))
        for query in queries
        if query.shape in ("1p", "2i", "3i", "2u", "1p-n", "2i-n")
    ]
    assert len(set(bodies)) == len(bodies)
    assert len({str(query.expression) for query in queries}) == len({(q.shape, str(q.expression)) for q in queries})
    for rule in (rule for query in queries for rule in rules_of(query)):
        for number, one in enumerate(rule.positives):
            for other in rule.positives[:number]:
                if one.predicate == other.predicate:
                    pairs = list(zip(one.terms, other.terms, strict=True))
                    clash = any(isinstance(a, str) and isinstance(b, str) and a != b for a, b in pairs)
                    assert clash or not any(isinstance(a, int) and a == b for a, b in pairs)


def test_the_same_seed_gives_the_same_queries_whatever_else_is_drawn() -> None:
    split = random_split(2)
    one, same, other = (sample_queries(split, count=5, seed=seed) for seed in (3, 3, 4))
    assert one == same
    assert one.queries != other.queries
    every, some = sample_queries(split, count=5), sample_queries(split, count=5, shapes=["2d", "2p"])
    assert some.shapes == ("2p", "2d")
    assert [*every.of_shape("2p"), *every.of_shape("2d")] == list(some)


def test_the_parts_before_are_known() -> None:
    split = random_split(6)
    queries = sample_queries(split, "valid", count=5, shapes=["1p", "2p-n"])
    for query in queries:
        every = Hypergraph.union([split.train, split.valid])
        assert sorted({*query.easy, *query.hard}) == list(evaluate(query.expression, every))
        assert set(query.easy) == set(evaluate(query.expression, split.train))


def test_binary_facts_give_binary_shapes_only() -> None:
    queries = sample_queries(random_split(7, arities=(2, 2, 2, 2)), count=4)
    given = {counts.shape for counts in queries.counts() if counts.queries}
    assert given == {name for name in SHAPES if not name.endswith("-n")}
    assert queries.shapes == tuple(SHAPES)


def test_too_many_hard_answers_are_dropped_and_progress_adds_up() -> None:
    split = random_split(8, arities=(2, 2), entities=12, facts=80)
    assert max(len(query.hard) for query in sample_queries(split, count=20)) > 3
    assert max(len(query.hard) for query in sample_queries(split, count=20, most_hard=3)) <= 3
    done: list[int] = []
    sample_queries(random_split(9, arities=(2, 2)), count=3, advance=done.append)
    assert sum(done) == 3 * len(SHAPES)
