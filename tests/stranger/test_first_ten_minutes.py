"""A new user's story: a table as CSV, then a database of their own, and predictions written back into it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.stranger_shop import CREATE, category, rows, taste

Typed = Callable[..., str]


def test_a_csv_file_is_completed(home: Path, typed: Typed) -> None:
    shop = rows()
    with (home / "sales.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["customer", "item", "channel"])
        writer.writerows([f"c{c}", f"i{i}", channel] for _, c, i, channel, _ in shop["sales"])
    assert "Columns" in typed("relatum", "import", "sales.csv", "--out", "data")
    typed("relatum", "train", "--data", "data", "--out", "run")
    assert json.loads(typed("relatum", "evaluate", "run", "--json"))["mrr"] > 0.2
    answers = json.loads(
        typed("relatum", "complete", "run", "sales(customer=sales.customer:c4, item=?, channel=sales.channel:web)", "--json")
    )
    assert answers["answers"][0]["entity"].startswith("sales.item:i")
    typed("relatum", "predict", "run", "--relation", "sales", "--top", "40", "--to", "new.csv")
    with (home / "new.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert list(found[0]) == ["customer", "item", "channel", "score", "probability"]
    assert len(found) == 40
    known = {(f"c{c}", f"i{i}", channel) for _, c, i, channel, _ in shop["sales"]}
    assert not known & {(row["customer"], row["item"], row["channel"]) for row in found}


def test_a_database_is_completed_and_predictions_are_written_back_into_it(home: Path, typed: Typed, database: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    shop = rows()
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        cursor.execute(CREATE)
        for table, content in shop.items():
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(content[0]))})", content)  # noqa: S608
    summary = json.loads(typed("relatum", "import", database, "--out", "data", "--json"))
    assert {one["table"] for one in summary["tables"]} == shop.keys()
    typed("relatum", "train", "--data", "data", "--out", "run")
    typed("relatum", "predict", "run", "--relation", "sales", "--top", "60", "--to", database, "--table", "likely_sales")
    typed("relatum", "report", "run")
    assert (home / "run" / "report.html").stat().st_size > 10_000
    with psycopg.connect(database) as connection:
        joined = connection.execute(
            "SELECT c.id, i.id, p.probability FROM likely_sales p"
            " JOIN customers c ON c.id = p.customer_id JOIN items i ON i.id = p.item_id"
        ).fetchall()
        count = connection.execute("SELECT count(*) FROM sales").fetchone()
    assert count == (len(shop["sales"]),)  # what was there is untouched
    assert len(joined) == 60
    fitting = sum(taste(customer) == category(item) for customer, item, _ in joined)
    assert fitting >= 50  # a third would be chance
