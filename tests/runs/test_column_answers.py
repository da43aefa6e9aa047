"""A question whose given entities hold a key has one answer, found as an empty cell is filled; by key or by label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum import Run
from relatum.runs.column_answers import ColumnQuestions
from relatum.runs.filling import rows_of
from support.mistakes import mistake
from support.shop_with_gaps import COUNTRIES, rows
from support.small_tables import sqlite_of


def test_the_row_with_the_key_is_asked(tables: Run) -> None:
    models, held = tables.columns, rows_of(tables)["customers"]
    assert models is not None
    keys = [name.partition(":")[2] for name in map(rows_of(tables).names.__getitem__, held.column("id").tolist())]
    right = 0
    for number in [n for n, row in enumerate(rows()["customers"]) if row[3] is None]:
        found = tables.complete("customers.country", keys[number], None, k=3, new_only=True)
        imputed = models.answer("customers", "country", np.array([number]), most_part=2, scores=tables.cell_scores)
        ids = imputed.ids[0, : len(found)].tolist()
        assert [one.entities for one in found] == [(rows_of(tables).names[one],) for one in ids]
        assert [one.probability for one in found] == pytest.approx(imputed.probabilities[0, : len(found)].tolist())
        city = str(rows()["customers"][int(keys[number]) - 1][2])
        right += found[0].entities == (f"customers.country:{COUNTRIES[city]}",)
    assert right > 15


def test_names_are_looked_up_once_for_all_questions(gappy_run: Path) -> None:
    tables = Run.load(gappy_run)
    assert "entity_cells" not in tables.__dict__
    tables.complete("customers.country", "10", None)
    first = tables.entity_cells
    tables.complete("customers.city", "10", None)
    assert tables.entity_cells is first
    names = rows_of(tables).names
    assert [names[one] if one >= 0 else None for one in first.tolist()] == [
        name if name in names else None for name in tables.entities
    ]


def test_a_question_without_a_key_is_none_of_these_and_a_label_asks_as_the_key(tables: Run) -> None:
    without = (("customers.country", 0), ("sales", 1), ("ratings", 1), ("stock", 1))
    assert [ColumnQuestions.of(tables, *one) for one in without] == [None] * len(without)
    assert ColumnQuestions.of(tables, "seats", 2) is not None
    by_key = tables.complete("customers.country", "10", None)
    assert list(tables.complete("customers.country", "customer 10", None)) == list(by_key)
    assert list(tables.complete('customers.country("customer 10", ?)')) == list(by_key)
    assert tables.score("sales", "customer 5", "item 4", "web").score == tables.score("sales", "5", "4", "web").score
    assert tables.shown("customers.country", ("customers:10", "customers.country:Italy")) == ("customer 10 (10)", "Italy")
    with mistake("ambiguous-name"):
        tables.complete("customers.country", "Ada", None)
    with mistake("unknown-name"):
        tables.complete("customers.country", "item 4", None)  # a label of another table


def test_a_key_inside_an_event_is_asked_with_what_the_question_gives(tmp_path: Path) -> None:
    """The day decides the channel; the event's own key is in no question, and what is given is not taken for it."""
    days = [f"d{n}" for n in range(12)]
    script = """
        CREATE TABLE buyers (id TEXT PRIMARY KEY, city TEXT);
        CREATE TABLE visits (id TEXT PRIMARY KEY, buyer TEXT REFERENCES buyers (id), host TEXT REFERENCES buyers (id),
            day TEXT, channel TEXT, rating REAL, UNIQUE (buyer, host, day))"""
    buyers = [(f"{n}", f"city {n % 3}") for n in range(20)]
    visits = [
        (f"{n}", f"{n % 20}", f"{(n * 7 + n // 20) % 20}", days[n // 20], ("web", "shop")[n // 20 % 2], n / 7)
        for n in range(240)
    ]
    path = sqlite_of(tmp_path / "shop.db", script, buyers=buyers, visits=visits)
    tables = relatum.fit(relatum.read(path), dim=20, epochs=2, progress=False)
    assert tables.split.rows is not None
    assert tables.keys_of("visits") == ((0, 1, 2),)
    right = total = 0
    taken = {row[1:4] for row in visits}
    for number in range(24):
        given = (f"{number % 20}", f"{(number + 9) % 20}", days[number % 12])
        if given not in taken:
            answers = tables.complete("visits", *given, None, k=5)
            total += 1
            right += answers[0].entity == f"visits.channel:{('web', 'shop')[number % 12 % 2]}"
            assert sum(one.probability or 0.0 for one in answers) <= 1 + 1e-9
    assert total > 10
    assert right > 0.95 * total
