"""Numbers and dates where a run is asked: what is stored is known, exactly, and no name of a group is seen or needed."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

import relatum
from relatum import Run
from relatum.resources import answers, entity, names, overview, relation
from relatum.runs.lookup import describe_relations
from relatum.runs.shown_values import GroupedColumn
from support.mistakes import mistake

TYPES = ("INTEGER", "DECIMAL(9,2)", "DOUBLE", "FLOAT", "HUGEINT", "DATE", "TIMESTAMP", "TIMESTAMP_MS", "TIMESTAMPTZ", "TIME")
START = date(2005, 8, 1)


def films() -> list[tuple[int, int | None, date | None, float | None]]:
    """Return films: number, length, day, rate, each of which some lack."""
    rng = random.Random(3)
    return [
        (
            number,
            None if number % 9 == 0 else rng.randrange(46, 186),
            None if number % 11 == 0 else START + timedelta(days=rng.randrange(300)),
            None if number % 7 == 0 else round(rng.uniform(0.5, 5), 2),
        )
        for number in range(1, 300)
    ]


def sales() -> list[tuple[str, str, float]]:
    """Return sales without a key, some of which differ in the price alone."""
    rng = random.Random(5)
    return [(f"c{rng.randrange(9)}", f"i{rng.randrange(4)}", round(rng.uniform(1, 9), 2)) for _ in range(300)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("films") / "films.db"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE film (id INTEGER PRIMARY KEY, length INTEGER, day DATE, rate DECIMAL(4,2))")
        database.executemany("INSERT INTO film VALUES (?, ?, ?, ?)", films())
        database.execute("CREATE TABLE sale (buyer VARCHAR, item VARCHAR, price DOUBLE)")
        database.executemany("INSERT INTO sale VALUES (?, ?, ?)", sales())
    return relatum.fit(
        relatum.read(str(path), bins={"sale.price": 6}, columns={"sale": ["buyer", "item", "price"]}),
        dim=10,
        epochs=1,
        evidence=True,
        progress=False,
    )


def known_rows(run: Run, question: str) -> set[str]:
    return {one.entity.removeprefix("film:") for one in run.complete(question, k=500) if one.known}


def test_the_group_of_every_value_is_that_of_the_import_and_only_equal_values_are_equal(tmp_path: Path) -> None:
    """Each type of DuckDB: values on edges, one beside them, and zeros of both signs."""
    steps = {"DATE": "DATE '1969-12-01' + CAST(n AS INTEGER)", "TIME": "TIME '00:00:01' + to_seconds(n * 7)"}
    with duckdb.connect(str(tmp_path / "types.db")) as database:
        for number, kind in enumerate(TYPES):
            moment = "make_timestamp(n * 86399999999 - 5000000)"
            number_of = "CASE n WHEN 100 THEN CAST('-0.0' AS DOUBLE) WHEN 101 THEN 0 ELSE (n - 100) / 7 END"
            value = steps.get(kind) or (moment if "STAMP" in kind else number_of)
            query = f"SELECT n AS id, 'x' || n % 3 AS kind, CAST({value} AS {kind}) AS v FROM range(200) t(n)"  # noqa: S608
            database.execute(f"CREATE TABLE t{number} AS {query}")
    rows = relatum.read(str(tmp_path / "types.db"), bins={f"t{one}.v": 9 for one in range(len(TYPES))}).split.rows
    assert rows is not None
    for number, kind in enumerate(TYPES):
        table, kept = rows[f"t{number}"], rows.values[f"t{number}"]["v"]
        column = table.schema.column("v")
        assert column.bins is not None, kind
        assert len(column.bins.names) > 5, kind
        grouped = GroupedColumn(column, column.bins, kept, rows.names)
        shown = kept.shown()
        for row, (text, cell) in enumerate(zip(shown, table.column("v").tolist(), strict=True)):
            value = grouped.number(text or "")
            assert value is not None, (kind, text)
            assert grouped.values is not None
            assert grouped.entity(value) == rows.names[cell], (kind, text)
            same = np.flatnonzero(grouped.values.within(value, value)).tolist()
            assert row in same
            assert {(shown[one] or "").lstrip("-") for one in same} == {(text or "").lstrip("-")}, kind


@pytest.mark.parametrize("column", [1, 2, 3])
def test_known_is_who_is_stored_with_the_value_and_new_who_has_none(run: Run, column: int) -> None:
    name = ("id", "length", "day", "rate")[column]
    stored = {row[0]: row[column] for row in films()}
    gaps = {str(one) for one, value in stored.items() if value is None}
    for value in random.Random(1).sample([one for one in stored.values() if one is not None], 12):
        wanted = {str(one) for one, held in stored.items() if held == value}
        question = f'film.{name}(?, "{value}")'
        assert known_rows(run, question) == wanted
        assert {one.entity.removeprefix("film:") for one in run.complete(question, k=500, new_only=True)} <= gaps
    for one, value in list(stored.items())[1:40]:
        (answer, *_) = run.complete(f"film.{name}({one}, ?)", k=1)
        text = answer.entity.removeprefix(f"film.{name}:")
        assert answer.known == (value is not None)
        if value is not None:
            assert text == f"{value:.2f}" if name == "rate" else text == str(value)
            assert answer.intervals == (None,)
            assert run.score(f'film.{name}({one}, "{text}")').known
        else:
            low, high = (answer.intervals[0] or "").split(" to ")
            assert low <= text <= high or float(low) <= float(text) <= float(high)


def test_a_value_is_taken_in_the_usual_spellings_and_another_one_is_not_known(run: Run) -> None:
    row, length, day, _ = films()[1]
    for spelling in (f"{length}", f"{length}.0", f"{length}e0", f"film.length:{length}"):
        assert run.score(f'film.length({row}, "{spelling}")').known
    for spelling in (f"{day}", f"{day} 00:00", f"{day}T00:00:00"):
        assert run.score(f'film.day({row}, "{spelling}")').known
    other = run.score(f"film.length({row}, {length}.5)")
    assert (other.known, other.stored) == (False, str(length))
    assert not run.score(f'film.day({row}, "{day} 10:12")').known
    assert run.score("film.length(9, 120)").interval is not None
    with mistake("unknown-name"):
        run.complete("film.day(?, soon)")
    with mistake("unknown-name"):
        run.score(f"film.length({row}, long)")


def test_what_is_filled_can_be_scored(run: Run) -> None:
    for one in list(run.fill(tables=["film"]))[:30]:
        judged = run.score(f'film.{one.column}({one.row["id"]}, "{one.value}")')
        assert (judged.known, judged.stored) == (False, None)
        assert judged.interval == (" to ".join(one.interval) if one.is_group and one.interval else None)


def test_a_fact_over_several_entities_has_the_numbers_of_its_rows(run: Run) -> None:
    held: dict[tuple[str, str], list[float]] = {}
    for buyer, item, price in sales():
        held.setdefault((buyer, item), []).append(price)
    for (buyer, item), prices in list(held.items())[:12]:
        found = [one for one in run.complete(f"sale({buyer}, {item}, ?)", k=50) if one.known]
        for one in found:
            ends = (one.intervals[0] or one.entity.partition(":")[2]).split(" to ")
            assert {float(end) for end in ends} <= set(prices)
        for price in prices:
            assert run.score(f"sale({buyer}, {item}, {price})").known
            assert not run.score(f"sale({buyer}, {item}, {price + 0.001:.3f})").known
            assert buyer in {one.entity.partition(":")[2] for one in run.complete(f"sale(?, {item}, {price})") if one.known}


def test_no_door_shows_the_name_of_a_group(run: Run) -> None:
    groups = re.compile(r"(film|sale)\.(length|day|rate|price):[^ ,\"')]+ to ")
    row, length, *_ = films()[1]
    said = [
        *describe_relations(run),
        *run.find(str(length)),
        *run.similar(f"film.length:{length}"),
        *run.predict("film.length", 5),
        *run.complete_each("film.length(*, ?)", k=1, new_only=True),
        *run.doubt("film.length", 5),
        *run.doubt_cells(["film"]),
        *(replace(one, rule="") for one in run.why(f"film.length({row}, {length})")),  # a condition can be an interval
        *run.similar_facts(f"film.length({row}, {length})"),
        answers.complete(run, "film.length(?, 120)", reasons=1),
        answers.explain(run, f"film.length({row}, {length})"),
        entity.entity_page(run, f"film.length:{length}"),
        entity.entity_page(run, f"film:{row}"),
        relation.missing(run, "film.length"),
        relation.doubtful(run, "film.length"),
        overview.overview(run),
        names.find(run, str(length)),
        names.suggest(run, "film.length(?, 1"),
    ]
    assert [one for one in said if groups.search(repr(one))] == []
    page = entity.entity_page(run, f"film.length:{length}")
    assert page.facts == sum(one[1] == length for one in films())
    assert {ref.entities[1].name for group in page.groups for ref in group.facts} == {f"film.length:{length}"}


def test_tables_that_are_written_have_numbers_with_their_intervals(run: Run, tmp_path: Path) -> None:
    run.complete_each("film.length(*, ?)", k=1, to=str(tmp_path / "lengths.parquet"))
    run.export(str(tmp_path / "new.parquet"), "film.length", top=5)
    with duckdb.connect() as database:
        found = database.execute(f"SELECT * FROM '{tmp_path}/lengths.parquet'").fetchall()  # noqa: S608
        described = database.execute(f"DESCRIBE SELECT * FROM '{tmp_path}/new.parquet'").fetchall()  # noqa: S608
    stored = {row[0]: row[1] for row in films()}
    assert [one[0] for one in described[:3]] == ["id", "length", "length_interval"]
    assert {one[0]: one[1] for one in found if one[-1] is not None} == {one: held for one, held in stored.items() if held}
