"""SQL on a run of tables: what the database says is known, empty cells are predicted, and witnesses say why."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import relatum
from relatum import Run
from relatum.runs.join_truths import CAP
from relatum.runs.query_rows import QueryRow, QueryRows
from relatum.runs.sql_answers import VIEWS, DefinedView, catalog_of_run
from relatum.sql.parse import parse_sql
from support.mistakes import mistake
from support.shop_with_gaps import COUNTRIES


@pytest.fixture(scope="module")
def gappy(gappy_run: Path) -> relatum.Run:
    return relatum.open(gappy_run)


def rows_of(run: relatum.Run, query: str) -> QueryRows:
    found = run.sql(query, seconds=None)
    assert isinstance(found, QueryRows)
    assert found.proven
    return found


def test_an_empty_cell_is_predicted_with_the_facts_that_it_rests_on(gappy: relatum.Run, gappy_shop: Path) -> None:
    with closing(sqlite3.connect(gappy_shop)) as database:
        ((customer, city),) = database.execute("SELECT id, city FROM customers WHERE country IS NULL LIMIT 1")
    (first, *_) = rows_of(gappy, f"SELECT country FROM customers WHERE id = {customer} AND NOT known")  # noqa: S608
    assert not first.known
    assert first["country"] == COUNTRIES[city]
    (fact,) = first.witness
    assert fact.relation == "customers.country"
    assert fact.probability == pytest.approx(first.probability)
    (filled,) = (one for one in gappy.fill(tables=["customers"], columns=["country"]) if one.row["id"] == customer)
    assert filled.value == first["country"]
    assert min(filled.probability, CAP) == pytest.approx(first.probability, abs=1e-6)


def test_a_join_multiplies_and_known_and_probability_filter(gappy: relatum.Run) -> None:
    query = "SELECT c.id, c.country FROM customers c JOIN sales s ON s.customer_id = c.id WHERE s.item_id = 7"
    every = rows_of(gappy, query)
    assert all(row.probability == pytest.approx(_product(row)) for row in every)
    new = rows_of(gappy, f"{query} AND NOT known")
    assert {row.values for row in new} <= {row.values for row in every if not row.known} | {row.values for row in new}
    assert not any(row.known for row in new)
    sure = rows_of(gappy, f"{query} AND probability > 0.5")
    assert [row.values for row in sure] == [row.values for row in every if row.probability > 0.5][: len(sure)]


def _product(row: QueryRow) -> float:
    value = 1.0
    for fact in row.witness:
        value *= fact.probability
    return value


def test_views_are_kept_with_the_run_and_can_be_asked(gappy_run: Path, tmp_path: Path) -> None:
    shutil.copytree(gappy_run, tmp_path / "run")
    run = relatum.open(tmp_path / "run")
    made = run.sql(
        "CREATE VIEW buyers AS SELECT s.item_id AS item, c.city FROM sales s JOIN customers c ON c.id = s.customer_id"
    )
    assert made == DefinedView("buyers", ("item", "city"), False)
    again = relatum.open(tmp_path / "run")
    direct = "SELECT c.city FROM sales s JOIN customers c ON c.id = s.customer_id WHERE s.item_id = 5"
    through = rows_of(again, "SELECT city FROM buyers WHERE item = 5")
    assert [(row.values, row.probability) for row in through] == [
        (row.values, row.probability) for row in rows_of(again, direct)
    ]
    with mistake("name-taken"):
        again.sql("CREATE VIEW buyers AS SELECT city FROM customers")
    written = json.loads((tmp_path / "run" / VIEWS).read_text())
    written["views"][0]["expression"] = "join[9 = 9](nobody, nothing)"
    (tmp_path / "run" / VIEWS).write_text(json.dumps(written))
    with mistake("damaged-file"):
        relatum.open(tmp_path / "run").sql("SELECT city FROM customers")


def test_explain_says_how_a_query_is_answered(gappy: relatum.Run) -> None:
    found = rows_of(gappy, "EXPLAIN SELECT c.city FROM sales s JOIN customers c ON c.id = s.customer_id WHERE s.item_id = 5")
    assert any("the likeliest facts sales" in line and "items:5" in line for line in found.plan)
    assert any("answers customers.city" in line for line in found.plan)
    assert found.to_json()["plan"] == list(found.plan)


def test_all_but_sql_works_without_its_library(gappy_run: Path) -> None:
    program = (
        "import sys; sys.modules['sqlglot'] = None\n"
        "import relatum\n"
        "run = relatum.open(sys.argv[1])\n"
        "print(len(run.joined('(ratings)(5, ?)', k=3)))\n"
        "try:\n    run.sql('SELECT city FROM customers')\n"
        "except relatum.RelatumError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", program, str(gappy_run)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.splitlines() == ["3", "sqlglot is not installed; install it with: pip install 'relatum[sql]'"]


def test_the_tables_of_a_run_are_those_that_were_imported_and_definitions_are_views(shop_run: Path, tmp_path: Path) -> None:
    shutil.copytree(shop_run, tmp_path / "run")
    run = Run.load(tmp_path / "run")
    catalog = catalog_of_run(run)
    assert {"customers", "items", "sales", "reviews"} <= catalog.tables.keys()
    statement = parse_sql("SELECT customer_id FROM reviews WHERE item_code = '003' AND stars = 5", catalog)
    column_type = catalog.types_of(statement.expression)[statement.positions[0]]
    assert column_type is not None
    assert (column_type.entity_type, column_type.value_type) == ("customers", "whole")

    view = parse_sql("CREATE VIEW rated AS SELECT item_code, stars FROM reviews", catalog)
    run.define("rated", view.expression)
    read = parse_sql("SELECT stars FROM rated WHERE item_code = '003'", catalog_of_run(run))
    stored = parse_sql("SELECT stars FROM reviews WHERE item_code = '003'", catalog)
    assert read.expression == stored.expression
