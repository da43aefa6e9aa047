"""Queries with a promise: where known facts decide all but one link the set is that of the link, and all else is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import relatum
from relatum import Run
from relatum.runs.query_rows import QueryRows
from runs.test_completion import towns
from support.mistakes import mistake

SPLIT = towns()
_, WHO, OTHER, _ = next(fact for fact in SPLIT.train if fact[0] == "knows")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("towns") / "run"
    return relatum.fit(SPLIT, folder, dim=16, epochs=8, evidence=False, progress=False)


def rows_of(run: Run, text: str, coverage: float = 0.9) -> QueryRows:
    found = run.sql(text, coverage=coverage)
    assert isinstance(found, QueryRows)
    return found


def about(text: str) -> str:
    """Return a text with the names of two people, one of whom is known to know the other."""
    return text.replace("WHO", WHO).replace("OTHER", OTHER)


@pytest.mark.parametrize(
    ("text", "question", "known"),
    [
        ("SELECT position_1 FROM speaks WHERE position_0 = 'OTHER'", "speaks(OTHER, ?)", 0),
        (
            "SELECT s.position_1 FROM knows k JOIN speaks s ON s.position_0 = k.position_1 WHERE k.position_0 = 'WHO'",
            "speaks(OTHER, ?)",
            1,
        ),
        (
            "SELECT position_1 FROM lives WHERE position_0 = 'OTHER' AND EXISTS "
            "(SELECT * FROM knows k WHERE k.position_0 = 'WHO' AND k.position_1 = 'OTHER')",
            "lives(OTHER, ?)",
            1,
        ),
    ],
)
def test_the_set_is_that_of_the_one_link(run: Run, text: str, question: str, known: int) -> None:
    text = about(text)
    answers, found = run.complete(about(question), coverage=0.9, k=1000), rows_of(run, text)
    assert [(row.entities[-1], row.known) for row in found] == [(one.entity, one.known) for one in answers]
    assert len(answers.new) > 0
    assert found.promise == answers.promise
    assert found.promise is not None
    assert "assumes that an answer is missing" in found.promise
    for row in found:
        assert len(row.witness) == 1 + known
        assert all(fact.known for fact in row.witness[1:])
        assert row.probability == (1 if row.known else row.witness[0].probability)
    new = rows_of(run, f"{text} AND NOT known")
    assert list(new) == [row for row in found if not row.known]
    assert found.to_json()["coverage"] == answers.limit.to_dict() if answers.limit else None


def test_algebra_has_the_same_promise(run: Run) -> None:
    found = run.joined(f"(speaks)({OTHER}, ?)", coverage=0.8, new_only=True)
    answers = run.complete(f"speaks({OTHER}, ?)", coverage=0.8, new_only=True)
    assert [row.entities[0] for row in found] == [one.entity for one in answers]
    assert found.promise == answers.promise
    assert run.joined(f"(speaks)({OTHER}, ?)").promise is None


LINK, CUT = "coverage-needs-one-link", "coverage-not-promised"


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("SELECT position_1 FROM speaks WHERE position_0 = 'p3' OR position_0 = 'p4'", LINK, "alternatives"),
        ("SELECT position_1 FROM speaks WHERE position_0 = 'p3' AND position_1 <> 'l0'", LINK, "EXCEPT"),
        ("SELECT * FROM speaks", "coverage-needs-one-gap", ""),
        (
            "SELECT a.position_1 FROM speaks a JOIN speaks b ON b.position_1 = a.position_1 "
            "WHERE a.position_0 = 'p3' AND b.position_0 = 'p4'",
            LINK,
            "2 times",
        ),
        ("SELECT position_1 FROM knows WHERE position_0 = 'p0'", LINK, "knows"),
        (
            "SELECT s.position_1 FROM lives v JOIN speaks s ON s.position_0 = v.position_0 WHERE v.position_1 = 'c3'",
            LINK,
            "several",
        ),
        (
            "SELECT s.position_1 FROM lives v JOIN speaks s ON s.position_0 = v.position_1 WHERE v.position_0 = 'l1'",
            LINK,
            "follow",
        ),
        ("SELECT position_1 FROM speaks WHERE position_0 = 'p3' LIMIT 2", CUT, "LIMIT"),
        ("SELECT position_1 FROM speaks WHERE position_0 = 'p3' AND known", CUT, "known"),
        ("SELECT position_1 FROM speaks WHERE position_0 = 'p3' AND probability > 0.5", CUT, "probability"),
        ("CREATE VIEW v AS SELECT position_1 FROM speaks WHERE position_0 = 'p3'", CUT, "view"),
    ],
)
def test_anything_else_is_refused_in_one_line(run: Run, text: str, code: str, word: str) -> None:
    with mistake(code) as caught:
        run.sql(text, coverage=0.9)
    assert word in caught.value.reason


def test_a_cell_of_a_table_is_filled_with_a_promise(gappy_run: Path) -> None:
    shop = relatum.open(gappy_run)
    found = rows_of(shop, "SELECT country FROM customers WHERE id = 3")
    assert [row["country"] for row in found] == ["Italy"]
    assert "validation cells of this column" in (found.promise or "")
    known = rows_of(shop, "SELECT country FROM customers WHERE id = 1")
    assert all(row.known for row in known)
    assert known.promise is None
    assert known.to_json()["coverage"] is None
