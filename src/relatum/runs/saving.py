"""A run written into a directory: all that it needs, so that it works by itself when the data has moved."""

from __future__ import annotations

import json
from pathlib import Path

from relatum.files import atomic_directory
from relatum.models.store import save_model
from relatum.runs.definitions import save_definitions
from relatum.runs.directory import CARD, JOURNAL, SPEC, card, save_environment, save_facts, write_text
from relatum.runs.trained import Trained
from relatum.runs.validated import save_validated

__all__ = ["save_run"]


def save_run(run: Trained, folder: Path) -> None:
    """Write a run into a new or empty directory, whole or not at all.

    There is no checkpoint in it: what was trained in memory, or updated, is not trained further.
    """
    with atomic_directory(folder) as kept:
        save_facts(kept, run.split)
        save_model(kept, run.model, run.parameters)
        save_environment(kept, run.environment)
        write_text(kept / SPEC, run.spec.to_toml())
        write_text(kept / CARD, card(run.spec, run.split, run.events))
        if run.definitions:
            save_definitions(kept, run.definitions)
        save_validated(kept, run.validated)
        if run.events:
            write_text(kept / JOURNAL, "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in run.events))
