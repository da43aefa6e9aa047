"""What becomes of columns and rows: NULLs, numbers, dates, ids and free text."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from relatum.datasets.load import load
from relatum.tables import Imported, read
from support.small_tables import csv_of, sqlite_of


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Parquet file with a column of every kind."""
    path = tmp_path_factory.mktemp("sales") / "sales.parquet"
    duckdb.sql("""
        SELECT i AS id, i % 7 AS item, 'b' || i % 5 AS buyer, DATE '2024-01-01' + (i % 4)::INT AS day, i / 7.0 AS price,
            (i % 3) * 0.5 AS rate, 'text number ' || i AS body, CASE WHEN i % 10 = 0 THEN NULL ELSE i % 2 = 0 END AS paid,
            CASE WHEN i % 10 < 7 THEN NULL ELSE 'x' END AS rare, [i] AS many, CAST(NULL AS VARCHAR) AS nothing,
            TIMESTAMP '2024-01-01' + i * INTERVAL 1 HOUR AS moment, CAST(i % 2 AS DECIMAL(9, 3)) + 1.25 AS fee
        FROM range(400) t(i)""").write_parquet(str(path))
    return path


def outcomes(imported: Imported) -> dict[str, tuple[str, str]]:
    return {record.column: (record.outcome, record.why.partition(";")[0]) for record in imported.columns}


def facts(imported: Imported) -> set[tuple[str, ...]]:
    return {fact for graph in imported.split.parts.values() for fact in graph}


def test_every_column_has_the_treatment_that_is_documented(sales: Path) -> None:
    imported = read(sales)
    assert outcomes(imported) == {
        "id": ("key", "the key of its rows"),
        "item": ("entities", "repeats: 7 values in 400 rows"),
        "buyer": ("entities", "repeats: 5 values in 400 rows"),
        "day": ("entities", "repeats: 4 values in 400 rows"),
        "price": ("bins", "20 groups of equal size: 400 values in 400 rows"),
        "rate": ("entities", "repeats: 3 values in 400 rows"),
        "body": ("label", "what its rows are called"),
        "paid": ("entities", "repeats: 2 values in 360 rows"),
        "rare": ("left out", "the same value in every row that has one"),
        "many": ("left out", "nested or binary values"),
        "nothing": ("left out", "no values"),
        "moment": ("bins", "20 groups of equal size: 400 values in 400 rows"),
        "fee": ("entities", "repeats: 2 values in 400 rows"),
    }
    (table,) = imported.tables
    assert (table.shape, table.rows, table.gaps, table.facts) == ("entity", 400, 40, 7 * 400 + 360)
    assert [relation.name for relation in imported.split.schema] == [
        f"sales.{name}" for name in ("buyer", "day", "fee", "item", "moment", "paid", "price", "rate")
    ]
    assert ("sales.paid", "sales:7", "sales.paid:false") in facts(imported)
    assert not any(fact[:2] == ("sales.paid", "sales:10") for fact in facts(imported))
    assert ("sales.buyer", "sales:10", "sales.buyer:b0") in facts(imported)
    names = set(imported.split.entities)
    assert {"sales.item:0", "sales.buyer:b4", "sales.day:2024-01-04", "sales.rate:0", "sales.rate:0.5"} <= names
    assert {"sales.rate:1", "sales.paid:true", "sales.fee:1.25", "sales.fee:2.25"} <= names


def test_null_can_be_a_value(sales: Path) -> None:
    imported = read(sales, null="value")
    assert (imported.tables[0].gaps, imported.tables[0].facts) == (0, 9 * 400)
    assert sum(fact[2] == "sales.paid:NULL" for fact in facts(imported)) == 40
    assert sum(fact[2] == "sales.rare:NULL" for fact in facts(imported)) == 280  # with x, these are two values
    imported = read(sales, null="value", shapes={"sales": "fact"})
    assert "paid" in (imported.split.schema["sales"].roles or ())
    assert imported.tables[0].incomplete == 0


def test_bins_hold_equal_shares_and_are_named_by_their_bounds(sales: Path) -> None:
    imported = read(sales, bins={"*": 4, "sales.moment": 2}, columns={"sales": ["item", "price", "moment"]}, keep_ids=True)
    assert outcomes(imported)["moment"] == ("bins", "2 groups of equal size, by option")
    assert outcomes(imported)["price"] == ("entities", "by option")
    imported = read(sales, bins={"*": 4, "sales.moment": 2}, tables=["sales"], drop=["paid"], valid=0, test=0)
    assert outcomes(imported)["price"] == ("bins", "4 groups of equal size: 400 values in 400 rows")
    assert outcomes(imported)["id"][0] == "key"
    groups = sorted(name for name in imported.split.entities if name.startswith("sales.price:"))
    assert len(groups) == 4
    assert groups[0].startswith("sales.price:0 to 14.1")
    moments = {name for name in imported.split.entities if name.startswith("sales.moment:")}
    assert len(moments) == 2
    assert "sales.moment:2024-01-01 00:00:00 to 2024-01-09 07:00:00" in moments


