"""A query is answered in whichever language it is written, with the facts that each row rests on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import relatum
from relatum import Run
from relatum.resources.queries import language_of, query
from support.mistakes import mistake


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("sql", ["SELECT buyer FROM sold", "SELECT * FROM a", "select buyer", " Explain select 1", "drop table x"]),
        ("question", ["sold(drew, ?, book)", "sold("]),
        ("algebra", ["sold", "select[item = tea](sold)", "(sold)(drew, ?, book)", "select(a, ?)", "update(a, b)", "", "("]),
    ],
)  # fmt: skip
def test_the_language_is_known_by_the_text(example: Run, language: str, texts: list[str]) -> None:
    assert {language_of(example, text) for text in texts} == {language}


def test_the_three_languages_agree_on_what_is_known(example: Run) -> None:
    texts = (
        "SELECT buyer FROM sold WHERE seller = 'drew' AND item = 'book' AND known",
        "select[seller = drew](select[item = book](sold))",
        "sold(drew, ?, book)",
    )
    for text in texts:
        found = query(example, text, 20)
        assert found.columns == ("buyer",)
        assert {row.values[0].name for row in found.rows if row.known} == {"alex"}
        assert all(row.witness[0].fact.text == f"sold(drew, {row.values[0].name}, book)" for row in found.rows)


def test_a_row_is_as_likely_as_its_witness_and_a_whole_fact_one_row(example: Run) -> None:
    for row in query(example, "join[2 = 1](sold, buyer)", 40).rows:
        together = 1.0
        for one in row.witness:
            assert one.fact.probability is not None
            together *= one.fact.probability
        assert row.probability == pytest.approx(together)
        assert row.known == all(one.fact.known for one in row.witness)
    found = query(example, "sold(drew, alex, book)")
    assert (found.columns, found.rows[0].known) == (("seller", "buyer", "item"), True)


def test_new_rows_can_be_wanted_what_was_left_out_is_flagged_and_a_plan_shown(example: Run) -> None:
    assert not any(row.known for row in query(example, "sold", 5, new_only=True).rows)
    with mistake("contradictory-options", place="new_only"):
        query(example, "SELECT buyer FROM sold", new_only=True)
    assert query(example, "sold", 3).truncated
    assert not query(example, "SELECT buyer FROM sold WHERE seller = 'drew' AND known", 50).truncated
    assert query(example, "EXPLAIN SELECT buyer FROM sold WHERE seller = 'drew'", 3).plan


def test_views_of_sql_can_be_used_in_algebra(example_run: Path, tmp_path: Path) -> None:
    run = relatum.open(example_run).save(tmp_path / "run")
    run.sql("CREATE VIEW pairs AS SELECT s.seller, b.person FROM sold s JOIN buyer b ON s.item = b.item")
    by_algebra = query(run, "project[0](pairs)", 50)
    by_sql = query(run, "SELECT seller FROM pairs", 50)
    assert {row.values for row in by_algebra.rows if row.known} == {row.values for row in by_sql.rows if row.known}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE VIEW x AS SELECT buyer FROM sold", "read-only"),
        ("DROP TABLE sold", "sql-not-supported"),
        ("SELECT byer FROM sold", "unknown-name"),
        ("sould(a, ?)", "unknown-name"),
        ("project[0](sould)", "unknown-name"),
        ("project[0](sold", "syntax"),
        ("((((", "syntax"),
        ("SELECT " + "(" * 60 + "1", "over-limit"),
    ],
)
def test_what_cannot_be_answered_is_refused(example: Run, text: str, code: str) -> None:
    with mistake(code):
        query(example, text)
    assert not example.definitions


def test_what_is_costly_is_worked_out_once(example: Run) -> None:
    calls: list[int] = []
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: example.remembered("tests of this", lambda: calls.append(1) or len(calls)), range(8)))
    assert calls == [1]
