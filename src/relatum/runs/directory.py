"""What lies where in a run directory."""

from __future__ import annotations

import json
from pathlib import Path

from relatum.data.hypergraph import Split
from relatum.datasets.cache import load_columns, save_columns
from relatum.errors import DataError, RelatumError
from relatum.files import atomic_file, leftovers
from relatum.inference.calibration import Calibration

__all__ = [
    "CALIBRATION",
    "CARD",
    "CHECKPOINT",
    "JOURNAL",
    "LOCK",
    "PROVENANCE",
    "SPEC",
    "is_free",
    "load_calibration",
    "load_facts",
    "save_facts",
    "write_text",
]

SPEC, JOURNAL, CHECKPOINT, LOCK = "spec.toml", "journal.jsonl", "checkpoint", ".lock"
PROVENANCE, CARD, CALIBRATION = "provenance.json", "README.md", "calibration.json"

_FACTS, _KEY = "facts.columns", {"run": "facts"}


def is_free(folder: Path) -> bool:
    """Return whether a run can begin in a folder: nothing is there, or only what a start has left that was killed.

    The spec comes last, so without it there is no run, and what is there can be made again.
    """
    if not folder.exists():
        return True
    found = {path.name for path in folder.iterdir()} - {path.name for path in leftovers(folder)} - {LOCK}
    return found in (set(), {_FACTS}, {_FACTS, PROVENANCE})


def save_facts(folder: Path, split: Split) -> None:
    """Keep the facts with the run, so that it works when the data has moved."""
    save_columns(folder / _FACTS, _KEY, split)


def load_facts(folder: Path) -> Split:
    """Return the facts of a run."""
    split = load_columns(folder / _FACTS, _KEY)
    if split is None:
        raise RelatumError(f"{folder}: its facts ({_FACTS}) are missing or damaged")
    return split


def load_calibration(folder: Path, relations: int) -> Calibration | None:
    """Return the calibration of a run with so many relations, or None where there were no facts to fit it on."""
    path = folder / CALIBRATION
    if not path.exists():
        return None
    try:
        return Calibration.from_json(json.loads(path.read_text(encoding="utf-8")), relations)
    except ValueError:
        raise DataError(f"{path}: not valid JSON") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text, atomically."""
    with atomic_file(path) as file:
        file.write(text.encode())
