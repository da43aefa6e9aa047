"""The commands that write, each with what it needs: what kills, pairs and faults strike."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from torture.areas import Area
from torture.commands import Commands

SMALL = ("--set", "model.dim=8", "--set", "training.epochs=6", "--set", "training.validate_every=2")
TRAIN = ("train", "--data", "example", *SMALL)
PREDICT = ("predict", "run", "--relation", "sold", "--top", "30", "--to")
SUGGEST = ("complete", "run", "--for-each", "sold(*, ?, book)", "--to")
APPLY = ("fill", "shop-run", "--from", "shop.db", "--apply", "--min-probability", "0.1")
STUDY = ("tune", "--data", "example", "--out", "study", "--epochs", "2", "--sampler", "grid", "--search", "model.window=1,2")

EXPERIMENT = """data = "example"
seeds = [0, 1]
[model]
dim = 8
[training]
epochs = 4
validate_every = 2
"""
NEW_FACTS = "sold\tdrew\tzoe\tbook\nsold\tzoe\tkim\tbook\nbought\tzoe\tdrew\tbook\n"


@dataclass(frozen=True)
class Case:
    """A command that writes.

    Attributes:
        name: what it is called in the table.
        arguments: what follows `relatum`, in a folder with the inputs.
        inputs: what it finds there, of what `prepare` has made.
        otherwise: what a person does if the same command is refused the second time, such as `train --resume`.
        reader: a command that reads what it writes.
        weight: how many of about 50 trials it has, by the number of its calls.
    """

    name: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    reader: tuple[str, ...] = ()
    weight: int = 1


EVALUATE = ("evaluate", "run")
CASES = (
    Case("train", (*TRAIN, "--out", "run"), (), ("train", "--resume", "run"), EVALUATE, weight=7),
    Case("train --resume", ("train", "--resume", "stopped"), ("stopped",), weight=4),
    Case("import", ("import", "shop.db", "--out", "facts"), ("shop.db",), reader=("data", "info", "facts"), weight=2),
    Case(
        "update",
        ("update", "run", "new.txt", "--out", "updated"),
        ("run", "new.txt"),
        reader=("evaluate", "updated"),
        weight=4,
    ),
    Case("define", ("define", "run", "turned", "permute[1, 0, 2](sold)"), ("run",), reader=EVALUATE),
    Case("report", ("report", "run"), ("run",), reader=EVALUATE),
    Case("predict --to new.csv", (*PREDICT, "new.csv"), ("run",)),
    Case("predict --to new.jsonl", (*PREDICT, "new.jsonl"), ("run",)),
    Case("predict --to new.parquet", (*PREDICT, "new.parquet"), ("run",)),
    Case("predict --to new.db", (*PREDICT, "new.db"), ("run",), weight=2),
    Case("predict --to new.duckdb", (*PREDICT, "new.duckdb"), ("run",), weight=2),
    Case("predict --to old.csv --replace", (*PREDICT, "old.csv", "--replace"), ("run", "old.csv")),
    Case("predict --to old.db --replace", (*PREDICT, "old.db", "--replace"), ("run", "old.db"), weight=2),
    Case("predict --to old.duckdb --replace", (*PREDICT, "old.duckdb", "--replace"), ("run", "old.duckdb"), weight=2),
    Case("predict --to old.db, a new table", (*PREDICT, "old.db", "--table", "more"), ("run", "old.db")),
    Case("complete --for-each --to new.csv", (*SUGGEST, "new.csv"), ("run",)),
    Case("complete --for-each --to old.db", (*SUGGEST, "old.db"), ("run", "old.db")),
    Case("run", ("run", "spec.toml", "--out", "runs", "--results", "results"), ("spec.toml",), weight=8),
    Case("tune", STUDY, weight=3),
    Case("fill --apply", APPLY, ("shop-run", "shop.db"), reader=("fill", "--log", "shop.db"), weight=2),
    Case("fill --undo", ("fill", "--undo", "filled.db"), ("filled.db",), reader=("fill", "--log", "filled.db"), weight=2),
    Case("data convert", ("data", "convert", "example", "converted"), reader=("data", "info", "converted")),
    Case(
        "synth",
        ("synth", "--preset", "small", "--set", "tuples=200", "--out", "synthetic"),
        reader=("data", "info", "synthetic"),
    ),
)


def prepare(commands: Commands, folder: Path) -> None:
    """Make what cases find, in the server itself: it then has the modules and kernels of all of them."""
    area = Area(commands, folder)
    _write_shop(folder / "shop.db")
    (folder / "new.txt").write_text(NEW_FACTS, encoding="utf-8")
    (folder / "spec.toml").write_text(EXPERIMENT, encoding="utf-8")
    area.run_here(*TRAIN, "--out", "run")
    area.run_here("import", "shop.db", "--out", "facts")
    area.run_here("train", "--data", "facts", *SMALL, "--out", "shop-run")
    for old in ("old.csv", "old.db"):
        area.run_here("predict", "run", "--relation", "sold", "--top", "3", "--to", old)
    # What has threads of its own, which no fork would have, is done by a child.
    ended = area.run("predict", "run", "--relation", "sold", "--top", "3", "--to", "old.duckdb")
    assert ended.code == 0, ended.err
    with closing(sqlite3.connect(folder / "old.db")) as database:
        database.executescript("CREATE TABLE theirs (a, b); INSERT INTO theirs VALUES (1, 'one'), (2, 'two')")
    shutil.copy(folder / "shop.db", folder / "unfilled.db")
    area.run_here(*APPLY)
    (folder / "shop.db").rename(folder / "filled.db")
    (folder / "unfilled.db").rename(folder / "shop.db")
    ended = area.run(*TRAIN, "--out", "stopped", strike=area.strike("WSNRC", 60, "kill"))
    assert ended.code == -9, ended
    for warm in (
        ("evaluate", "run"),
        ("report", "run", "--out", "page.html"),
        ("update", "run", "new.txt", "--out", "updated"),
        (*SUGGEST, "suggested.csv"),
        STUDY,
        ("complete", "run", "sold(drew, ?, book)"),
    ):
        area.run_here(*warm)


def _write_shop(path: Path) -> None:
    """Write two linked tables in which some cells are empty that others tell."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE makers (name TEXT PRIMARY KEY, country TEXT);"
            "CREATE TABLE goods (name TEXT PRIMARY KEY, maker TEXT REFERENCES makers (name), kind TEXT, shelf TEXT)"
        )
        makers = [(f"maker{number}", ("north", "south")[number % 2]) for number in range(6)]
        goods = [
            (f"good{number}", f"maker{number % 6}", kind if number % 7 else None, shelf if number % 5 else None)
            for number in range(48)
            for kind, shelf in [(("tea", "book", "toy")[number % 3], ("left", "right", "top")[number % 3])]
        ]
        database.executemany("INSERT INTO makers VALUES (?, ?)", makers)
        database.executemany("INSERT INTO goods VALUES (?, ?, ?, ?)", goods)
        database.commit()
