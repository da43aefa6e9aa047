"""`relatum fill`: what people see, what programs read, what a database gets and gives back, and what mistakes say."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from pathlib import Path

import pytest

from support.command_line import Relatum
from support.mistakes import code_of
from support.shop_to_fill import open_filled
from support.shop_with_gaps import COUNTRIES, content_of, put_in, rows, statements
from support.small_tables import ask_sqlite, sqlite_of

EMPTY_COUNTRIES = [row[0] for row in rows()["customers"] if row[3] is None]


@pytest.fixture(scope="module")
def shop_run(gappy_run: Path) -> str:
    return str(gappy_run)


def countries(path: Path) -> dict[int, str | None]:
    return dict(ask_sqlite(path, "SELECT id, country FROM customers"))


def test_the_surest_cells_are_shown_with_their_reasons(run: Relatum, shop_run: str) -> None:
    code, out, err = run("fill", shop_run, "--table", "customers")
    assert (code, err) == (0, "")
    assert "empty cells, the surest first" in out
    lines = [line.split() for line in out.splitlines() if line.strip().startswith("customers.country")]
    assert len(lines) == len(EMPTY_COUNTRIES)
    assert {int(line[1]) for line in lines} == set(EMPTY_COUNTRIES)
    assert "city is Milan: " in out
    code, out, _ = run("fill", shop_run)
    assert code == 0
    assert "30 of " in out.splitlines()[-1]
    assert out.splitlines()[-1].endswith("are shown; write all of them with --to FILE_OR_URL")
    code, out, _ = run("fill", shop_run, "--column", "customers.segment", "--min-probability", "1")
    assert (code, out) == (0, "no empty cell was found that could be filled\n")


def test_json_has_every_cell_with_plain_values(run: Relatum, shop_run: str) -> None:
    code, out, err = run("fill", shop_run, "--column", "country", "--column", "price", "--json")
    cells = json.loads(out)["cells"]
    assert (code, err) == (0, "")
    assert {one["row"]["id"]: one["value"] for one in cells if one["column"] == "country"} == {
        key: COUNTRIES[str(rows()["customers"][int(str(key)) - 1][2])] for key in EMPTY_COUNTRIES
    }
    prices = [one for one in cells if one["column"] == "price"]
    assert prices
    for one in prices:
        low, high = map(float, one["interval"])
        assert low <= one["value"] <= high
        assert one.keys() >= {"table", "label", "probability", "reason"}


def test_cells_are_written_to_a_file_and_to_a_database(run: Relatum, shop_run: str, tmp_path: Path) -> None:
    code, out, _ = run("fill", shop_run, "--to", str(tmp_path / "cells.csv"))
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    _, everything, _ = run("fill", shop_run, "--json")
    assert (code, out) == (0, f"wrote {len(written)} cells to {tmp_path / 'cells.csv'}\n")
    cells = json.loads(everything)["cells"]
    assert [float(one["probability"]) for one in written] == [one["probability"] for one in cells]
    assert [one["value"] for one in written] == [str(one["value"]) for one in cells]
    assert list(written[0]) == ["table", "row", "column", "value", "label", "interval", "probability", "reason"]
    database = str(tmp_path / "cells.db")
    code, out, _ = run("fill", shop_run, "--to", database, "--json")
    assert (code, json.loads(out)) == (0, {"to": database, "table": "filled_cells", "cells": len(written)})
    assert ask_sqlite(database, "SELECT count(*), min(probability) > 0 FROM filled_cells") == [(len(written), 1)]
    assert run("fill", shop_run, "--to", database)[0] == 2  # it is there
    assert run("fill", shop_run, "--to", database, "--replace")[0] == 0


def test_a_copy_is_filled_and_the_database_is_left(run: Relatum, shop_run: str, today: Path, tmp_path: Path) -> None:
    before, copy = today.read_bytes(), tmp_path / "copy.db"
    code, out, _ = run("fill", shop_run, "--from", str(today), "--copy", str(copy), "--column", "country")
    assert (code, out) == (0, f"filled {len(EMPTY_COUNTRIES)} cells of {copy}\n")
    assert today.read_bytes() == before
    assert all(countries(copy).values())


def test_any_of_several_fills_is_listed_and_taken_back_without_a_run(run: Relatum, shop_run: str, today: Path) -> None:
    before = content_of(today)
    assert run("fill", "--log", str(today))[:2] == (0, f"{today} was not filled: no changes are logged there\n")
    assert run("fill", "--undo", str(today))[0] == 2
    assert content_of(today) == before
    for column in ("country", "category"):
        assert run("fill", shop_run, "--from", str(today), "--apply", "--column", column)[0] == 0
    code, out, _ = run("fill", "--log", str(today), "--json")
    batches = json.loads(out)["batches"]
    assert code == 0
    assert [(one["batch"], one["tables"], one["undone"]) for one in batches] == [(1, ["customers"], 0), (2, ["items"], 0)]
    assert all(one["source"] == shop_run for one in batches)
    code, out, err = run("fill", "--undo", str(today), "--batch", "1")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"emptied {batches[0]['cells']} cells of {today} again, which batch 1 had filled",
        f"batch 2 is not undone; relatum fill --undo {today} --batch 2 takes that back too",
    ]
    assert content_of(today)["customers"] == before["customers"]
    code, _, err = run("fill", "--undo", str(today), "--batch", "3")
    assert code == 2
    assert code_of(err) == "no-such-batch"
    assert "1, 2" in err
    code, out, _ = run("fill", "--undo", str(today))
    assert (code, len(out.splitlines())) == (0, 1)
    assert content_of(today) == before
    code, out, _ = run("fill", "--log", str(today))
    assert code == 0
    assert out.splitlines()[0] == f"what {today} was filled with"


def test_what_was_changed_since_stays_and_rows_without_a_key_are_counted(run: Relatum, shop_run: str, today: Path) -> None:
    _, out, _ = run("fill", shop_run, "--from", str(today), "--apply", "--min-probability", "0", "--json")
    counts = json.loads(out)
    assert counts["without_key"] == sum(row[2] is None for row in rows()["ratings"])
    assert counts["missing"] == counts["ambiguous"] == counts["filled"] == 0
    statements(today, f"UPDATE customers SET country = 'Spain' WHERE id = {EMPTY_COUNTRIES[0]}")  # noqa: S608
    code, out, _ = run("fill", shop_run, "--undo", str(today))
    assert code == 0
    assert out.endswith("left as they are, for they changed since: 1 cell\n")
    assert countries(today)[int(str(EMPTY_COUNTRIES[0]))] == "Spain"


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_a_database_of_a_server_is_filled_and_emptied_again(
    run: Relatum, shop_run: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    filled = open_filled(engine, tmp_path, request)
    with closing(filled.connect()) as connection:
        put_in(lambda sql: connection.execute(sql.replace("TEXT", "VARCHAR(40)")), connection.cursor().executemany, "%s")
        connection.commit()
    before = filled.content(*rows())
    code, out, err = run("fill", shop_run, "--from", filled.to, "--apply", "--min-probability", "0.5")
    assert (code, err) == (0, "")
    assert "s3cret" not in out
    assert all(row[1] == COUNTRIES[str(row[0])] for row in filled.ask("SELECT city, country FROM customers"))
    code, out, err = run("fill", "--log", filled.to)
    assert (code, err) == (0, "")
    assert "s3cret" not in out
    assert run("fill", shop_run, "--undo", filled.to)[::2] == (0, "")
    assert filled.content(*rows()) == before


def test_a_group_of_numbers_is_shown_and_not_applied(run: Relatum, tmp_path: Path) -> None:
    rows = [(n, f"m{n % 4}", f"{n % 4}x", 1000 * (n % 4) + n) for n in range(200)]
    script = "CREATE TABLE cars (id INTEGER PRIMARY KEY, model TEXT, engine TEXT, price INTEGER)"
    given = [*rows, (200, "m0", "0x", None), (201, "m1", None, 1201)]
    path, out = str(sqlite_of(tmp_path / "cars.db", script, cars=given)), str(tmp_path / "run")
    assert run("import", path, "--out", str(tmp_path / "cars"), "--bins", "4")[0] == 0
    code, _, err = run("train", "--data", str(tmp_path / "cars"), "--out", out, "--set", "training.epochs=2")
    assert code == 0, err
    code, shown, err = run("fill", out, "--column", "price")
    assert code == 0, err
    assert " to " in shown
    code, counted, err = run("fill", out, "--from", path, "--apply", "--min-probability", "0.5", "--json")
    assert code == 0, err
    assert {"applied": 1, "groups": 1, "without_key": 0}.items() <= json.loads(counted).items()
    assert ask_sqlite(path, "SELECT price, engine FROM cars WHERE id >= 200") == [(None, "0x"), (1201, "1x")]