def test_columns_keep_drop_and_relation_say_what_is_taken(sales: Path) -> None:
    imported = read(sales, columns={"sales": ["buyer", "item"]}, relations={"sales": "bought"})
    (relation,) = imported.split.schema
    assert str(relation) == "bought(buyer, item)"
    assert len(facts(imported)) == 35
    assert imported.tables[0].repeated == 365
    imported = read(sales, keep=["sales.body"], drop=["day", "rate", "paid", "fee", "price", "moment"])
    assert [str(relation) for relation in imported.split.schema] == [
        "sales.body(id, body)",
        "sales.buyer(id, buyer)",
        "sales.item(id, item)",
    ]
    assert "sales.body:text number 7" in imported.split.entities
    assert read(sales, keep=["rare"]).split.schema["sales.rare"].roles == ("id", "rare")
    (unary,) = read(sales, columns={"sales": ["item"]}).split.schema
    assert unary.arity == 1


def test_plain_names_are_the_values_alone_and_links_give_them_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "knows.csv"
    path.write_text("who;whom;since\nann;bob;2001\nbob;ann;2001\nann;cat;2002\ncat;ann;2001\nbob;cat;2002\n")
    assert ("knows", "ann", "bob", "2001") in facts(read(path, plain=True))
    linked = read(path, links={"who": "person", "knows.whom": "person"})
    assert ("knows", "person:ann", "person:bob", "knows.since:2001") in facts(linked)
    assert ("knows", "person:ann", "person:bob", "2001") in facts(
        read(path, plain=True, links={"who": "person", "whom": "person"})
    )


