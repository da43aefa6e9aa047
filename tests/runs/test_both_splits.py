"""A run on a split by time stands beside one on a random split of the same facts."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import relatum
from relatum.cli import app
from relatum.errors import SettingError
from relatum.runs.both_splits import BothSplits, OneMeasure
from relatum.tables import Imported, read
from support.small_tables import csv_of


def sales(folder: Path, **options: object) -> Imported:
    """Return sales in which what a buyer takes changes over the years; the last years are as no year before."""
    rng = random.Random(1)
    rows = []
    for n in range(1500):
        year, buyer = 2000 + n // 100, rng.randrange(40)
        block = (buyer % 4 + (year - 2000) // 6) % 4
        rows.append((n, year, f"b{buyer}", f"i{6 * block + rng.randrange(6)}", f"s{buyer % 4}"))
    path = csv_of(folder / "sales.csv", ("id", "year", "buyer", "item", "shop"), rows)
    return read(path, **{"columns": {"sales": ["buyer", "item"]}, **options})


def test_a_run_is_measured_by_both_and_the_change_is_seen(tmp_path: Path) -> None:
    sales(tmp_path, time="year").save(tmp_path / "data")
    relatum.fit(tmp_path / "data", tmp_path / "run", dim=40, epochs=30, progress=False)
    shown = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run"), "--both-splits", "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    whole = found["measures"][0]
    assert whole["what"] == "all facts"
    assert whole["at_random"] > whole["by_time"] + 0.05
    assert found["verdict"].endswith("the data change with time; for what is to come, expect the first")
    assert whole["by_time"] == pytest.approx(relatum.open(tmp_path / "run").evaluate().mrr)
    wrong = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run"), "--both-splits", "--raw"])
    assert isinstance(wrong.exception, SettingError)


@pytest.mark.parametrize(
    ("by_time", "at_random", "end"),
    [(0.21, 0.48, "expect the first"), (0.4, 0.41, "the data hardly change with time"), (0.5, 0.4, "easier than the rest")],
)
def test_the_verdict_says_what_both_say(by_time: float, at_random: float, end: str) -> None:
    found = BothSplits([OneMeasure("MRR", "all facts", 100, by_time, at_random)])
    assert found.verdict.startswith(f"by time {by_time:.3f}, at random {at_random:.3f}: ")
    assert found.verdict.endswith(end)
    assert found[0].to_dict()["difference"] == pytest.approx(at_random - by_time)
