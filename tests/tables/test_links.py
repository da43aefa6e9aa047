"""Links that no source declares, found in the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from relatum.tables import read
from support.small_tables import all_facts, csv_of, sqlite_of, store_of


@pytest.fixture
def airport(tmp_path: Path) -> list[Path]:
    """Return flights, airlines and planes as files, which declare nothing."""
    carriers = [f"C{n}" for n in range(8)]
    planes = [f"N{n:03}" for n in range(40)]
    flights = [
        (f"2024-01-{1 + n % 28:02}", carriers[n * 7 % 8], planes[n * 11 % 40], 1 + n % 12, n * 3 % 170) for n in range(400)
    ]
    flights += [("2024-02-01", "C1", "N999", 1, 9)] * 2  # a plane that planes.csv lacks
    return [
        csv_of(tmp_path / "flights.csv", ("day", "carrier", "tailnum", "gate", "delay"), flights),
        csv_of(tmp_path / "airlines.csv", ("carrier", "name"), [(one, f"Airline {one}") for one in carriers]),
        csv_of(
            tmp_path / "planes.csv",
            ("tailnum", "model", "engines", "gate"),
            [(one, f"M{n % 5}", 2 + n % 2, 1 + n % 12) for n, one in enumerate(planes)],
        ),
    ]


def test_columns_that_share_their_values_are_offered_as_links(airport: list[Path]) -> None:
    imported = read(airport)
    offers = {str(offer): round(offer.share, 3) for offer in imported.offers}
    assert offers == {
        "--link flights.carrier=airlines.carrier": 1.0,
        "--link flights.tailnum=planes.tailnum": round(40 / 41, 3),
    }
    assert {"flights.carrier:C1", "flights.tailnum:N001"} <= set(imported.split.entities)
    listed = imported.to_json()["links"]
    assert {"column": "flights.carrier", "target": "airlines.carrier", "share": 1.0} in listed


def test_links_that_are_found_can_be_taken_all_at_once(airport: list[Path]) -> None:
    imported = read(airport, auto_links=True)
    assert imported.offers == ()
    types = {(record.table, record.column): record.kind for record in imported.columns}
    assert types["flights", "carrier"] == types["airlines", "carrier"] == "airlines"
    assert types["flights", "tailnum"] == types["planes", "tailnum"] == "planes"
    assert types["flights", "gate"] != types["planes", "gate"]  # numbers from 1 up are in most tables
    shapes = {record.table: (record.shape, record.note) for record in imported.tables}
    assert shapes["planes"] == ("entity", "its key tailnum is referred to by flights")
    references = {(one.columns, one.table, one.targets) for one in store_of(imported.split)["flights"].schema.references}
    assert references == {(("carrier",), "airlines", ("carrier",)), (("tailnum",), "planes", ("tailnum",))}
    assert store_of(imported.split)["airlines"].schema.label == ("name",)
    why = {record.column: record.why for record in imported.columns if record.table == "flights"}
    assert why["tailnum"] == "refers to planes.tailnum; 1 value has no row in planes.tailnum"
    by_hand = read(airport, links={"flights.carrier": "airlines.carrier", "flights.tailnum": "planes.tailnum"})
    assert all_facts(by_hand) == all_facts(imported)


def test_entities_are_called_the_same_whether_or_not_the_table_of_their_found_key_is_read(airport: list[Path]) -> None:
    links = {"flights.carrier": "airlines.carrier", "flights.tailnum": "planes.tailnum"}

    def types_of(*tables: str) -> dict[str, str | None]:
        records = read(airport, links=links, tables=tables).columns
        return {record.column: record.kind for record in records if record.table == "flights"}

    assert types_of("flights") == types_of("flights", "planes") == types_of("flights", "planes", "airlines")
    assert types_of("flights")["tailnum"] == "planes"


def test_columns_that_foreign_keys_join_are_not_offered_the_other_way_round(tmp_path: Path) -> None:
    script = """CREATE TABLE teams (year TEXT, team TEXT, park TEXT, PRIMARY KEY (year, team));
        CREATE TABLE coaches (who TEXT, year TEXT, team TEXT, FOREIGN KEY (year, team) REFERENCES teams (year, team));"""
    teams = [(f"y{y}", f"t{t}", f"p{t % 7}") for y in range(8) for t in range(9)]
    coaches = [(f"c{n % 11}", year, team) for n, (year, team, _) in enumerate(teams * 2)]
    imported = read(sqlite_of(tmp_path / "t.db", script, teams=teams, coaches=coaches))
    assert imported.offers == ()


def test_whole_numbers_are_linked_by_name_alone(tmp_path: Path) -> None:
    people = csv_of(tmp_path / "people.csv", ("id", "town"), [(n, f"t{n % 3}") for n in range(30)])
    calls = csv_of(
        tmp_path / "calls.csv", ("people_id", "minutes", "line"), [(n * 7 % 30, n % 20, n % 9) for n in range(120)]
    )
    assert [str(offer) for offer in read([people, calls]).offers] == ["--link calls.people_id=people.id"]
    assert read([people, calls], plain=True).offers == ()


def test_texts_that_are_no_keys_are_offered_too_but_few_values_say_nothing(tmp_path: Path) -> None:
    towns, yes = [f"town {n}" for n in range(9)], ["yes", "no"]
    one = csv_of(tmp_path / "one.csv", ("town", "ok", "a"), [(towns[n % 9], yes[n % 2], f"a{n % 4}") for n in range(90)])
    two = csv_of(tmp_path / "two.csv", ("city", "fine", "b"), [(towns[n % 7], yes[n % 2], f"b{n % 4}") for n in range(70)])
    imported = read([one, two])
    assert [str(offer) for offer in imported.offers] == ["--link two.city=one.town"]
    linked = read([one, two], auto_links=True)
    types = {(record.table, record.column): record.kind for record in linked.columns}
    assert types["two", "city"] == types["one", "town"]
