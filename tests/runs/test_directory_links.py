"""A run from a stranger leads nowhere else: its links are refused, and links to it are as good as any path."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum.api import Run, resume
from relatum.report.page import write_report
from support.mistakes import mistake

WAYS: dict[str, Callable[[Path], object]] = {
    "report.html": lambda folder: write_report(Run.load(folder), folder / "report.html"),
    "README.md": resume,
    "journal.jsonl": resume,
    ".lock": resume,
    "model.safetensors": Run.load,
    "definitions.json": lambda folder: Run.load(folder).define("turned", "permute[1, 0, 2](sold)"),
    "facts.safetensors": lambda folder: Run.load(folder).split,
    "evidence.json": lambda folder: Run.load(folder).validated,
}


@pytest.mark.parametrize("target", ["../outside", "../new", "spec.toml"])
@pytest.mark.parametrize("name", WAYS)
def test_a_link_in_a_run_is_refused(name: str, target: str, example_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(example_run, folder)
    (tmp_path / "outside").write_text("theirs")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    with mistake("link-in-run", place=folder / name):
        WAYS[name](folder)
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {"outside": "theirs"}


def test_links_to_a_run_and_out_of_it_by_name_are_followed(example_run: Path, tmp_path: Path) -> None:
    shutil.copytree(example_run, tmp_path / "elsewhere" / "run")
    for link, target in {"run": "elsewhere/run", "all": "elsewhere", "page.html": "elsewhere/page.html"}.items():
        (tmp_path / link).symlink_to(target)
    for folder in (tmp_path / "run", tmp_path / "all" / "run"):
        write_report(Run.load(folder), folder / "report.html")
        assert resume(folder).folder == folder
    write_report(Run.load(tmp_path / "run"), tmp_path / "page.html")
    for name in ("run/report.html", "page.html"):
        assert (tmp_path / "elsewhere" / name).read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "page.html").is_symlink()
