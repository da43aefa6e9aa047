"""`relatum doubt`: what people see and what programs read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import Relatum


@pytest.fixture
def store(run: Relatum, tmp_path: Path) -> str:
    """Return the directory of a run on a store with one wrong genre."""
    lines = [f"track\tt{a}-{t}\ta{a}\tg{2 if (a, t) == (3, 1) else a % 5}" for a in range(20) for t in range(6)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "data" / "roles.txt").write_text("track\tid\talbum\tgenre\n")
    folder = str(tmp_path / "run")
    code, _, err = run("train", "--data", str(tmp_path / "data"), "--out", folder, "--set", "training.epochs=2")
    assert code == 0, err
    return folder


def test_doubt_lists_the_wrong_fact_and_why(run: Relatum, store: str) -> None:
    code, out, err = run("doubt", store, "-k", "1", "--why")
    assert code == 0, err
    assert "track(t3-1, a3, g2)" in out
    assert "for g3: 5 facts by track(A, B, C) <- track(_, B, C), right " in out
    assert "- track(t3-0, a3, g3)" in out
    assert "for g2" in out
    code, out, _ = run("doubt", store, "--relation", "track", "--json")
    assert code == 0
    first = json.loads(out)["doubtful"][0]
    assert (first["entities"], first["role"], first["stored"], first["expected"]) == (
        ["t3-1", "a3", "g2"],
        "genre",
        "g2",
        "g3",
    )
    assert first["reasons"][0]["facts"]


def test_where_nothing_is_doubtful_it_says_so(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.txt").write_text("likes\ta\tb\nlikes\tb\ta\n")
    options = ("--data", str(tmp_path / "data"), "--out", str(tmp_path / "run"), "--set", "training.epochs=1")
    assert run("train", *options)[0] == 0
    code, out, _ = run("doubt", str(tmp_path / "run"))
    assert (code, out) == (0, "no known fact is doubtful\n")


@pytest.fixture
def cars(run: Relatum, tmp_path: Path) -> str:
    """Return the directory of a run on 120 cars whose model determines their maker; car 90 has the wrong one."""
    rows = [f"{n},{'Opel' if n == 90 else ('Fiat', 'Opel', 'Seat')[n % 3]},m{n % 6},{n % 2}" for n in range(120)]
    (tmp_path / "cars.csv").write_text("\n".join(["id,maker,model,doors", *rows]) + "\n")
    assert run("import", str(tmp_path / "cars.csv"), "--out", str(tmp_path / "cars"))[0] == 0
    folder = str(tmp_path / "cars-run")
    code, _, err = run("train", "--data", str(tmp_path / "cars"), "--out", folder, "--set", "training.epochs=2")
    assert code == 0, err
    return folder


def test_of_tables_doubt_lists_cells(run: Relatum, cars: str) -> None:
    code, out, err = run("doubt", cars, "--column", "maker", "-k", "1")
    assert code == 0, err
    assert "cars.maker" in out
    assert "Opel" in out
    assert "Fiat" in out
    code, out, _ = run("doubt", cars, "--json", "-k", "3")
    assert code == 0
    cells = json.loads(out)["cells"]
    assert {"table": "cars", "row": {"id": 90}, "stored": "Opel", "expected": "Fiat"}.items() <= next(
        one for one in cells if one["column"] == "maker"
    ).items()
