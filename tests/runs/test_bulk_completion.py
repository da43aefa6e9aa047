"""Answers to many questions are those that each gets alone, whatever the blocks and threads, and written as they come."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from relatum import Run, fit, read
from relatum.kernels.parallel import set_threads
from relatum.runs import bulk_completion
from relatum.runs.answerer import AnswerBlock
from relatum.runs.answers import Answer, Suggestion
from support.mistakes import mistake
from support.small_tables import sqlite_of


@pytest.fixture(scope="module")
def run(shop_run: Path) -> Run:
    """Return a run on the shop, with evidence."""
    return fit(Run.load(shop_run).split, dim=20, epochs=4, evidence=True, progress=False)


def by_question(found: object) -> dict[tuple[str, ...], list[Suggestion]]:
    """Return suggestions by the entities of their questions."""
    grouped: dict[tuple[str, ...], list[Suggestion]] = defaultdict(list)
    for one in found:  # type: ignore[attr-defined]
        grouped[one.entities[:-1]].append(one)
    return dict(grouped)


def exactly(found: list[Suggestion], alone: list[Answer]) -> None:
    """Check that suggestions are the answers to one question, the scores of new ones to the last bit."""
    assert [one.entities[-1:] for one in found] == [one.entities for one in alone]
    assert [one.source for one in found] == [one.source for one in alone]
    known = sum(one.known for one in alone)
    assert [one.score for one in found[known:]] == [one.score for one in alone[known:]]
    assert [one.score for one in found] == pytest.approx([one.score for one in alone], rel=1e-6)
    assert [one.probability for one in found[known:]] == pytest.approx([one.probability for one in alone[known:]], rel=1e-13)
    assert [one.probability for one in found] == pytest.approx([one.probability for one in alone], rel=1e-5)
    assert [one.rank for one in found] == [*range(1, known + 1), *range(1, len(alone) - known + 1)]


@pytest.mark.parametrize("new_only", [True, False])
@pytest.mark.parametrize("k", [1, 4, 40])
def test_each_question_gets_the_answers_that_it_gets_alone(run: Run, k: int, new_only: bool) -> None:
    bonus = run.evidence and run.evidence.bonus(run.schema.id("reviews"), 1, np.zeros((4, 1), np.int32))
    assert bonus is not None
    assert run.answer_calibration is not None
    found = by_question(run.complete_each("reviews(*, ?, 5, good)", k=k, new_only=new_only))
    customers = {fact[0] for fact in run.table("reviews")}
    assert found.keys() == {(one,) for one in customers}  # also those who have never given 5 stars
    assert any(one.known for group in found.values() for one in group) != new_only
    for (customer,), group in found.items():
        exactly(group, list(run.complete("reviews", customer, None, 5, "good", k=k, new_only=new_only)))


def test_several_positions_vary_over_what_known_facts_have(run: Run) -> None:
    found = by_question(run.complete_each("sold(customer_id, ?, channel, *)", k=2))
    assert found.keys() == {(fact[0], *fact[2:]) for fact in run.table("sold")}
    assert list(found) == sorted(found)
    for (customer, channel, discount), group in list(found.items())[::40]:
        exactly(group, list(run.complete("sold", customer, None, channel, discount, k=2)))


def test_all_entities_of_a_column_can_vary(run: Run) -> None:
    every = {f"customers:{n}" for n in range(1, 25)}
    few = by_question(run.complete_each("reviews(*, ?, 5, good)", k=1))
    found = by_question(run.complete_each("reviews(*, ?, 5, good)", k=1, all_entities=True))
    assert few.keys() < found.keys() == {(one,) for one in every}
    several = run.complete_each("reviews", "*", "*", None, "bad", k=1, new_only=True, all_entities=True)
    assert by_question(several).keys() == {(one, f"items:{n:03}") for one in every for n in range(1, 19)}
    question = several[100]
    exactly([question], list(run.complete("reviews", *question.entities[:-1], None, "bad", k=1, new_only=True)))


@pytest.mark.parametrize("model", ["m-distmult", "m-transh"])
def test_other_models_answer_in_bulk_too(model: str, tmp_path: Path) -> None:
    made = fit("example", tmp_path / "run", model=model, epochs=2, progress=False)
    for (seller, item), group in by_question(made.complete_each("sold(*, ?, *)", k=3)).items():
        alone = made.complete("sold", seller, None, item, k=3)
        assert [one.entities[-1] for one in group] == [one.entity for one in alone]
        assert [one.score for one in group] == pytest.approx([one.score for one in alone], rel=1e-5)
        assert [one.probability for one in group] == pytest.approx([one.probability for one in alone], rel=1e-4)


def test_without_calibration_there_is_no_probability() -> None:
    facts = [("likes", f"p{n % 7}", f"i{n % 5}") for n in range(35) if n % 3]
    made = fit(facts, epochs=2, progress=False)
    made.calibration = made.answer_calibration = None
    found = made.complete_each("likes(*, ?)", k=2, new_only=True)
    assert {one.probability for one in found} == {None}
    for (person,), group in by_question(found).items():
        assert [one.score for one in group] == [
            one.score for one in made.complete("likes", person, None, k=2, new_only=True)
        ]


def test_a_question_that_has_every_answer_already_gets_no_new_one(run: Run) -> None:
    facts = set(run.table("reviews"))
    pairs, stars = {(fact[0], fact[1], fact[3]) for fact in facts}, {fact[2] for fact in facts}
    found = by_question(run.complete_each("reviews(*, *, ?, *)", k=50))
    assert found.keys() == pairs
    assert all({one.entities[-1] for one in group} == stars for group in found.values())
    two = fit([("likes", person, item) for person in "ab" for item in ("a", "b")] * 2, epochs=1, progress=False)
    assert len(two.complete_each("likes(*, ?)", new_only=True)) == 0


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run on tables with keys: of one column, of two, and one that is unique beside the key."""
    people = [(n, f"c{n % 4}" if n % 5 else None, f"t{n % 3}", n if n % 6 else None) for n in range(60)]
    stock = {(n % 60, f"i{n % 7}"): f"s{n * n % 11 % 5}" for n in range(0, 400, 3)}
    script = """
        CREATE TABLE people (id INTEGER PRIMARY KEY, city TEXT, team TEXT, badge INTEGER UNIQUE);
        CREATE TABLE stock (person INTEGER REFERENCES people (id), item TEXT, shelf TEXT, PRIMARY KEY (person, item));"""
    stocked = [(*key, shelf) for key, shelf in stock.items()]
    path = sqlite_of(tmp_path_factory.mktemp("keyed") / "shop.db", script, people=people, stock=stocked)
    return fit(read(path, keep=["people.badge"]).split, dim=20, epochs=3, evidence=True, progress=False)


