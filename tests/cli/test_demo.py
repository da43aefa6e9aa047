"""The demo runs to its end, step by step, and leaves a page to open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Runner = Callable[..., tuple[int, str, str]]


def test_the_demo_shows_every_step_and_writes_its_page(run: Runner, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--full"):
        pytest.skip("half a minute of training; make demo runs it anyway")
    code, out, _ = run("demo", "--out", str(tmp_path / "demo"))
    assert code == 0
    for step in ("$ relatum train", "$ relatum complete", "$ relatum query", "$ relatum evaluate", "$ relatum rules"):
        assert step in out
    assert "by operation" in out
    assert "d33 = union(d12, d22)" in out  # a rule that made the data
    page = tmp_path / "demo" / "run" / "report.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert str(page) in out


def test_the_demo_does_not_write_into_what_is_there(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = run("demo", "--out", str(tmp_path))
    assert code == 2
    assert str(tmp_path) in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
