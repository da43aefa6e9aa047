"""`relatum fill --apply`: what goes into a database, and what does not."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from support.command_line import Relatum


def test_a_group_of_numbers_is_shown_and_not_applied(run: Relatum, tmp_path: Path) -> None:
    path, rows = str(tmp_path / "cars.db"), [(n, f"m{n % 4}", f"{n % 4}x", 1000 * (n % 4) + n) for n in range(200)]
    with sqlite3.connect(path) as cars:
        cars.execute("CREATE TABLE cars (id INTEGER PRIMARY KEY, model TEXT, engine TEXT, price INTEGER)")
        cars.executemany("INSERT INTO cars VALUES (?, ?, ?, ?)", [*rows, (200, "m0", "0x", None), (201, "m1", None, 1201)])
    cars.close()
    out = str(tmp_path / "run")
    assert run("import", path, "--out", str(tmp_path / "cars"), "--bins", "4")[0] == 0
    code, _, err = run("train", "--data", str(tmp_path / "cars"), "--out", out, "--set", "training.epochs=2")
    assert code == 0, err
    code, shown, err = run("fill", out, "--column", "price")
    assert code == 0, err
    assert " to " in shown
    code, counted, err = run("fill", out, "--from", path, "--apply", "--min-probability", "0.5", "--json")
    assert code == 0, err
    assert {"applied": 1, "groups": 1, "without_key": 0}.items() <= json.loads(counted).items()
    with sqlite3.connect(path) as cars:
        assert cars.execute("SELECT price FROM cars WHERE id = 200").fetchall() == [(None,)]
        assert cars.execute("SELECT engine FROM cars WHERE id = 201").fetchall() == [("1x",)]
    cars.close()
