"""Everyday queries of relational algebra on the tables of a shop that sells food and music, each against one completion."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Ratio, seconds
from relatum import Run, Spec, fit, read, save

QUERIES = {
    "the category of a product": "project[category](select[product = products:1](products))",
    "the genre of a track": "project[genre](select[track = tracks:1](tracks))",
    "where the orders of a customer go": "project[country](select[customer = customers:7](orders))",
    "cities": "project[city](customers)",
    "the album and composer of a track": "project[album, composer](select[track = tracks:63](tracks))",
    "the price of a product": "project[price](select[product = products:12](products))",
    "the customers of an employee": "project[customer, employee](orders)(?, employees:3)",
    "the products of an order": "project[product](select[order = orders:100](lines))",
    "orders of a product": "(project[order, product](lines))(?, products:5)",
    "suppliers of a category": "project[supplier](select[category = categories:3](products))",
    "the artist of an album": "project[artist](select[album = albums:20](albums))",
    "the country of a customer": "(project[customer, country](customers))(customers:33, ?)",
    "two columns dropped": "(project[order, customer, country](orders))(orders:17, ?, ?)",
    "three columns dropped": "project[product, supplier, category, unit, price](products)(products:9, ?, ?, ?, ?)",
    "countries of customers or suppliers": "union(project[country](customers), project[country](suppliers))",
    "countries of orders without customers there": "difference(project[country](orders), project[country](customers))",
    "genres but not of this album": ("difference(project[genre](tracks), project[genre](select[album = albums:3](tracks)))"),
    "either of two customers": (
        "union(project[shipper](select[customer = customers:1](orders)), "
        "project[shipper](select[customer = customers:2](orders)))"
    ),
    "products reordered at their stock": "project[product](select_equal[stock, reorder](products))",
    "a stored relation": "albums(?, artists:9)",
}

COMPLETION = "tracks(tracks:1, ?, ?, ?, ?, tracks.price:1.99)"


def ratios() -> Iterator[Ratio]:
    """Ask each query of a run on imported tables; the peer is one completion of a fact of the widest table."""
    with tempfile.TemporaryDirectory() as name:
        run = shop(Path(name))
        peer = seconds(lambda: run.complete(COMPLETION, k=10, beam=256))
        taken, unproven = {}, 0
        for what, text in QUERIES.items():
            found = run.query(text)
            taken[what] = seconds(partial(run.query, text))
            unproven += not found.proven
            said = f"{len(found.known)} known and {len(found.new)} new answers{'' if found.proven else ', stopped'}"
            print(f"{what}: {taken[what]:.3f} s, {said}", file=sys.stderr)
        slowest = max(taken, key=lambda one: taken[one])
        median = float(np.median(list(taken.values())))
        detail = f"median {median:.2f} s, slowest {taken[slowest]:.2f} s: {slowest}"
        told = f"{detail}; a completion of four open positions by a beam takes {peer:.2f} s"
        yield Ratio("the median everyday query against a completion", peer / median, 0.5, "x", told)
        # A projection of eight columns to one may end unproven, and says so.
        yield Ratio("everyday queries that are proven", 1 - unproven / len(taken), 0.9, "share", f"{unproven} are not")


def shop(folder: Path) -> Run:
    """Return a run that was trained for a few epochs on the tables of the shop."""
    make_shop(folder / "shop.db")
    save(read(folder / "shop.db").split, folder / "data")
    spec = Spec.from_dict({"data": str(folder / "data"), "model": {"dim": 100}, "training": {"epochs": 10}})
    return fit(spec, folder / "run")


def make_shop(path: Path) -> None:
    """Write a database of 77 products, 91 customers, 830 orders and 2,000 tracks, with foreign keys."""
    rng = np.random.default_rng(0)

    def draw(most: int, size: int) -> list[int]:
        return (1 + most * rng.random(size) ** 2).astype(int).tolist()

    tables = {
        "categories": ("category integer primary key, name text", [[f"kind {n}" for n in range(8)]]),
        "shippers": ("shipper integer primary key, name text", [[f"line {n}" for n in range(3)]]),
        "employees": ("employee integer primary key, name text", [[f"clerk {n}" for n in range(9)]]),
        "genres": ("genre integer primary key, name text", [[f"genre {n}" for n in range(25)]]),
        "media": ("medium integer primary key, name text", [[f"medium {n}" for n in range(5)]]),
        "artists": ("artist integer primary key, name text", [[f"artist {n}" for n in range(275)]]),
        "composers": ("composer integer primary key, name text", [[f"composer {n}" for n in range(850)]]),
        "countries": ("country integer primary key, name text", [[f"country {n}" for n in range(21)]]),
        "amounts": ("amount integer primary key, said text", [[f"{n} pieces" for n in range(30)]]),
        "suppliers": (
            "supplier integer primary key, city text, country integer references countries",
            _places(rng, 29),
        ),
        "customers": (
            "customer integer primary key, city text, country integer references countries",
            _places(rng, 91),
        ),
        "products": (
            "product integer primary key, supplier integer references suppliers, category integer references categories, "
            "unit text, price text, stock integer references amounts, reorder integer references amounts, "
            "discontinued integer",
            [
                draw(29, 77),
                draw(8, 77),
                [f"{n} boxes" for n in draw(40, 77)],
                [f"{n}.50" for n in draw(40, 77)],
                draw(30, 77),
                draw(10, 77),
                draw(2, 77),
            ],
        ),
        "orders": (
            '"order" integer primary key, customer integer references customers, employee integer references employees, '
            "shipper integer references shippers, country integer references countries",
            [draw(91, 830), draw(9, 830), draw(3, 830), draw(21, 830)],
        ),
        "lines": (
            'line integer primary key, "order" integer references orders, product integer references products, '
            "quantity integer, discount text",
            [draw(830, 2155), draw(77, 2155), draw(30, 2155), [f"{n} %" for n in draw(6, 2155)]],
        ),
        "albums": ("album integer primary key, artist integer references artists", [draw(275, 347)]),
        "tracks": (
            "track integer primary key, album integer references albums, medium integer references media, "
            "genre integer references genres, composer integer references composers, price text",
            [
                draw(347, 2000),
                draw(5, 2000),
                draw(25, 2000),
                draw(850, 2000),
                [f"{n}.99" for n in draw(2, 2000)],
            ],
        ),
        "listed": (
            "entry integer primary key, playlist integer, track integer references tracks",
            [draw(18, 3000), draw(2000, 3000)],
        ),
    }
    with sqlite3.connect(path) as file:
        for name, (columns, values) in tables.items():
            file.execute(f"create table {name} ({columns})")
            rows = [(number, *row) for number, row in enumerate(zip(*values, strict=True), start=1)]
            marks = ", ".join("?" * (1 + len(values)))
            file.executemany(f"insert into {name} values ({marks})", rows)  # noqa: S608


def _places(rng: np.random.Generator, size: int) -> list[list[object]]:
    countries = 1 + (21 * rng.random(size) ** 2).astype(int)
    cities = 3 * countries + rng.integers(0, 3, size)
    return [[f"city {n}" for n in cities], countries.tolist()]
