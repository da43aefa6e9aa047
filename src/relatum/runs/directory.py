"""What lies where in a run directory."""

from __future__ import annotations

from pathlib import Path

from relatum.data.cache import load_columns, save_columns
from relatum.data.hypergraph import Split
from relatum.errors import RelatumError

__all__ = ["CARD", "CHECKPOINT", "JOURNAL", "LOCK", "PROVENANCE", "SPEC", "load_facts", "save_facts"]

SPEC, JOURNAL, CHECKPOINT, LOCK = "spec.toml", "journal.jsonl", "checkpoint", ".lock"
PROVENANCE, CARD = "provenance.json", "README.md"

_FACTS, _KEY = "facts.columns", {"run": "facts"}


def save_facts(folder: Path, split: Split) -> None:
    """Keep the facts with the run, so that it works when the data has moved."""
    save_columns(folder / _FACTS, _KEY, split)


def load_facts(folder: Path) -> Split:
    """Return the facts of a run."""
    split = load_columns(folder / _FACTS, _KEY)
    if split is None:
        raise RelatumError(f"{folder}: its facts ({_FACTS}) are missing or damaged")
    return split
