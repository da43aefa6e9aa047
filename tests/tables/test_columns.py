"""What becomes of columns and rows: NULLs, numbers, dates, ids, free text, and labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pytest

from relatum.data.labels import Labels
from relatum.datasets.load import load
from relatum.tables import Imported, read
from relatum.tables.columns import Profile, is_called_like_label, labels_of, words_of
from relatum.tables.source import SourceColumn, SourceTable
from support.small_tables import all_facts, csv_of, sqlite_of, store_of


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
    assert ("sales.paid", "sales:7", "sales.paid:false") in all_facts(imported)
    assert not any(fact[:2] == ("sales.paid", "sales:10") for fact in all_facts(imported))
    assert ("sales.buyer", "sales:10", "sales.buyer:b0") in all_facts(imported)
    names = set(imported.split.entities)
    assert {"sales.item:0", "sales.buyer:b4", "sales.day:2024-01-04", "sales.rate:0", "sales.rate:0.5"} <= names
    assert {"sales.rate:1", "sales.paid:true", "sales.fee:1.25", "sales.fee:2.25"} <= names


def test_null_can_be_a_value(sales: Path) -> None:
    imported = read(sales, null="value")
    assert (imported.tables[0].gaps, imported.tables[0].facts) == (0, 9 * 400)
    assert sum(fact[2] == "sales.paid:NULL" for fact in all_facts(imported)) == 40
    assert sum(fact[2] == "sales.rare:NULL" for fact in all_facts(imported)) == 280  # with x, these are two values
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
    assert len(all_facts(imported)) == 35
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
    assert ("knows", "ann", "bob", "2001") in all_facts(read(path, plain=True))
    linked = read(path, links={"who": "person", "knows.whom": "person"})
    assert ("knows", "person:ann", "person:bob", "knows.since:2001") in all_facts(linked)
    assert ("knows", "person:ann", "person:bob", "2001") in all_facts(
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
    wanted = {"n.a": ("1.5", "2"), "n.b": ("007", "008"), "n.c": ("1", "2"), "n.d": ("2024-05-01", "2024-05-02")}
    assert set(read(path).split.entities) == {f"{kind}:{value}" for kind, values in wanted.items() for value in values}


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
    names = set(store_of(imported.split).names)
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
        "values.safetensors",
    ]


def labels(imported: Imported) -> tuple[str, tuple[str, ...] | None]:
    """Return the columns that have what rows of `t` are called, and what they are called."""
    found = store_of(imported.split)["t"]
    return " ".join(found.schema.label), found.labels


def test_a_label_may_be_missing_and_a_table_without_a_key_has_none(tmp_path: Path) -> None:
    rows = [(n, None if n == 3 else f"Ann {n}", n % 3) for n in range(12)]
    path = csv_of(tmp_path / "t.csv", ("id", "name", "kind"), rows)
    assert labels(read(path)) == ("name", tuple("" if n == 3 else f"Ann {n}" for n in range(12)))
    kept = read(path, keep=["name"])
    assert labels(kept) == ("", None)
    assert ("t.name", "t:4", "t.name:Ann 4") in all_facts(kept)
    loose = read(csv_of(tmp_path / "t.csv", ("kind", "town", "name"), [(n % 3, n % 4, f"Ann {n}") for n in range(12)]))
    assert labels(loose) == ("", None)
    assert outcomes(loose)["name"] == ("left out", "a value of its own in every row")


def clock(minute: int) -> int:
    return 100 * (minute // 60) + minute % 60


STORIES = [
    "once upon a time there was a king",
    "and then there was a queen and a horse as well",
    "the end of it is here now",
]
OWN, SAME, TIMES = "a value of its own in every row", "the same value in every row", "times of day (hhmm) in 20 groups"
# In how many rows a column of a name and of values has which outcome, and how the reason begins.
RULES: list[tuple[int, str, Callable[[int], object], str, str]] = [
    (30, "currency", lambda n: "EUR", "left out", SAME),
    (30, "seven", lambda n: 7, "left out", SAME),
    (30, "some", lambda n: "EUR" if n % 2 else None, "left out", f"{SAME} that has one"),
    (30, "day", lambda n: "2024-01-01", "left out", SAME),
    (30, "story", lambda n: STORIES[n % 3], "left out", "free text of 9 words on average"),
    (60, "nearly", lambda n: f"x{max(n, 3)}", "left out", "free text: 57 values in 60 rows"),
    (60, "often", lambda n: f"y{max(n, 10)}", "entities", "repeats: 50 values in 60 rows"),
    (105, "given", lambda n: f"a given name{n % 80}", "left out", "free text: 55 of 105 rows have one of their own"),
    (105, "word", lambda n: f"name{n % 80}", "entities", "repeats: 80 values in 105 rows"),
    (105, "post", lambda n: f"sales agent {n % 80 % 20}", "entities", "repeats: 20 values in 105 rows"),
    (300, "rating", lambda n: n % 5, "entities", "repeats"),
    (300, "user_id", lambda n: n % 70, "entities", "called like a key: 70 values in 300 rows"),
    (300, "movieId", lambda n: n * 7 % 90, "entities", "called like a key"),
    (300, "seconds", lambda n: n % 80, "bins", "15 groups"),
    (300, "people", lambda n: n * 31, "bins", "15 groups"),  # a measure, although no two rows are alike
    (300, "serial_no", lambda n: n * 13, "left out", OWN),
    (300, "yearID", lambda n: 1900 + n % 90, "entities", "years in their order: 90 values in 300 rows"),
    (300, "seasonId", lambda n: 1990 + n % 20, "entities", "years in their order: 20 values in 300 rows"),
    (300, "birthYear", lambda n: 1900 + n % 80, "bins", "15 groups of equal size: 80 values in 300 rows"),
    (300, "year_id", lambda n: 30 * n % 2700, "entities", "called like a key"),  # no years by their numbers
    (300, "carId", lambda n: 1900 + n % 90, "entities", "called like a key"),  # nor by what they are called
    (400, "total", lambda n: 0.99 * (n % 13), "bins", "20 groups of equal size: 13 values in 400 rows"),
    (400, "stars", lambda n: 0.5 * (n % 12), "entities", "repeats: 12 values in 400 rows"),
    (400, "count", lambda n: n % 13, "entities", "repeats: 13 values in 400 rows"),
    (401, "dep_time", lambda n: 2400 if n == 400 else clock(n * 7 % 1440), "bins", f"{TIMES} of equal size: 401 values"),
    (401, "sched_code", lambda n: None if n == 400 else clock(n * 35 % 1440), "bins", TIMES),  # whatever it is called
    (401, "rent", lambda n: 300 + n * 13 % 2000, "bins", "20 groups of equal size: 401 values in 401 rows"),
    (401, "half", lambda n: 50 * (n % 49), "bins", "20 groups of equal size: 49 values in 401 rows"),  # as any number
    (401, "steps", lambda n: n % 60 + 100 * (n % 3), "bins", "20 groups"),  # up to two hours are no times of day
]


@pytest.mark.parametrize("count", sorted({count for count, *_ in RULES}))
def test_what_becomes_of_a_column_follows_from_its_values_and_name(count: int, tmp_path: Path) -> None:
    columns = {name: rest for rows, name, *rest in RULES if rows == count}
    rows = [(n, *(make(n) for make, _, _ in columns.values()), f"k{n % 3}") for n in range(count)]
    path = csv_of(tmp_path / "t.csv", ("id", *columns, "kind"), rows)
    found = outcomes(read(path))
    assert found["id"][0] == "key"
    for name, (_, outcome, why) in columns.items():
        assert (found[name][0], found[name][1][: len(why)]) == (outcome, why), name
    lost = [name for name, (_, outcome, _) in columns.items() if outcome == "left out"]
    kept = outcomes(read(path, keep=lost))
    assert {kept[name] for name in lost} <= {("entities", "by option")}


def test_few_rows_may_well_differ_and_years_may_be_part_of_a_key(tmp_path: Path) -> None:
    rows = [("drew", "book"), ("kim", "tea"), ("drew", "tea")]
    few = read(csv_of(tmp_path / "t.csv", ("who", "what"), rows))
    assert all_facts(few) == {("t", f"t.who:{who}", f"t.what:{what}") for who, what in rows}
    script = "CREATE TABLE t (yearID INTEGER, team TEXT, park TEXT, PRIMARY KEY (yearID, team))"
    played = [(1900 + n // 5, f"t{n % 5}", f"p{n % 4}") for n in range(200)]
    found = outcomes(read(sqlite_of(tmp_path / "t.db", script, t=played)))
    assert found["yearID"] == ("entities", "part of the key, years in their order")


def found(table: str, together: int = 100, **distinct: int) -> tuple[str, ...]:
    """Return the labels of a table of 100 rows whose columns of text have so many different values."""
    columns = tuple(SourceColumn(name, "text", "text") for name in ("id", *distinct))
    profiles = {name: Profile("text", False, 100, 0, count, 2.0, 12.0) for name, count in {"id": 100, **distinct}.items()}
    return labels_of(SourceTable(table, columns, ("id",)), profiles, lambda _: together)


@pytest.mark.parametrize(
    ("name", "words"),
    [("nameFirst", "name first"), ("NAME_FULL", "name full"), ("park.name", "park name"), ("URLTitle", "url title")],
)
def test_words_are_the_same_in_every_spelling(name: str, words: str) -> None:
    assert words_of(name) == words.split()


NAMES = "schools name_full, schools full_name, schools fullname, users displayName, Genre GenreName, genres genrename, "
NAMES += "parks park.name, parks parkname, TeamsFranchises franchName, categories category_name, hr.cities CityName, "
NAMES += "film film_title, things label, shops name"
PEOPLE = "nameFirst nameLast, FirstName LastName, first_name last_name, firstname lastname, given_name family_name, "
PEOPLE += "forename surname, PlayerFirstName PlayerLastName"


@pytest.mark.parametrize(("table", "column"), [pair.split() for pair in NAMES.split(", ")])
def test_a_name_is_a_label_although_two_rows_share_it(table: str, column: str) -> None:
    assert found(table, phone=100, **{column: 98}) == (column,)
    assert is_called_like_label((column,), table)


@pytest.mark.parametrize(
    ("table", "column"), [("orders", "ship_name"), ("users", "username_hash"), ("people", "birthCity"), ("people", "rename")]
)
def test_other_columns_are_none_unless_they_are_unique(table: str, column: str) -> None:
    assert found(table, **{column: 98}) == ()
    assert found(table, **{column: 100}) == (column,)
    assert not is_called_like_label((column,), table)


@pytest.mark.parametrize(("first", "last"), [pair.split() for pair in PEOPLE.split(", ")])
def test_first_and_last_names_are_a_label_together_in_this_order(first: str, last: str) -> None:
    assert found("players", **{last: 60, first: 20}) == (first, last)
    assert found("players", together=30, **{last: 20, first: 10}) == ()  # the same few people again and again


def test_the_best_of_several_is_taken() -> None:
    assert found("employees", title=8, name=90) == ("name",)
    assert found("films", title=95, name=20) == ("title",)
    assert found("films", retroID=100, slogan=100) == ("slogan",)  # a code says less to people
    assert found("films", retroID=100) == ("retroID",)


def test_two_people_of_one_name_are_shown_with_it_and_told_apart_in_questions(tmp_path: Path) -> None:
    script = "CREATE TABLE people (id TEXT PRIMARY KEY, nameLast TEXT, nameFirst TEXT, bats TEXT);"
    rows: Sequence[tuple[str, str, str, str]] = [(f"p{n}", f"Last{n // 2}", "Joe", "LR"[n % 2]) for n in range(12)]
    rows = [*rows, ("p12", "Sole", "Ann", "L")]
    imported = read(sqlite_of(tmp_path / "p.db", script, people=rows))
    assert {one.column: one.outcome for one in imported.columns} == {
        "id": "key",
        "nameLast": "label",
        "nameFirst": "label",
        "bats": "entities",
    }
    assert store_of(imported.split)["people"].schema.label == ("nameFirst", "nameLast")
    labels = Labels(store_of(imported.split))
    assert labels.of("people:p3") == "Joe Last1"
    assert labels.named("Ann Sole") == ["people:p12"]
    assert labels.named("Joe Last1") == ["people:p2", "people:p3"]
