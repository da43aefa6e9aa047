"""Links that no source declares, found in the values."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from relatum import RelatumWarning
from relatum.data.near_names import find_near_names
from relatum.tables import read
from relatum.tables.links import _Values
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
    assert {"column": "flights.carrier", "target": "airlines.carrier", "share": 1.0, "near": 0, "why": ""} in listed


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


MUTATED = {
    "spaces": lambda key: f"{key} ",
    "case": str.upper,
    "look-alike characters": lambda key: key.replace("c", "\u0441"),
    "invisible characters": lambda key: f"\ufeff{key}",
}


@pytest.mark.parametrize("kind", MUTATED)
def test_a_link_that_near_values_hide_is_offered_and_says_why(tmp_path: Path, kind: str) -> None:
    customers = csv_of(tmp_path / "customers.csv", ("id", "city"), [(f"c{n}x", f"city{n % 4}") for n in range(30)])
    keys = [MUTATED[kind](f"c{n}x") if n < 12 else f"c{n}x" for n in range(30)]
    orders = csv_of(
        tmp_path / "orders.csv", ("no", "customer", "item"), [(f"o{n}", keys[n % 30], n % 6) for n in range(120)]
    )
    imported = read([customers, orders], auto_links=True)
    (offer,) = imported.offers
    assert (str(offer), offer.share, offer.near) == ("--link orders.customer=customers.id", 18 / 30, 12)
    assert f"12 of 30 values differ only by {kind}, such as " in offer.why
    listed = imported.to_json()["links"]
    assert listed == [{"column": "orders.customer", "target": "customers.id", "share": 0.6, "near": 12, "why": offer.why}]
    with pytest.warns(RelatumWarning, match="24 entity names, in 12 groups"):
        linked = read([customers, orders], links={"orders.customer": "customers.id"})
    assert linked.near_names["entity"].kinds == {kind: 12}
    why = {record.column: record.why for record in linked.columns if record.table == "orders"}["customer"]
    assert "12 values have no row in customers.id; 12 of these differ from one only by " + kind in why


def test_numbers_that_one_table_writes_with_zeros_are_offered_by_name(tmp_path: Path) -> None:
    stores = csv_of(tmp_path / "stores.csv", ("id", "kind"), [(n + 1, f"k{n % 3}") for n in range(20)])
    visits = [(f"v{n}", f"{1 + n % 20:03}", f"{1 + n % 20:03}", n % 7) for n in range(120)]
    imported = read([stores, csv_of(tmp_path / "visits.csv", ("no", "store_id", "gate", "size"), visits)])
    (offer,) = imported.offers
    assert (offer.column, offer.share, offer.near) == (("visits", "store_id"), 0.0, 20)
    assert "leading zeros" in offer.why


def test_near_values_are_those_that_comparing_all_pairs_finds(tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(20):
        own, others = ({"".join(rng.choices("aAbB \u0430", k=3)).strip() or "a" for _ in range(30)} for _ in range(2))
        near, how = _Values(True, frozenset(own)).near(_Values(True, frozenset(others)))
        expected = {one for one in own - others if any(find_near_names([one, other]).groups for other in others - {one})}
        assert near == len(expected)
        assert bool(how) == bool(expected)
