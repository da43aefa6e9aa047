"""Every file of a run that is read is declared, and so is every number in it, with its range."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from torture.artefacts import KINDS

import relatum
from relatum.artefacts import read
from relatum.errors import RelatumError

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
