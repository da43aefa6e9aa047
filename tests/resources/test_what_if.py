"""What is assumed counts for one question alone, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from relatum import DataError, Run
from relatum.resources.what_if import what_if
from support.mistakes import mistake


def test_an_assumed_fact_is_known_for_the_question_and_a_known_one_stays(example: Run) -> None:
    found = what_if(example, "sold(drew, ?, book)", ["sold(drew, joe, book)"])
    assert found.before is not None
    assert "joe" not in {row.values[0].name for row in found.before.rows if row.known}
    (row,) = (one for one in found.after.rows if one.values[0].name == "joe")
    assert row.known
    assert row.witness[0].fact.source == "assumed"
    assert found.assumed[0].source == "assumed"
    found = what_if(example, "sold(drew, ?, book)", ["sold(drew, alex, book)"])
    assert found.assumed[0].source in ("train", "valid", "test")
    assert found.before == found.after


def test_an_assumed_cell_changes_what_the_rest_of_the_row_says(tables: Run) -> None:
    for city, country in (("Paris", "France"), ("Oslo", "Norway")):
        found = what_if(tables, "customers.country(3, ?)", [f"customers.city(3, {city})"], new_only=True)
        assert found.after.rows[0].values[0].name == f"customers.country:{country}"


def test_definitions_are_for_the_question_alone(example: Run) -> None:
    found = what_if(example, "purchase(alex, ?, ?)", definitions={"purchase": "permute[1, 0, 2](sold)"})
    assert found.before is None
    assert {row.values[0].name for row in found.after.rows if row.known} == {
        fact[0] for fact in set(example.table("sold")) if fact[1] == "alex"
    }
    joined = {"pairs": "project[0, 3](join[2 = 1](sold, buyer))"}
    for text in ("pairs", "SELECT * FROM pairs"):
        assert what_if(example, text, definitions=joined).after.rows
    assert not example.definitions
    with pytest.raises(DataError):
        what_if(example, "purchase")


def test_nothing_is_kept(example: Run, example_run: Path) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in example_run.iterdir())
    assert what_if(example, "sold", ["sold(drew, joe, book)"], {"likes": "SELECT buyer, item FROM sold"}).assumed
    assert ("sold", "drew", "joe", "book") not in set(example.stored)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in example_run.iterdir()) == before


@pytest.mark.parametrize(
    ("facts", "definitions", "code"),
    [
        (["sold(drew, ?, book)"], {}, "gap-in-fact"),
        (["sold(drew, nobody, book)"], {}, "unknown-name"),
        (["sold(drew, joe, book)"] * 101, {}, "over-limit"),
        ([], {"sold": "buyer"}, "name-taken"),
        ([], {"x": "project[0](sould)"}, "unknown-name"),
        ([], {"x": "DROP TABLE sold"}, "sql-not-supported"),
        ([], {f"x{n}": "sold" for n in range(11)}, "over-limit"),
    ],
)
def test_what_cannot_be_assumed_is_refused(example: Run, facts: list[str], definitions: dict[str, str], code: str) -> None:
    with mistake(code):
        what_if(example, "sold(drew, ?, book)", facts, definitions)
