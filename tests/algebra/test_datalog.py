"""Datalog both ways: what is written means the same when read, is written alike again, and mistakes point at a place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from relatum import Hypergraph, RelationSchema, Schema
from relatum.algebra import Expression, Relation, datalog, evaluate, parse, parse_datalog
from relatum.errors import DataError, RelatumError
from support.random_expressions import ODD_NAMES, random_expression, random_graph, random_schema

SCHEMA = Schema(
    [
        RelationSchema("sold", 3, ("seller", "buyer", "item")),
        RelationSchema("knows", 2),
        RelationSchema("person", 1),
        RelationSchema("not", 1),
        RelationSchema("likes to", 2),
    ]
)
GRAPH = Hypergraph.of(
    [
        ("sold", "drew", "alex", "coffee"),
        ("sold", "drew", "drew", "filter"),
        ("sold", "alex", "drew", "coffee"),
        ("sold", "New York", "drew", "coffee"),
        ("sold", "drew", "alex", "filter"),
        ("knows", "drew", "alex"),
        ("knows", "alex", "drew"),
        ("knows", "alex", "sam"),
        ("person", "drew"),
        ("person", "sam"),
        ("not", "alex"),
        ("likes to", "drew", "tea"),
        ("likes to", "Sam", "tea"),
    ],
    SCHEMA,
)


def answers(text: str) -> set[tuple[str, ...]]:
    return set(evaluate(parse_datalog(text, SCHEMA), GRAPH))


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("person", "t(X) <- person(X)"),
        ("project[0, 2](sold)", "t(X, Y) <- sold(X, Z, Y)"),
        ("select[1 = coffee](sold)", "t(X, Y) <- sold(X, coffee, Y)"),
        ("select_equal[0, 1](sold)", "t(X, Y) <- sold(X, X, Y)"),
        ('select[0 = "New York"](sold)', 't(X, Y) <- sold("New York", X, Y)'),
        ("union(knows, select[2 = coffee](sold))", "t(X, Y) <- knows(X, Y)\nt(X, Y) <- sold(X, Y, coffee)"),
        ("difference(knows, select[2 = filter](sold))", "t(X, Y) <- knows(X, Y), not sold(X, Y, filter)"),
        ("project[0, 2](join[1 = 0](knows, knows))", "t(X, Y) <- knows(X, Z), knows(Z, Y)"),
        ("join[2 = 0](join[1 = 0](knows, knows), knows)", "t(X, Y, Z, U) <- knows(X, Y), knows(Y, Z), knows(Z, U)"),
        ("select[0 = drew](product(person, person))", "t(X) <- person(X), person(drew)"),
        ("project[0](difference(knows, permute[1, 0](knows)))", "t(X) <- knows(X, Y), not knows(Y, X)"),
        ("difference(project[0](knows), person)", "t1(X) <- knows(X, Y)\nt(X) <- t1(X), not person(X)"),
        ("difference(person, project[0](knows))", "t1(X) <- knows(X, Y)\nt(X) <- person(X), not t1(X)"),
        ("project[0](union(knows, permute[1, 0](knows)))", "t(X) <- knows(X, Y)\nt(X) <- knows(Y, X)"),
        ("filter[2 = coffee](sold)", "t(X, Y, Z) <- sold(X, Y, Z), Z = coffee"),
        ("filter[0 != drew](person)", "t(X) <- person(X), X != drew"),
        ("filter_unequal[1, 0](knows)", "t(X, Y) <- knows(X, Y), X != Y"),
        ("filter[1 != tea](filter[0 = sam](filter[1 != tea](knows)))", "t(X, Y) <- knows(X, Y), X = sam, Y != tea"),
        ("select[0 = drew](filter[0 = sam](knows))", "t(X) <- knows(drew, X), X != X"),
        ("select[0 = drew](filter_unequal[0, 1](knows))", "t(X) <- knows(drew, X), X != drew"),
        ("select_equal[0, 1](filter_unequal[0, 1](knows))", "t(X) <- knows(X, X), X != X"),
        ("project[1](filter[0 = drew](knows))", "t(X) <- knows(Y, X), Y = drew"),
        ("intersection(knows, project[1, 0](sold))", "t(X, Y) <- knows(X, Y), sold(Y, X, Z)"),
        ("intersection(person, filter[0 != drew](project[0](knows)))", "t(X) <- person(X), knows(X, Y), X != drew"),
        (
            "intersection(person, union(project[0](knows), project[1](knows)))",
            "t1(X) <- knows(X, Y)\nt1(X) <- knows(Y, X)\nt(X) <- person(X), t1(X)",
        ),
        ("difference(person, filter[0 = drew](person))", "t1(X) <- person(X), X = drew\nt(X) <- person(X), not t1(X)"),
        ("difference(filter[0 = drew](knows), knows)", "t(X, Y) <- knows(X, Y), X = drew, not knows(X, Y)"),
        ("difference(person, \"not\")", 't(X) <- person(X), not "not"(X)'),
        ('"likes to"', 't(X, Y) <- "likes to"(X, Y)'),
    ],
)  # fmt: skip
def test_expressions_read_as_a_person_would_write_them(text: str, rules: str) -> None:
    expression = parse(text, SCHEMA)
    assert datalog(expression) == rules
    assert set(evaluate(parse_datalog(rules, SCHEMA), GRAPH)) == set(evaluate(expression, GRAPH))


def check_round_trip(expression: Expression, graph: Hypergraph) -> None:
    rules = datalog(expression)
    read = parse_datalog(rules, graph.schema)
    assert list(evaluate(read, graph)) == list(evaluate(expression, graph)), (str(expression), rules)
    assert datalog(read) == rules, str(expression)


@pytest.mark.parametrize("seed", range(8))
def test_rules_mean_the_same_and_are_written_alike_again(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    for _ in range(count(40, 1000)):
        entities = ["alex", "Drew", "_x", "a, b", "t"][: chance.randint(1, 5)]
        schema = random_schema(chance)
        expression = random_expression(chance, schema, entities, chance.randint(1, 7))
        check_round_trip(expression, random_graph(chance, schema, entities))


@pytest.mark.parametrize("seed", range(2))
def test_odd_names_are_quoted_where_they_must_be(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    for _ in range(count(40, 500)):
        schema = random_schema(chance, chance.sample(ODD_NAMES, 4))
        expression = random_expression(chance, schema, ODD_NAMES, chance.randint(1, 6))
        check_round_trip(expression, random_graph(chance, schema, ODD_NAMES))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_the_head_can_have_any_name(name: str) -> None:
    expression = parse("difference(person, project[0](knows))", SCHEMA)
    rules = datalog(expression, name)
    assert datalog(parse_datalog(rules, SCHEMA), name) == rules


def test_heads_give_way_to_relations_of_the_expression_and_hide_others() -> None:
    schema = Schema([RelationSchema("t", 1), RelationSchema("t1", 2), RelationSchema("t2", 1)])
    expression = Relation(schema["t"]) - Relation(schema["t1"]).project(0)
    assert datalog(expression) == "t3(X) <- t1(X, Y)\nt2(X) <- t(X), not t3(X)"
    assert datalog(parse_datalog(datalog(expression), schema)) == datalog(expression)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t(X) <- sold(X, _, _)", {("drew",), ("alex",), ("New York",)}),
        ("t(X) <- person(X), not sold(X, _, coffee)", {("sam",)}),
        ("t(X) <- knows(X, Y), not person(X)", {("alex",)}),
        ("t(X, Y) <- knows(X, Y), not sold(_, _, tea)", {("drew", "alex"), ("alex", "drew"), ("alex", "sam")}),
        ("t(X, Y) <- knows(X, Y), not person(drew)", set()),
        ("t(X) <- person(drew), knows(X, drew)", {("alex",)}),
        ("two(X, Z) <- knows(X, Y), knows(Y, Z). t(X) <- two(X, X).", {("drew",), ("alex",)}),
        ("t(X) <- person(X). t(Y) <- sold(_, Y, _).", {("drew",), ("sam",), ("alex",)}),
        ("sold(X) <- person(X)\n\n t(Y) <- sold(Y)\n", {("drew",), ("sam",)}),
        ("t ( X ) <-\n person ( X ) ,\n not  knows ( X , _ )", {("sam",)}),
        ('t(X) <- sold("New York", X, coffee)', {("drew",)}),
        ("t(X, Y) <- sold(X, Y, Z), X != Y, Z != coffee, X = drew", {("drew", "alex")}),
        ("t(X) <- X != Y, drew != X, knows(X, Y)", {("alex",)}),
        ("t(X) <- person(X), X != drew. t(X) <- knows(X, sam), X = alex.", {("sam",), ("alex",)}),
        ("t(X) <- person(X), X = drew.\nu(Y) <- t(Y), Y = Y.", {("drew",)}),
        ('t(X) <- sold(X, _, _), "New York" = X', {("New York",)}),
    ],
)
def test_rules_written_by_hand(text: str, expected: set[tuple[str, ...]]) -> None:
    read = parse_datalog(text, SCHEMA)
    assert answers(text) == expected
    rewritten = datalog(read)
    assert answers(rewritten) == expected
    assert datalog(parse_datalog(rewritten, SCHEMA)) == rewritten


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "expected a relation"),
        ("t() <- person(X)", 3, "expected a variable or an entity"),
        ("t(X) <- persn(X)", 9, "unknown relation 'persn'; did you mean 'person'"),
        ("t(X) <- knows(X)", 9, "'knows' takes 2 terms, not 1"),
        ("t(X) <- person(X) knows(X, Y)", 19, "expected ',' before another condition"),
        ('t(X) <- knows(X, "a', 18, "this quote is never closed"),
        ("t(X) <- person(X), not knows(X, Y)", 33, "must also be in a condition without 'not'"),
        ("t(drew) <- person(drew)", 3, "distinct variables"),
        ("t(X) <- knows(X, New York)", 18, "put the name of an entity in quotes"),
        ('t(X) <- knows(X, "")', 18, "empty name"),
        ("t(X) <- t(X)", 9, "rules cannot be recursive"),
        ("t(X) <- person(X), X != Y", 20, "must also be in a condition without 'not', = or !="),
        ("t(X) <- person(X), not X = drew", 24, "a comparison is negated by !="),
        ("t(X) <- person(X), drew = alex", 20, "a comparison needs a variable"),
        ("t(X) <- person(X), != drew", 20, "expected a name before '!='"),
        ("t(X) <- person(X)\n  t(X) <- nobody(X)", 11, "line 2, column 11: unknown relation 'nobody'"),
    ],
)
def test_mistakes_point_at_the_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_datalog(text, SCHEMA)
    assert f"column {column}: " in str(caught.value)
    assert reason in str(caught.value)


def test_depth_and_sharing_are_no_problem() -> None:
    expression: Expression = Relation(SCHEMA["knows"])
    for number in range(200):
        other = Relation(SCHEMA["sold"]).select(2, f"e{number}")
        joined = expression.join(other, {1: 0}).project(0, 2).filter_not(0, f"e{number}")
        expression = [expression | other, expression - other, joined, expression & other][number % 4]
    rules = datalog(expression)
    assert datalog(parse_datalog(rules, SCHEMA)) == rules
    expression: Expression = Relation(SCHEMA["knows"])
    for _ in range(60):
        expression = expression.permute(1, 0) - (expression | expression.permute(1, 0))
    assert len(datalog(expression).splitlines()) < 400


@pytest.mark.parametrize("seed", range(4))
def test_broken_rules_are_errors_and_never_tracebacks(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    pieces = [
        "t(X)", "<-", "person(X)", "knows(X, Y)", "not ", ",", "(", ")", '"', "_", ".", "\n", "X", "drew", "\\", "=", "!=",
        "X != drew", "é",
    ]  # fmt: skip
    good = "t1(X, Y) <- sold(X, Y, coffee), X != Y, not knows(Y, X), Y = drew\nt(X) <- t1(X, _), person(X)"
    for _ in range(count(300, 5000)):
        if chance.random() < 0.5:
            text = " ".join(chance.choices(pieces, k=chance.randint(0, 9)))
        else:
            start, stop = sorted(chance.sample(range(len(good) + 1), 2))
            text = good[:start] + chance.choice(pieces) + good[stop if chance.random() < 0.5 else start :]
        refusal = refusal_of(text)
        assert not refusal or re.search(r", (line \d+, )?column \d+: ", refusal)


def refusal_of(text: str) -> str:
    try:
        datalog(parse_datalog(text, SCHEMA))
    except RelatumError as error:
        return str(error)
    return ""