def test_odd_texts_in_csv_come_through(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    cells = ['"a,b"', '"say ""hi"""', '"two\nlines"', "tab\there", "ünï", " ", "#x", "[red]", "'; --", "007", "1.50", "1e3"]
    path.write_bytes(
        b"\xef\xbb\xbf" + ("x,y\r\n" + "".join(f"{cell},{n % 2}\r\n" for cell in cells for n in (0, 1))).encode()
    )
    imported = read(path)
    names = {name.removeprefix("odd.x:") for name in imported.split.entities if name.startswith("odd.x:")}
    assert names == {"a,b", 'say "hi"', "two␊lines", "tab␉here", "ünï", "#x", "[red]", "'; --", "007", "1.50", "1e3"}
    assert (imported.tables[0].gaps, imported.tables[0].incomplete) == (2, 2)
    imported.save(tmp_path / "out")
    assert load(tmp_path / "out") == load(tmp_path / "out", use_cache=False)


def test_numbers_in_text_files_have_one_form_and_codes_keep_their_zeros(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("a,b,c,d\n1.50,007,1,2024-05-01\n1.5,008,2,2024-05-01\n2,007,1,2024-05-02\n2.0,008,2,2024-05-02\n")
    kinds = {name.partition(":")[0]: set() for name in read(path, plain=False).split.entities}
    for name in read(path).split.entities:
        kinds[name.partition(":")[0]].add(name.partition(":")[2])
    assert kinds == {"n.a": {"1.5", "2"}, "n.b": {"007", "008"}, "n.c": {"1", "2"}, "n.d": {"2024-05-01", "2024-05-02"}}


def test_a_column_is_numbers_only_if_all_of_it_is_and_none_loses_digits(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    late = ["1"] * 5000 + ["x"]
    small = ["0.0072992700729927005", "1e-7", "NaN"] * 1667
    long = ["12345678901234567890123", "12345678901234567890124", "5"] * 1667
    when = ["2024-05-17 10:00:00", "2024-05-17 11:00:00", "2024-05-17 12:00:00"] * 1667
    lines = ["{},{},{},{}".format(*row) for row in zip(late, small, long, when, strict=True)]
    path.write_text("late,small,long,when\n" + "\n".join(lines) + "\n")
    imported = read(path)
    assert {record.column: record.type for record in imported.columns} == {
        "late": "varchar",
        "small": "double",
        "long": "varchar",
        "when": "timestamp",
    }
    assert imported.tables[0].gaps == 1667
    assert imported.split.rows is not None
    names = set(imported.split.rows.names)
    assert {
        "n.small:0.0072992700729927005",
        "n.small:1e-07",
        "n.long:12345678901234567890123",
        "n.long:12345678901234567890124",
    } <= names


def test_what_is_written_is_what_was_read_and_says_where_it_came_from(sales: Path, tmp_path: Path) -> None:
    imported = read(sales, bins=3)
    imported.save(tmp_path / "out")
    loaded = load(tmp_path / "out")
    assert loaded.parts == imported.split.parts
    assert loaded.column_types == imported.split.column_types
    record = json.loads((tmp_path / "out" / "import.json").read_text())
    assert record["sources"][0]["source"] == str(sales)
    assert len(record["sources"][0]["sha256"]) == 64
    assert record["options"]["bins"] == 3
    assert [column["column"] for column in record["columns"]] == [column.column for column in imported.columns]
    assert record["train"] + record["valid"] + record["test"] == record["tables"][0]["facts"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "column_types.json",
        "import.json",
        "roles.txt",
        "rows.safetensors",
        "test.txt",
        "train.txt",
        "valid.txt",
    ]


def labels(imported: Imported, table: str = "t") -> tuple[str | None, tuple[str, ...] | None]:
    """Return the columns that have what rows are called, and what they are called."""
    assert imported.split.rows is not None
    found = imported.split.rows[table]
    return " ".join(found.schema.label) or None, found.labels


def test_a_label_may_be_missing_and_a_table_without_a_key_has_none(tmp_path: Path) -> None:
    rows = [(n, None if n == 3 else f"Ann {n}", n % 3) for n in range(12)]
    imported = read(csv_of(tmp_path / "t.csv", ("id", "name", "kind"), rows))
    assert labels(imported) == ("name", tuple("" if n == 3 else f"Ann {n}" for n in range(12)))
    kept = read(csv_of(tmp_path / "t.csv", ("id", "name", "kind"), rows), keep=["name"])
    assert labels(kept) == (None, None)
    assert ("t.name", "t:4", "t.name:Ann 4") in facts(kept)
    loose = read(csv_of(tmp_path / "t.csv", ("kind", "town", "name"), [(n % 3, n % 4, f"Ann {n}") for n in range(12)]))
    assert labels(loose) == (None, None)
    assert outcomes(loose)["name"] == ("left out", "a value of its own in every row")


def test_constants_and_texts_of_many_words_are_left_out_and_can_be_kept(tmp_path: Path) -> None:
    story = [
        "once upon a time there was a king",
        "and then there was a queen as well as a horse",
        "the end of it all is here now",
    ]
    rows = [(n, "EUR", 7, "EUR" if n % 2 else None, story[n % 3], "2024-01-01", f"k{n % 4}") for n in range(30)]
    path = csv_of(tmp_path / "t.csv", ("id", "currency", "seven", "some", "story", "day", "kind"), rows)
    found = outcomes(read(path))
    assert {name for name, (outcome, _) in found.items() if outcome == "left out"} == {
        "currency",
        "seven",
        "some",
        "story",
        "day",
    }
    assert found["currency"] == found["seven"] == found["day"] == ("left out", "the same value in every row")
    assert found["some"] == ("left out", "the same value in every row that has one")
    assert found["story"] == ("left out", "free text of 9 words on average")
    kept = outcomes(read(path, keep=["currency", "story"]))
    assert kept["currency"] == kept["story"] == ("entities", "by option")


def test_text_that_hardly_repeats_is_free_but_few_rows_may(tmp_path: Path) -> None:
    rows = [(n, f"x{max(n, 3)}", f"y{max(n, 10)}", n % 3) for n in range(60)]
    found = outcomes(read(csv_of(tmp_path / "t.csv", ("id", "nearly", "often", "kind"), rows)))
    assert found["nearly"] == ("left out", "free text: 57 values in 60 rows")
    assert found["often"] == ("entities", "repeats: 50 values in 60 rows")
    few = read(csv_of(tmp_path / "t.csv", ("who", "what"), [("drew", "book"), ("kim", "tea"), ("drew", "tea")]))
    assert facts(few) == {
        ("t", "t.who:drew", "t.what:book"),
        ("t", "t.who:kim", "t.what:tea"),
        ("t", "t.who:drew", "t.what:tea"),
    }


def test_whole_numbers_are_entities_if_few_or_called_like_a_key_and_else_measures(tmp_path: Path) -> None:
    heads = ("rating", "user_id", "movieId", "seconds", "people", "serial_no")
    rows = [(n % 5, n % 70, n * 7 % 90, n % 80, n * 31, n * 13) for n in range(300)]
    found = outcomes(read(csv_of(tmp_path / "t.csv", ("id", *heads), [(n, *row) for n, row in enumerate(rows)])))
    assert {name: outcome for name, (outcome, _) in found.items()} == {
        "id": "key",
        "rating": "entities",
        "user_id": "entities",
        "movieId": "entities",
        "seconds": "bins",
        "people": "bins",  # a value of its own in every row, and a measure all the same
        "serial_no": "left out",
    }
    assert found["user_id"] == ("entities", "called like a key: 70 values in 300 rows")
    assert found["serial_no"] == ("left out", "a value of its own in every row")


def test_years_are_entities_in_their_order_even_if_they_are_called_like_a_key(tmp_path: Path) -> None:
    heads = ("yearID", "seasonId", "birthYear", "year_id", "carId")
    rows = [(1900 + n % 90, 1990 + n % 20, 1900 + n % 80, 30 * n % 2700, 1900 + n % 90) for n in range(300)]
    found = outcomes(read(csv_of(tmp_path / "t.csv", ("id", *heads), [(n, *row) for n, row in enumerate(rows)])))
    assert found["yearID"] == ("entities", "years in their order: 90 values in 300 rows")
    assert found["seasonId"] == ("entities", "years in their order: 20 values in 300 rows")
    assert found["birthYear"] == ("bins", "15 groups of equal size: 80 values in 300 rows")
    assert found["year_id"][1].startswith("called like a key")  # no years by their numbers
    assert found["carId"][1].startswith("called like a key")  # nor by what they are called
    script = "CREATE TABLE t (yearID INTEGER, team TEXT, park TEXT, PRIMARY KEY (yearID, team))"
    rows = [(1900 + n // 5, f"t{n % 5}", f"p{n % 4}") for n in range(200)]
    assert outcomes(read(sqlite_of(tmp_path / "t.db", script, t=rows)))["yearID"] == (
        "entities",
        "part of the key, years in their order",
    )


def test_texts_of_several_words_that_most_rows_have_for_themselves_are_free(tmp_path: Path) -> None:
    rows = [
        (n, f"a given name{n % 40 if n < 40 else n}", f"name{n % 40 if n < 40 else n}", f"sales agent {n % 20}")
        for n in range(80)
    ]
    rows += [(80 + n, *rows[n][1:]) for n in range(25)]  # so that a quarter of the texts comes twice
    found = outcomes(read(csv_of(tmp_path / "t.csv", ("id", "given", "word", "post"), rows)))
    assert found["given"] == ("left out", "free text: 55 of 105 rows have one of their own")
    assert found["word"] == ("entities", "repeats: 80 values in 105 rows")
    assert found["post"] == ("entities", "repeats: 20 values in 105 rows")


def test_amounts_are_measures_where_whole_numbers_as_many_are_entities(tmp_path: Path) -> None:
    rows = [(n, 0.99 * (n % 13), 0.5 * (n % 12), n % 13, f"k{n % 3}") for n in range(400)]
    found = outcomes(read(csv_of(tmp_path / "t.csv", ("id", "total", "stars", "count", "kind"), rows)))
    assert found["total"] == ("bins", "20 groups of equal size: 13 values in 400 rows")
    assert found["stars"] == ("entities", "repeats: 12 values in 400 rows")
    assert found["count"] == ("entities", "repeats: 13 values in 400 rows")


def test_times_of_day_are_known_by_their_minutes(tmp_path: Path) -> None:
    def clock(minute: int) -> int:
        return 100 * (minute // 60) + minute % 60

    heads = ("dep_time", "sched_code", "rent", "half", "steps")
    rows = [
        (n, clock(n * 7 % 1440), clock(n * 35 % 1440), 300 + n * 13 % 2000, 50 * (n % 49), n % 60 + 100 * (n % 3))
        for n in range(400)
    ]
    rows.append((400, 2400, None, 300, 50, 0))
    found = outcomes(read(csv_of(tmp_path / "t.csv", ("id", *heads, "kind"), [(*row, row[0] % 3) for row in rows])))
    assert found["dep_time"] == ("bins", "times of day (hhmm) in 20 groups of equal size: 401 values in 401 rows")
    assert found["sched_code"][1].startswith("times of day (hhmm) in 20 groups")  # whatever it is called
    assert found["rent"] == ("bins", "20 groups of equal size: 400 values in 401 rows")
    assert found["half"] == ("bins", "20 groups of equal size: 49 values in 401 rows")  # as good as any number
    assert found["steps"][1].startswith("20 groups")  # up to two hours are no times of day
