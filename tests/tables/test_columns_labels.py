"""Which columns are labels: by what they are called, in any spelling, and by how many rows share a text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from relatum.data.labels import Labels
from relatum.tables import read
from relatum.tables.columns import Profile, is_called_like_label, labels_of, words_of
from relatum.tables.source import SourceColumn, SourceTable
from support.small_tables import sqlite_of, store_of


def found(table: str, together: int = 100, **distinct: int) -> tuple[str, ...]:
    """Return the labels of a table of 100 rows whose columns of text have so many different values."""
    columns = tuple(SourceColumn(name, "text", "text") for name in ("id", *distinct))
    profiles = {name: Profile("text", False, 100, 0, count, 2.0, 12.0) for name, count in {"id": 100, **distinct}.items()}
    return labels_of(SourceTable(table, columns, ("id",)), profiles, lambda _: together)


@pytest.mark.parametrize(
    ("name", "words"),
    [("nameFirst", "name first"), ("NAME_FULL", "name full"), ("park.name", "park name"), ("URLTitle", "url title")],
)
def test_words_are_the_same_in_every_spelling(name: str, words: str) -> None:
    assert words_of(name) == words.split()


NAMES = "schools name_full, schools full_name, schools fullname, users displayName, Genre GenreName, genres genrename, "
NAMES += "parks park.name, parks parkname, TeamsFranchises franchName, categories category_name, hr.cities CityName, "
NAMES += "film film_title, things label, shops name"
PEOPLE = "nameFirst nameLast, FirstName LastName, first_name last_name, firstname lastname, given_name family_name, "
PEOPLE += "forename surname, PlayerFirstName PlayerLastName"


@pytest.mark.parametrize(("table", "column"), [pair.split() for pair in NAMES.split(", ")])
def test_a_name_is_a_label_although_two_rows_share_it(table: str, column: str) -> None:
    assert found(table, phone=100, **{column: 98}) == (column,)
    assert is_called_like_label((column,), table)


@pytest.mark.parametrize(
    ("table", "column"), [("orders", "ship_name"), ("users", "username_hash"), ("people", "birthCity"), ("people", "rename")]
)
def test_other_columns_are_none_unless_they_are_unique(table: str, column: str) -> None:
    assert found(table, **{column: 98}) == ()
    assert found(table, **{column: 100}) == (column,)
    assert not is_called_like_label((column,), table)


@pytest.mark.parametrize(("first", "last"), [pair.split() for pair in PEOPLE.split(", ")])
def test_first_and_last_names_are_a_label_together_in_this_order(first: str, last: str) -> None:
    assert found("players", **{last: 60, first: 20}) == (first, last)
    assert found("players", together=30, **{last: 20, first: 10}) == ()  # the same few people again and again


def test_the_best_of_several_is_taken() -> None:
    assert found("employees", title=8, name=90) == ("name",)
    assert found("films", title=95, name=20) == ("title",)
    assert found("films", retroID=100, slogan=100) == ("slogan",)  # a code says less to people
    assert found("films", retroID=100) == ("retroID",)


def test_two_people_of_one_name_are_shown_with_it_and_told_apart_in_questions(tmp_path: Path) -> None:
    script = "CREATE TABLE people (id TEXT PRIMARY KEY, nameLast TEXT, nameFirst TEXT, bats TEXT);"
    rows: Sequence[tuple[str, str, str, str]] = [(f"p{n}", f"Last{n // 2}", "Joe", "LR"[n % 2]) for n in range(12)]
    rows = [*rows, ("p12", "Sole", "Ann", "L")]
    imported = read(sqlite_of(tmp_path / "p.db", script, people=rows))
    assert {one.column: one.outcome for one in imported.columns} == {
        "id": "key",
        "nameLast": "label",
        "nameFirst": "label",
        "bats": "entities",
    }
    assert store_of(imported.split)["people"].schema.label == ("nameFirst", "nameLast")
    labels = Labels(store_of(imported.split))
    assert labels.of("people:p3") == "Joe Last1"
    assert labels.named("Ann Sole") == ["people:p12"]
    assert labels.named("Joe Last1") == ["people:p2", "people:p3"]
