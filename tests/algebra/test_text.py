"""Expressions as text: what is written is read back, many ways of writing are read, and mistakes point at the column."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import RelationSchema, Schema
from relatum.algebra import Expression, Join, Relation, parse
from relatum.errors import DataError, RelatumError
from support.mistakes import mistake
from support.random_expressions import ODD_NAMES, random_expression, random_schema
from support.strategies import names, relation_schemas

SCHEMA = Schema(
    [
        RelationSchema("sold", 3, ("seller", "buyer", "item")),
        RelationSchema("knows", 2),
        RelationSchema("person", 1),
        RelationSchema("union", 2),
        RelationSchema("odd [one], or=so", 2, ("a = b", "project")),
    ]
)
sold, knows, person, union, odd = map(Relation, SCHEMA)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sold, "sold"),
        (sold.permute(1, 0, 2), "permute[1, 0, 2](sold)"),
        (sold.select(1, "coffee").project("seller"), "project[0](select[1 = coffee](sold))"),
        (sold.select_equal("seller", "buyer"), "select_equal[0, 1](sold)"),
        (knows | union, 'union(knows, "union")'),
        (knows - knows.permute(1, 0), "difference(knows, permute[1, 0](knows))"),
        (person * person, "product(person, person)"),
        (sold.join(knows, {"item": 1, "seller": 0}), "join[0 = 0, 2 = 1](sold, knows)"),
        (odd.select(0, 'say "hi"'), r'select[0 = "say \"hi\""]("odd [one], or=so")'),
        (knows.select(0, "1"), 'select[0 = "1"](knows)'),
        (knows.select(0, "a b"), 'select[0 = "a b"](knows)'),
        (sold.filter("item", "coffee"), "filter[2 = coffee](sold)"),
        (person.filter_not(0, "drew"), "filter[0 != drew](person)"),
        (knows.filter(0, "1"), 'filter[0 = "1"](knows)'),
        (sold.filter_equal("buyer", "seller"), "filter_equal[0, 1](sold)"),
        (sold.filter_unequal(0, "item"), "filter_unequal[0, 2](sold)"),
        (knows & knows.permute(1, 0), "intersection(knows, permute[1, 0](knows))"),
    ],
)
def test_an_expression_is_one_readable_line(expression: Expression, text: str) -> None:
    assert str(expression) == text
    assert parse(text, SCHEMA) == expression
    assert text in repr(expression)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (" permute [ 1 ,0, 2 ] ( sold ) ", sold.permute(1, 0, 2)),
        ("permute[buyer, seller, item](sold)", sold.permute(1, 0, 2)),
        ("project[item](permute[1, 0, 2](sold))", sold.permute(1, 0, 2).project(2)),
        ("select[item=coffee](sold)", sold.select(2, "coffee")),
        ("select[2 = new york](sold)", sold.select(2, "new york")),
        ("select[0 = 1](knows)", knows.select(0, "1")),
        ('select["seller" = "?"](sold)', sold.select(0, "?")),
        ('select["a = b" = x]("odd [one], or=so")', odd.select(0, "x")),
        ("union(union, union)", union | union),
        ("join[1 = 1, seller = 0](sold, knows)", Join(sold, knows, ((1, 1), (0, 0)))),
        ("union(\nknows,\n\tunion)", knows | union),
        ("filter[item!=coffee](sold)", sold.filter_not(2, "coffee")),
        ("filter[item !=coffee!](sold)", sold.filter_not(2, "coffee!")),
        ('filter["a = b" != "x!="]("odd [one], or=so")', odd.filter_not(0, "x!=")),
        ("filter[0 = 1](knows)", knows.filter(0, "1")),
        ("filter_unequal[buyer, 0](sold)", sold.filter_unequal(0, 1)),
        ("filter_unequal[1, 1](sold)", sold.filter_unequal(1, 1)),
    ],
)
def test_an_expression_can_be_written_in_many_ways(text: str, expression: Expression) -> None:
    assert parse(text, SCHEMA) == expression


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_read_back(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    for _ in range(count(80, 2000)):
        schema = random_schema(chance, chance.sample(ODD_NAMES, 4))
        expression = random_expression(chance, schema, ODD_NAMES, chance.randint(1, 8))
        assert "\n" not in str(expression)
        assert parse(str(expression), schema) == expression
        assert parse(expression.text(roles=True), schema) == expression
        plain = Schema(RelationSchema(relation.name, relation.arity) for relation in schema)
        assert str(parse(str(expression), plain)) == str(expression)


def test_roles_are_written_for_people_where_they_are_known() -> None:
    assert sold.permute(1, 0, 2).project(0, 2).text(roles=True) == "project[buyer, item](permute[buyer, seller, item](sold))"
    assert sold.select(2, "coffee").text(roles=True) == "select[item = coffee](sold)"
    loud = Relation(RelationSchema("loud", 1, ("what!",)))
    assert loud.filter_not(0, "!").text(roles=True) == "filter[what! != !](loud)"
    assert parse("filter[what! != !](loud)", Schema([loud.schema])) == loud.filter_not(0, "!")
    assert parse("filter[what! = x](loud)", Schema([loud.schema])) == loud.filter(0, "x")
    assert knows.permute(1, 0).text(roles=True) == "permute[1, 0](knows)"


@given(relation_schemas(), names)
def test_any_name_is_read_back(relation: RelationSchema, entity: str) -> None:
    stored = Relation(relation)
    expression = (stored * stored).select(0, entity)
    assert parse(str(expression), Schema([relation])) == expression
    selected = stored.select(relation.arity - 1, entity) if relation.arity > 1 else stored
    assert parse(selected.text(roles=True), Schema([relation])) == selected


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("", 1, "expected a relation or an operation"),
        ("project[0](solt)", 12, "unknown relation 'solt'; did you mean 'sold'?"),
        ("sold(drew, ?, book)", 1, "unknown operation 'sold'"),
        ("project[0, sellr](sold)", 12, "unknown role of sold 'sellr'; did you mean 'seller'?"),
        ("project[](sold)", 1, "project keeps at least one of the 3 columns"),
        ("select[0](sold)", 1, "select is written select[2 = coffee](a)"),
        ('select[0 = ""](sold)', 1, "empty name"),
        ("filter(sold)", 1, "filter is written filter[2 = coffee](a) or filter[2 != coffee](a)"),
        ("filter[!= a](sold)", 8, "expected a name before '!='"),
        ("union(knows, select[0 = drew](knows))", 1, "of one arity, not knows/2 of arity 2 and select/1 of arity 1"),
        ("union(knows)", 12, "expected ','"),
        ("join(knows, knows)", 1, "join is written join[0 = 1, 2 = 0](a, b)"),
        ("join[0 = 2](knows, knows)", 10, "has positions 0 to 1, not 2"),
        ("select[0 = (sold)", 12, "expected a name"),
        ("select[0 = drew(sold)", 16, "expected ',' or ']'"),
        ('select[0 = "drew](sold)', 12, "this quote is never closed"),
        ("knows)", 6, "nothing should follow"),
        ('"project"[0](sold)', 1, "unknown relation 'project'"),
        ('"sold"[0]', 7, "nothing should follow"),
    ],
)
def test_mistakes_point_at_the_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        parse(text, SCHEMA)
    assert str(caught.value).startswith(f"{text!r}, column {column}: ")
    assert reason in str(caught.value)


def test_depth_is_no_problem() -> None:
    expression: Expression = knows
    for _ in range(5000):
        expression = expression.permute(1, 0)
    assert parse(str(expression), SCHEMA) == expression
    assert str(expression).count("permute[1, 0](") == 5000  # and no more than its length
    with mistake("syntax"):
        parse("permute[1,0](" * 10_000, SCHEMA)


@pytest.mark.parametrize("seed", range(4))
def test_broken_texts_are_errors_and_never_tracebacks(seed: int, count: Callable[[int, int], int]) -> None:
    chance = random.Random(seed)
    words = ["project", "where", "filter", "filter_equal", "!=", "union", "join", "sold", "knows", "seller", "0", "1", "é"]
    pieces = [*words, "[", "]", "(", ")", ",", "=", '"', "\\", " ", "\n"]
    good = 'union(project[0, item](sold), select_equal[1, 0](join[1 = 0](knows, select[buyer = "a b"](sold))))'
    for _ in range(count(400, 5000)):
        if chance.random() < 0.5:
            text = "".join(chance.choices(pieces, k=chance.randint(0, 12)))
        else:
            start, stop = sorted(chance.sample(range(len(good) + 1), 2))
            text = good[:start] + chance.choice(pieces) + good[stop if chance.random() < 0.5 else start :]
        check_read_or_refused(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    check_read_or_refused(text)


def check_read_or_refused(text: str) -> None:
    try:
        read = parse(text, SCHEMA)
    except RelatumError as error:
        refusal = str(error)
    else:
        assert parse(str(read), SCHEMA) == read
        return
    assert re.search(r", (line \d+, )?column \d+: ", refusal)
