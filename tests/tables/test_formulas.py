"""Text that a spreadsheet would take for a formula is told of, or disarmed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from relatum.errors import RelatumWarning, SettingError
from relatum.tables.table import Column, Table
from relatum.tables.targets import write

FORMULAS = ["=1+1", "+cmd|'/C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "-", "+49 30 1234"]
PLAIN = ["a", "", None, "-2", "+4.5", "-1e-9", "-.5", " =1", "'=1", "1-2", "a@b"]
TABLE = Table(
    "facts", (Column("=who", "text", [*FORMULAS, *PLAIN]), Column("n", "number", [-1.5] * len([*FORMULAS, *PLAIN]))), "facts"
)


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_formulas_are_disarmed_where_that_is_wanted_and_nothing_else_is_touched(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out{ending}"
    write(TABLE, path, escape_formulas=True)
    head, *rows = read(path)
    assert head == ["'=who", "n"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *(text or "" for text in PLAIN)]
    assert {row[1] for row in rows} == {"-1.5"}


def test_formulas_are_written_as_they_are_and_told_of(tmp_path: Path) -> None:
    with pytest.warns(RelatumWarning, match=f"take for formulas: {len(FORMULAS)}; set escape_formulas"):
        write(TABLE, tmp_path / "out.csv")
    assert [row[0] for row in read(tmp_path / "out.csv")[1:]] == [text or "" for text in [*FORMULAS, *PLAIN]]


def test_the_warning_is_for_formulas_only(tmp_path: Path) -> None:
    write(Table("facts", (Column("who", "text", PLAIN),), "facts"), tmp_path / "out.csv")


@pytest.mark.parametrize("to", ["out.jsonl", "out.db", "postgresql://localhost/x"])
def test_other_targets_have_no_formulas(to: str) -> None:
    with pytest.raises(SettingError, match=r"escape_formulas: is for \.csv and \.tsv files"):
        write(TABLE, to, escape_formulas=True)
