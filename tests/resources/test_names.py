"""What completes a text that is being typed fits where the cursor is, and is quoted so that the text can be read."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import relatum
from relatum import Run, SettingError
from relatum.resources.names import SuggestedNames, find, suggest


def at(run: Run, marked: str, k: int = 10) -> SuggestedNames:
    """Return what completes a text whose cursor is marked by a bar."""
    return suggest(run, marked.replace("|", ""), marked.index("|"), k)


def inserted(run: Run, marked: str) -> str:
    """Return the text with its best completion in it."""
    found, text = at(run, marked), marked.replace("|", "")
    return text[: found.start] + found.matches[0].insert + text[found.end :]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("rat|", "ratings"),
        ("sales(customer 10|", "sales(10"),
        ("sales(?, ?, w|eb)", "sales(?, ?, web)"),
        ("sales(ch|", "sales(channel="),
        ("sales(channel=w|)", "sales(channel=web)"),
        ('seats("nor|")', "seats(north)"),
        ('items.price(?, 11|)', 'items.price(?, 11.02)'),
        ("proj|", "project"),
        ("project[0](rat|", "project[0](ratings"),
        ("select[ci|](customers.city)", "select[city](customers.city)"),
        ("select[city = Pa|](customers.city)", "select[city = Paris](customers.city)"),
        ("filter[city != Pa|](customers.city)", "filter[city != Paris](customers.city)"),
        ("SELECT co| FROM customers", "SELECT country FROM customers"),
        ("SELECT id FROM stoc|", "SELECT id FROM stock"),
        ("SELECT s.ch| FROM customers c JOIN sales s ON c.id = s.customer_id", None),
        ("SELECT id FROM customers WHERE city = 'P|'", "SELECT id FROM customers WHERE city = 'Paris'"),
        ("SELECT id FROM customers WHERE city = P|", "SELECT id FROM customers WHERE city = 'Paris'"),
    ],
)  # fmt: skip
def test_the_best_completion_is_put_in(tables: Run, marked: str, expected: str | None) -> None:
    whole = expected or marked.replace("ch|", "channel")
    assert inserted(tables, marked) == whole


def test_completed_questions_can_be_asked_and_entities_are_of_the_type_of_their_column(tables: Run) -> None:
    for marked in ("customers.city(?, Pa|)", "items.price(?, 11|)", "ratings(customer 1|, ?)"):
        assert tables.complete(inserted(tables, marked), k=1)
    cities = [match for match in at(tables, "customers.city(?, |").matches if match.kind == "entity"]
    assert {match.name.partition(":")[0] for match in cities} == {"customers.city"}
    assert [match.facts for match in cities] == sorted((match.facts for match in cities), reverse=True)
    assert cities[0].facts > 1
    assert {match.kind for match in at(tables, "sales(|").matches} == {"role", "entity"}
    labelled = at(tables, "ratings(customer 10|").matches[0]
    assert (labelled.label, labelled.insert) == ("customer 10", "10")
    assert at(tables, "customers.city(|", 3).truncated
    assert not at(tables, "customers.city(?, Pa|", 3).truncated
    with pytest.raises(SettingError):
        at(tables, "|", 1000)


@given(st.text("sold(drew, ?)[]='\"\\=\nSELECT FROM.|é", max_size=60), st.integers(-3, 70))
def test_no_text_is_refused(example: Run, text: str, cursor: int) -> None:
    found = suggest(example, text, cursor)
    assert 0 <= found.start <= found.end <= len(text)


def test_entities_are_found_by_name_value_label_and_spelling(tables: Run) -> None:
    assert [(one.entity.name, one.match) for one in find(tables, "paris").entities] == [("customers.city:Paris", "exact")]
    assert {one.entity.name for one in find(tables, "Ada").entities} == {"customers:1", "customers:2"}
    assert find(tables, "Parris").entities[0].match == "spelling"
    assert find(tables, "Parris").entities[0].entity.name == "customers.city:Paris"
    assert not find(tables, "").entities


def test_a_found_entity_says_where_it_stands(example: Run) -> None:
    hit = find(example, "drew").entities[0]
    assert hit.facts == sum("drew" in fact[1:] for fact in set(example.stored))
    assert sum(one.facts for one in hit.columns) == sum(fact[1:].count("drew") for fact in set(example.stored))
    assert hit.columns[0].facts == max(one.facts for one in hit.columns)


def test_it_is_quick_with_many_names() -> None:
    rng = random.Random(1)
    names = [f"name {rng.randrange(10**9):09}" for _ in range(10_000)]
    facts = [("likes", rng.choice(names), names[n]) for n in range(10_000)]
    run = relatum.fit(facts, dim=4, epochs=1, evidence=False, progress=False)
    suggest(run, "likes(name 1")  # builds the index
    began = time.perf_counter()
    for typed in ("likes(", "likes(n", "likes(name 12", "likes(?, 99", "likes(?, 9"):
        assert suggest(run, typed).matches
    assert time.perf_counter() - began < 1


def test_a_run_finds_by_label_what_its_pages_find(tables: Run) -> None:
    (found,) = tables.find("Customer 7", k=1)
    assert (found.name, found.match) == ("customers:7", "exact")
    assert find(tables, "Customer 7", k=1).entities[0].entity.name == found.name