@pytest.mark.parametrize("new_only", [True, False])
@pytest.mark.parametrize(
    ("relation", "asked", "keys", "settled"),
    [
        ("people.city", ("*", None), [(0,)], 48),  # twelve people have no city
        ("people.city", (None, "*"), [(0,)], 0),
        ("people.badge", ("*", None), [(0,), (1,)], 60),  # all badges are taken
        ("people.badge", (None, "*"), [(0,), (1,)], 50),
        ("stock", ("*", "stock.item:i1", None), [(0, 1)], 19),
        ("stock", ("*", None, "stock.shelf:s1"), [(0, 1)], 14),  # who have every item
    ],
)
def test_no_new_answer_repeats_a_key(
    keyed: Run, relation: str, asked: tuple[str | None, ...], keys: list[tuple[int, ...]], settled: int, new_only: bool
) -> None:
    assert list(keyed.keys_of(relation)) == keys
    found = by_question(keyed.complete_each(relation, *asked, k=70, new_only=new_only, all_entities=True))
    facts, allowed = set(keyed.table(relation)), keyed.split.allowed_entities(relation)
    taken = [{tuple(fact[one] for one in key) for fact in facts} for key in keys]
    position, without = asked.index(None), 0
    for name in (keyed.entities[one] for one in allowed[asked.index("*")]):
        question = [name if one == "*" else one for one in asked]
        group = found.pop((name,), [])
        exactly(group, list(keyed.complete(relation, *question, k=70, new_only=new_only)))
        filled = [(*question[:position], keyed.entities[one], *question[position + 1 :]) for one in allowed[position]]
        free = [
            one[position]
            for one in filled
            if not any(tuple(one[at] for at in key) in there for key, there in zip(keys, taken, strict=True))
        ]
        assert sorted(one.entities[-1] for one in group if not one.known) == sorted(free)
        without += not free
    assert without == settled
    assert not found


def test_blocks_leave_no_trace(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_completion, "_CELLS", 1 << 22)
    whole = run.complete_each("sold(*, ?, *, *)", k=3)
    monkeypatch.setattr(bulk_completion, "_CELLS", 100)
    parts = run.complete_each("sold(*, ?, *, *)", k=3)
    assert [one.entities for one in parts] == [one.entities for one in whole]
    assert [one.score for one in parts if not one.known] == [one.score for one in whole if not one.known]
    assert [one.score for one in parts] == pytest.approx([one.score for one in whole], rel=1e-6)
    assert [one.probability for one in parts] == pytest.approx([one.probability for one in whole], rel=1e-5)


def test_threads_leave_no_trace(shop_run: Path, tmp_path: Path) -> None:
    written = []
    for threads in (1, 3):
        path = tmp_path / f"{threads}.csv"
        set_threads(threads)
        torch.set_num_threads(threads)
        Run.load(shop_run).complete_each("sold(*, ?, *, *)", k=3, to=path)
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_memory_is_that_of_a_block(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from relatum.runs.each_question import combinations_of, each_question

    monkeypatch.setattr(bulk_completion, "_CELLS", 100)
    question = each_question(run, "sold(*, ?, *, *)")
    blocks = bulk_completion.answer_blocks(run, question, combinations_of(run, question), 3, most=17)
    sizes = [(block.questions, len(block.ranks)) for block in blocks]
    assert sum(questions for questions, _ in sizes) == 17
    assert max(questions for questions, _ in sizes) == 3  # 32 rivals each
    assert max(answers for _, answers in sizes) <= 3 * 2 * 3


QUESTION = "sold(*, ?, channel, 0.25)"
COLUMNS = ["customer_id", "channel", "item_code", "rank", "score", "probability", "source"]


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


def test_new_answers_have_no_source_and_roles_of_our_names_another(run: Run, tmp_path: Path) -> None:
    run.complete_each(QUESTION, k=2, new_only=True, full_names=True, to=tmp_path / "out.db")
    found, expected = rows_of(tmp_path / "out.db"), run.complete_each(QUESTION, k=2, new_only=True)
    assert list(found[0]) == COLUMNS[:-1]
    assert [tuple(row.values())[:3] for row in found] == [one.entities for one in expected]
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
