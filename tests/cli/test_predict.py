"""`relatum predict` and `relatum embeddings`: what they print, what they write, and what they refuse in one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from relatum import Run
from support.command_line import Relatum
from support.small_tables import ask_sqlite


def test_without_a_place_to_write_the_best_are_shown(shop_run: Path, run: Relatum) -> None:
    code, out, _ = run("predict", str(shop_run), "--relation", "sold")
    best = Run.load(shop_run).predict("sold", 20)
    assert code == 0
    assert out.startswith("sold(customer_id, item_code, channel, discount), new")
    assert len(best) == 20
    rows = [line.split() for line in out.splitlines() if " % " in line]
    assert [row[1:3] for row in rows] == [[entity.partition(":")[2] for entity in one.entities[:2]] for one in best]


def test_several_relations_are_shown_by_probability(shop_run: Path, run: Relatum) -> None:
    code, out, _ = run("predict", str(shop_run), "--top", "7")
    assert code == 0
    assert out.startswith("4 relations, new")
    shares = [float(line.split()[-2]) for line in out.splitlines() if line.rstrip().endswith("%")]
    assert len(shares) == 7
    assert shares == sorted(shares, reverse=True)


def test_json_is_one_object(shop_run: Path, tmp_path: Path, run: Relatum) -> None:
    code, out, _ = run("predict", str(shop_run), "--relation", "reviews", "--top", "3", "--exact", "--json")
    found = json.loads(out)["predictions"]
    assert (code, len(found)) == (0, 3)
    assert set(found[0]) == {"relation", "entities", "score", "probability", "position"}
    path = tmp_path / "all.db"
    code, out, _ = run("predict", str(shop_run), "--top", "3", "--to", str(path), "--json")
    assert json.loads(out) == {
        "to": str(path),
        "tables": [{"relation": name, "table": f"predicted_{name}", "rows": 3} for name in ("reviews", "sold")],
        # Every customer has a city already, and every item a weight.
        "without_facts": ["customers.city", "items.weight"],
    }
    tables = ask_sqlite(path, "SELECT name FROM sqlite_schema ORDER BY name")
    assert tables == [("predicted_reviews",), ("predicted_sold",)]
    code, out, _ = run("predict", str(shop_run), "--top", "3", "--to", str(tmp_path / "more.db"))
    assert out.splitlines()[-1] == "no new facts, and so no table, of customers.city, items.weight"
    code, out, _ = run("predict", str(shop_run), "--relation", "items.weight", "--to", str(tmp_path / "named.db"))
    assert (code, out) == (0, f"wrote 0 facts of items.weight to {tmp_path / 'named.db'}, table predicted_items_weight\n")


def test_what_is_written_is_what_was_asked_for(shop_run: Path, tmp_path: Path, run: Relatum) -> None:
    best = Run.load(shop_run).predict("sold", 1000)
    least = f"{sorted((one.score for one in best), reverse=True)[9]:.9g}"
    path = tmp_path / "best.csv"
    options = ["--relation", "sold", "--min-score", least, "--full-names", "--to", str(path)]
    assert run("predict", str(shop_run), *options)[0] == 0
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert [tuple(row[:4]) for row in rows] == [one.entities for one in best if one.score >= float(least)]
    likely = str(best[4].probability)
    into = ["--to", str(tmp_path / "mine.db"), "--table", "likely", "--relation", "sold"]
    assert run("predict", str(shop_run), "--min-probability", likely, *into)[0] == 0
    assert run("predict", str(shop_run), "--min-probability", likely, *into)[0] == 2
    assert run("predict", str(shop_run), "--top", "2", *into, "--append")[0] == 0
    assert ask_sqlite(tmp_path / "mine.db", "SELECT count(*) FROM likely") == [(7,)]
    assert run("predict", str(shop_run), "--top", "2", *into, "--replace")[1].startswith("wrote 2 facts of sold to ")
    assert ask_sqlite(tmp_path / "mine.db", "SELECT count(*) FROM likely") == [(2,)]


def test_embeddings_are_written(shop_run: Path, tmp_path: Path, run: Relatum) -> None:
    code, out, _ = run("embeddings", str(shop_run), "--to", str(tmp_path / "out"))
    assert code == 0
    assert out.splitlines()[0].endswith("entities.npy: 64 x 20")
    code, out, err = run("embeddings", str(shop_run), "--to", str(tmp_path / "out"))
    assert (code, err.count("\n")) == (2, 1)
    code, out, _ = run("embeddings", str(shop_run), "--to", str(tmp_path / "two"), "--format", "parquet", "--json")
    assert json.loads(out)["tables"]["entities"] == [64, 20]
