"""Every file of a run that is read is declared, with the range of every number, and no link in a run is followed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torture.artefacts import KINDS

import relatum
from relatum.api import Run, resume
from relatum.artefacts import read
from relatum.errors import RelatumError
from relatum.report.page import write_report
from support.mistakes import mistake

# Lines of names, which the checksums in `config.json` are of, and what is written and never read.
_NAMES = {"entities.txt", "relations.txt"}
_opened: list[str] = []
_listening: list[bool] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str):
        _opened.append(arguments[0])


def _read_in(folder: Path) -> set[str]:
    """Return the names of the files of a run that are read by whatever asks it."""
    if not _listening:
        sys.addaudithook(_note)  # which cannot be taken away
        _listening.append(True)
    _opened.clear()
    run = relatum.open(folder)
    run.evaluate()
    run.define("turned", f"project[0]({run.schema.names[0]})")
    _ = run.validated, run.events, run.environment, run.spec, run.history
    run.sql("CREATE VIEW first AS SELECT * FROM turned")
    relatum.open(folder).sql("SELECT * FROM first LIMIT 1")
    relatum.open(folder).doubt(k=1)
    relatum.resume(folder, progress=False)
    return {Path(name).name for name in _opened if Path(name).is_relative_to(folder) and Path(name).is_file()}


@pytest.mark.parametrize("which", ["example_run", "gappy_run"])
def test_every_file_that_is_read_is_declared(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = shutil.copytree(request.getfixturevalue(which), tmp_path / "run")
    found = _read_in(folder) - _NAMES - {".lock", "README.md"}
    undeclared = {name for name in found if name not in KINDS and not name.startswith("checkpoint-best-")}
    assert not undeclared
    assert {"spec.toml", "config.json", "definitions.json", "calibration.json", "model.safetensors"} <= found
    written = {path.name for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".toml")}
    assert written <= KINDS.keys()


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind is not Any])
def test_no_number_of_a_file_is_without_a_range(name: str) -> None:
    with pytest.raises(RelatumError):  # no TypeError, by which what is not declared shows
        read(KINDS[name], "nothing")


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
