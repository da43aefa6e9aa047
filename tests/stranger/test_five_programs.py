"""What people write first: five programs of at most six lines, and the first guesses of users of other libraries."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import relatum

PROGRAMS = {
    "first touch": """
        run = relatum.fit("example", model="reale", dim=20, epochs=3)
        print(run.evaluate())
        print(run.complete("sold(drew, ?, book)"))
    """,
    "train and ask": """
        run = relatum.fit("example", out="runs/shop", dim=20, epochs=3)
        run = relatum.open("runs/shop")
        print(run.complete("sold", "drew", None, "book").to_pandas())
        print(run.score("sold(drew, alex, tv)").probability, run.evaluate().by("arity"))
        print(run.predict(top=5), run.rules())
        run.report("page.html")
    """,
    "own data": """
        run = relatum.fit("shop.db", out="runs/own", dim=20, epochs=3)
        print(run.complete("sales(customer_id=3, item_id=?)"))
        print(run.query("project[item_id](select[customer_id = 3](sales))"))
        newer = run.update([("sales", "customers:3", "items:1")])
        run.export("new.csv", "sales", top=10)
    """,
    "own loop": """
        split = relatum.load("example")
        model = relatum.MODELS["HypE"](split.train)
        state = train(model, split.train, TrainingSettings(epochs=2), seed=0)
        print(rank(model, state.best, split.test, relatum.KnownAnswers(*split.parts.values())).metrics)
    """,
    "algebra": """
        run = relatum.fit("example", dim=20, epochs=3)
        coffee = run["sold"].select("item", "coffee").project("buyer")
        print(coffee.complete(k=3), (coffee - run["sold"].select("item", "book").project("buyer")).complete(k=3))
        print(run.query("project[seller](select[item = coffee](sold))"))
        run.define("got", "permute[buyer, seller, item](sold)")
        print(run.complete("got(alex, ?, book)"), run.explain("got(alex, ?, book)"))
    """,
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in, with a small shop in it."""
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("shop.db")) as shop, shop:
        shop.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, city TEXT);"
            "CREATE TABLE items (id INTEGER PRIMARY KEY, colour TEXT);"
            "CREATE TABLE sales (customer_id INTEGER REFERENCES customers (id), item_id INTEGER REFERENCES items (id));"
        )
        shop.executemany("INSERT INTO customers VALUES (?, ?)", [(n, f"town {n % 3}") for n in range(1, 13)])
        shop.executemany("INSERT INTO items VALUES (?, ?)", [(n, ("red", "blue")[n % 2]) for n in range(1, 9)])
        shop.executemany("INSERT INTO sales VALUES (?, ?)", [(n, 1 + (n * m) % 8) for n in range(1, 13) for m in (1, 3)])
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_at_most_six_lines_does_it(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for line in PROGRAMS[name].strip().splitlines()]
    assert len(lines) <= 6
    known: dict[str, Any] = {"relatum": relatum}
    if name == "own loop":
        from relatum.inference.ranking import rank
        from relatum.training.loop import train
        from relatum.training.settings import TrainingSettings

        known |= {"rank": rank, "train": train, "TrainingSettings": TrainingSettings}
    exec("\n".join(lines), known)  # noqa: S102
    assert " object at 0x" not in capsys.readouterr().out
