"""Answers to many questions are written as they come: the same rows to every target, or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from relatum import Run
from relatum.runs import bulk_completion
from relatum.runs.answerer import AnswerBlock
from support.mistakes import mistake

QUESTION = "sold(*, ?, channel, 0.25)"
COLUMNS = ["customer_id", "channel", "item_code", "rank", "score", "probability", "source"]


@pytest.fixture(scope="module")
def run(shop_run: Path) -> Run:
    return Run.load(shop_run)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_completion, "_CELLS", 400)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the rows of the table that was written into a file of SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM suggested_sold")]


def test_what_is_written_are_the_answers_as_values(run: Run, tmp_path: Path) -> None:
    """That rows of any form come to every target, in parts as in one piece, is tested of targets."""
    path = tmp_path / "out.db"
    written = run.complete_each(QUESTION, k=2, to=path)
    found, expected = rows_of(path), run.complete_each(QUESTION, k=2)
    assert (written.rows, written.to, written.table) == (len(expected), str(path), "suggested_sold")
    assert written.questions == len({one.entities[:2] for one in expected}) > 10
    assert [list(row) for row in found] == [COLUMNS] * len(expected)
    assert [tuple(row.values()) for row in found] == [
        (
            int(one["customer_id"].removeprefix("customers:")),
            one["channel"].partition(":")[2].replace("␉", "\t"),
            one["item_code"].removeprefix("items:"),
            *(one.rank, one.score, one.probability, one.source),
        )
        for one in expected
    ]
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_new_answers_have_no_source_and_full_names_are_kept(run: Run, tmp_path: Path) -> None:
    run.complete_each(QUESTION, k=2, new_only=True, full_names=True, to=tmp_path / "out.db")
    found, expected = rows_of(tmp_path / "out.db"), run.complete_each(QUESTION, k=2, new_only=True)
    assert list(found[0]) == COLUMNS[:-1]
    assert [tuple(row.values())[:3] for row in found] == [one.entities for one in expected]


def test_a_role_can_be_called_as_our_own_columns(run: Run, tmp_path: Path) -> None:
    run.complete_each("reviews(*, 001, 5, ?)", k=1, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "customer_id,score,rank,score_,probability,source"


def test_rows_go_into_a_postgresql_database(run: Run, database: str) -> None:
    import psycopg

    written = run.complete_each(QUESTION, k=2, to=database, table="mine")
    again = run.complete_each(QUESTION, k=1, new_only=False, to=database, table="mine", append=True)
    with closing(psycopg.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (written.rows + again.rows,)


def test_ctrl_c_in_the_midst_leaves_what_was_there(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.db"
    whole = bulk_completion.answer_blocks

    def stopped(*arguments: Any, **options: Any) -> Iterator[AnswerBlock]:
        yield next(iter(whole(*arguments, **options)))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("relatum.runs.bulk_completion.answer_blocks", stopped)
        with pytest.raises(KeyboardInterrupt):
            run.complete_each(QUESTION, k=2, to=path)
        assert list(tmp_path.iterdir()) == []
    run.complete_each(QUESTION, k=2, to=path)
    before = rows_of(path)
    monkeypatch.setattr("relatum.runs.bulk_completion.answer_blocks", stopped)
    with pytest.raises(KeyboardInterrupt):
        run.complete_each(QUESTION, k=1, to=path, replace=True)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert rows_of(path) == before


def test_a_target_is_looked_at_before_the_work(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.csv").write_text("mine")
    monkeypatch.setattr("relatum.runs.bulk_completion.answer_blocks", None)
    with mistake("table-exists"):
        run.complete_each(QUESTION, to=tmp_path / "out.csv")
    with mistake("table-not-for-file"):
        run.complete_each(QUESTION, to=tmp_path / "new.csv", table="mine")
    with mistake("option-needs-option"):
        run.complete_each(QUESTION, full_names=True)
    assert [one.name for one in tmp_path.iterdir()] == ["out.csv"]
