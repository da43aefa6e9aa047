"""Databases: names, schemas, types and rights as engines have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from relatum.errors import DataError
from relatum.tables import read
from support.mistakes import mistake
from support.small_tables import all_facts, sqlite_of


def test_names_in_sqlite_do_not_care_about_case_and_a_key_may_leave_its_target_to_the_primary_key(tmp_path: Path) -> None:
    script = """
        CREATE TABLE Items (ID INTEGER PRIMARY KEY, category TEXT);
        CREATE TABLE sales (item INTEGER REFERENCES items, buyer TEXT, again INTEGER REFERENCES iTEMS (id));
        INSERT INTO Items VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b');
        INSERT INTO sales VALUES (1, 'x', 2), (2, 'y', 3), (3, 'x', 1), (4, 'y', 1);"""
    imported = read(sqlite_of(tmp_path / "s.db", script))
    assert ("sales", "Items:1", "sales.buyer:x", "Items:2") in all_facts(imported)
    assert ("Items.category", "Items:1", "Items.category:a") in all_facts(imported)


def test_columns_that_refer_to_each_other_in_a_circle_hold_the_same_entities(tmp_path: Path) -> None:
    script = """
        CREATE TABLE a (id INTEGER PRIMARY KEY REFERENCES b (id), x TEXT);
        CREATE TABLE b (id INTEGER PRIMARY KEY REFERENCES a (id), y TEXT);
        INSERT INTO a VALUES (1, 'p'), (2, 'p'), (3, 'r');
        INSERT INTO b VALUES (1, 'q'), (2, 's'), (3, 's');"""
    imported = read(sqlite_of(tmp_path / "s.db", script))
    assert set(imported.split.entities) == {"a:1", "a:2", "a:3", "a.x:p", "a.x:r", "b.y:q", "b.y:s"}
    assert {("a.x", "a:3", "a.x:r"), ("b.y", "a:3", "b.y:s")} <= all_facts(imported)


def test_two_kinds_of_one_name_stay_apart(tmp_path: Path) -> None:
    script = """
        CREATE TABLE a (b TEXT, c TEXT);
        CREATE TABLE "a.b" (id INTEGER PRIMARY KEY, c TEXT);
        CREATE TABLE z (x INTEGER REFERENCES "a.b" (id), y TEXT);
        INSERT INTO a VALUES ('1', 'p'), ('1', 'q');
        INSERT INTO "a.b" VALUES (1, 'p'), (2, 'p'), (3, 'q');
        INSERT INTO z VALUES (1, 'm'), (2, 'm'), (2, 'n');"""
    imported = read(sqlite_of(tmp_path / "s.db", script), columns={"a": ["b", "c"]})
    kinds = {(record.table, record.column): record.kind for record in imported.columns}
    assert kinds["a", "b"] != kinds["a.b", "id"] == kinds["z", "x"]


def test_postgres_schemas_types_and_partitions(database: str) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        connection.execute("""
            CREATE SCHEMA hr;
            CREATE TYPE mood AS ENUM ('good', 'bad');
            CREATE TABLE hr.people (id uuid PRIMARY KEY, mood mood, since date, weight numeric(30, 2), doc jsonb,
                tags int[]);
            CREATE TABLE visits (person uuid REFERENCES hr.people (id), day timestamptz, ok boolean, worth numeric)
                PARTITION BY LIST (ok);
            CREATE TABLE visits_yes PARTITION OF visits FOR VALUES IN (true);
            CREATE TABLE visits_no PARTITION OF visits FOR VALUES IN (false);
            INSERT INTO hr.people SELECT md5(i::text)::uuid, CASE WHEN i % 2 = 0 THEN 'good' ELSE 'bad' END::mood,
                date '2024-01-01' + i % 3, 1.50 + i % 2, '{}', '{1}' FROM generate_series(1, 12) i;
            INSERT INTO visits SELECT md5((1 + i % 12)::text)::uuid,
                timestamptz '2024-01-01 10:00+02' + (i / 5 % 2) * interval '1 day',
                i % 5 = 0, 'NaN' FROM generate_series(1, 40) i;
        """)
    imported = read(database)
    assert [record.table for record in imported.tables] == ["hr.people", "visits"]
    outcome = {(record.table, record.column): (record.outcome, record.why) for record in imported.columns}
    assert outcome["hr.people", "doc"] == outcome["hr.people", "tags"] == ("left out", "nested or binary values")
    assert outcome["visits", "worth"] == ("left out", "no values")
    person = "hr.people:c4ca4238-a0b9-2382-0dcc-509a6f75849b"
    about = {fact[0]: fact[2] for fact in all_facts(imported) if fact[1] == person and fact[0] != "visits"}
    assert about == {
        "hr.people.mood": "hr.people.mood:bad",
        "hr.people.since": "hr.people.since:2024-01-02",
        "hr.people.weight": "hr.people.weight:2.5",
    }
    visits = {fact[2:] for fact in all_facts(imported) if fact[:2] == ("visits", person)}
    assert visits == {(f"visits.day:2024-01-0{day} 08:00:00", "visits.ok:false") for day in (1, 2)}  # those of 12, 24, 36


def test_a_wrong_password_a_server_that_is_down_and_a_database_that_is_not_there_are_one_sentence(postgres: str) -> None:
    host = postgres.rpartition("@")[2]
    for url, said in (
        (f"postgresql://owner:wrong@{host}/postgres", "password authentication failed"),
        (f"{postgres}/nowhere", "does not exist"),
        ("postgresql://owner:hidden@127.0.0.1:1/x", "refused"),
        (f"{postgres}/postgres?sslmode=sideways", "sslmode"),
    ):
        with pytest.raises(DataError) as caught:
            read(url)
        told = str(caught.value)
        assert said in told
        assert "\n" not in told
        for secret in ("hidden", "wrong", "s3cret"):
            assert secret not in told


def test_tables_that_may_not_be_read_still_say_what_refers_to_them(database: str) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        connection.execute("""
            CREATE TABLE secret (id int PRIMARY KEY, x text);
            CREATE TABLE a (who int REFERENCES secret (id), b int);
            CREATE TABLE c (whom int REFERENCES secret (id), d int);
            INSERT INTO secret SELECT i, 'x' FROM generate_series(0, 9) i;
            INSERT INTO a SELECT i % 5, i % 3 FROM generate_series(1, 30) i;
            INSERT INTO c SELECT i % 7, i % 3 FROM generate_series(1, 30) i;
            DROP ROLE IF EXISTS guest;
            CREATE ROLE guest LOGIN PASSWORD 'guest';
            GRANT SELECT ON a, c TO guest;
        """)
    host = database.rpartition("@")[2]
    imported = read(f"postgresql://guest:guest@{host}")
    assert {("a", "secret:1", "a.b:1"), ("c", "secret:1", "c.d:1")} <= all_facts(imported)
    assert {record.table: record.note for record in imported.tables} == {
        "a": "no column is a key",
        "c": "no column is a key",
        "secret": "not read",
    }
    with mistake("database-refused"):
        read(f"postgresql://guest:guest@{host}", tables=["secret"])


def test_values_that_a_foreign_key_leads_nowhere_with_are_counted(tmp_path: Path) -> None:
    script = """
        CREATE TABLE items (id INTEGER PRIMARY KEY, category TEXT);
        CREATE TABLE sales (item REAL REFERENCES items (id), buyer TEXT);
        INSERT INTO items VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b');
        INSERT INTO sales VALUES (1, 'x'), (2, 'y'), (77, 'x'), (78, 'y'), (NULL, 'z');"""
    imported = read(sqlite_of(tmp_path / "s.db", script), keep=["buyer"])
    why = {record.column: record.why for record in imported.columns if record.table == "sales"}
    assert why["item"] == "refers to items.id; 2 values have no row in items.id"
    assert "items:77" in imported.split.entities
