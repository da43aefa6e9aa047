"""A statement is a fact, and the fact is that statement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import RelationSchema
from relatum.data.vocabulary import fault_of
from relatum.statements.statement import (
    MOST_QUALIFIERS,
    Statement,
    fact_of,
    main_property,
    relation_of,
    roles_of,
    statement,
    statement_of,
)
from support.made_statements import statements
from support.mistakes import mistake
from support.strategies import names

CURIE = statement("P166", "Q7186", "Q38104", [("P585", "1903"), ("P1706", "Q41269"), ("P1706", "Q37463")])


def test_the_fact_of_a_statement_begins_with_head_and_tail_and_has_sorted_qualifiers() -> None:
    relation, *entities = fact_of(CURIE)
    assert relation == "P166+P1706+P1706#2+P585"
    assert entities == ["Q7186", "Q38104", "Q37463", "Q41269", "1903"]
    assert roles_of(relation) == ("P166_h", "P166_t", "P1706", "P1706#2", "P585")
    assert fact_of(statement("P26", "Q7186", "Q37463")) == ("P26", "Q7186", "Q37463")


@given(statements, statements)
def test_nothing_is_lost_and_two_statements_are_two_facts(one: Statement, other: Statement) -> None:
    assert statement_of(fact_of(one)) == one
    assert (fact_of(one) == fact_of(other)) == (one == other)


@given(statements)
def test_relations_roles_and_entities_are_names_that_files_of_facts_allow(one: Statement) -> None:
    relation, *entities = fact_of(one)
    roles = roles_of(relation)
    assert RelationSchema(relation, len(entities), roles).roles == roles  # whose roles differ, and are no numbers
    assert not any(map(fault_of, entities))
    assert not relation.startswith("\ufeff")
    assert main_property(relation, roles) == one.property


@given(st.lists(statements, min_size=2, max_size=2))
def test_a_property_has_one_role_in_all_relations_and_a_main_property_one_head(pair: list) -> None:  # type: ignore[type-arg]
    first, second = (
        dict(zip((key for key, _ in one.qualifiers), roles_of(fact_of(one)[0])[2:], strict=True)) for one in pair
    )
    for one, other in ((first, second), (second, first)):
        for key, role in one.items():
            assert role.partition("#")[0] == other.get(key, role).partition("#")[0]
    heads = [roles_of(fact_of(one)[0])[:2] for one in pair]
    assert (heads[0] == heads[1]) == (pair[0].property == pair[1].property)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("a+b", "a%2Bb"),
        ("a#2", "a%232"),
        ("100%", "100%25"),
        ("x_h", "x%5Fh"),
        ("7", "%37"),
        (" ", "%20"),
        ("\t\n", "%09%0A"),
    ],
)
def test_what_would_break_a_name_is_written_as_hexadecimal_digits(name: str, role: str) -> None:
    assert relation_of("P1", (name,)) == f"P1+{role}"
    assert roles_of(relation_of(name, ())) == (f"{role}_h", f"{role}_t")


@pytest.mark.parametrize(
    "relation",
    ["P1+", "+P1", "P1+P3+P2", "P1+P2+P2", "P1+P2#2", "P1+P2+P2#3", "P1#2", "50%", "%41", "%2b", "%FF", "x_h", "7"],
)
def test_a_relation_that_no_statement_gives_is_refused(relation: str) -> None:
    with mistake("not-a-statement"):
        statement_of((relation, *"abcd"[: 2 + relation.count("+")]))
    assert main_property(relation, roles_of(relation)) is None


def test_a_fact_of_other_sizes_and_an_entity_that_no_value_gives_are_refused() -> None:
    with mistake("not-a-statement"):
        statement_of(("sold", "drew", "alex", "book"))
    with mistake("not-a-statement"):
        statement_of(("sold", "drew", "50%"))


@given(names)
def test_facts_of_two_entities_are_statements_as_they_are(name: str) -> None:
    if "%" not in name:
        assert statement_of(("sold", name, "x")) == statement("sold", name, "x")


def test_main_property_is_that_of_statements_which_have_whole_texts() -> None:
    assert main_property("sold", ("seller", "buyer")) is None
    assert main_property("sold", None) is None
    for parts in (("", "a", "b"), ("p", "", "b"), ("p", "a", "")):
        with mistake("statement-limit"):
            statement(*parts)
    with mistake("statement-limit"):
        statement("p", "a", "b", [("q", "\ud800")])
    with mistake("statement-limit"):
        statement("p", "a", "b", [("q", "v")] * (MOST_QUALIFIERS + 1))
