"""What lies in the folder of a study: which study it is, its journal if it is kept there, and the best settings so far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relatum.errors import RelatumError
from relatum.files import atomic_file, parse_json, read_whole, stale_temporaries
from relatum.tuning.space import Plan
from relatum.tuning.storage import Shared
from relatum.tuning.study import Study

BEST, JOURNAL, _STUDY = "best.toml", "study.journal", "study.json"


def require_folder(folder: Path, plan: Plan) -> None:
    """Refuse a folder that holds another study, or anything else."""
    known = folder / _STUDY
    if known.exists():
        try:
            before = parse_json(read_whole(known))
        except ValueError:
            raise RelatumError("damaged-file", "not valid JSON", place=known, remedy="choose another folder") from None
        if not isinstance(before, dict):
            raise RelatumError("other-study", "not that of a study", place=known, remedy="choose another folder")
        if before != plan.to_json():
            raise RelatumError(
                "other-study",
                f"holds a study with {_difference(before, plan.to_json())}",
                place=folder,
                remedy="choose another folder",
            )
    elif folder.exists():
        others = {path.name for path in folder.iterdir()} - {path.name for path in stale_temporaries(folder)}
        if any(not name.startswith(JOURNAL) for name in others):
            raise RelatumError("other-study", "already holds other files", place=folder, remedy="choose another folder")


def bind(folder: Path, plan: Plan, shared: Shared) -> None:
    """Bind a folder to a study; create it if it does not exist."""
    with shared.exclusive():
        require_folder(folder, plan)  # once more: another process may have come first
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _STUDY).exists():
            _write(folder / _STUDY, json.dumps(plan.to_json(), indent=1) + "\n")


def save_best(folder: Path, study: Study) -> None:
    """Write the best settings so far as a spec; under the lock, so that no older best comes after a newer one."""
    with study.exclusive():
        best = study.best(1)
        if best:
            comment = f"# Validation MRR {best[0].value:.6f}: trial {best[0].number} of the study {study.plan.name}.\n"
            text = comment + study.spec_of(best[0].params).to_toml()
            path = folder / BEST
            if not path.exists() or read_whole(path) != text.encode():
                _write(path, text)


def _difference(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> str:
    """Return the first setting in which two plans differ, and both its values."""
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key), now.get(key)
        if old != new and isinstance(old, Mapping) and isinstance(new, Mapping):
            return _difference(old, new, f"{path}{key}.")
        if old != new:
            return f"{path}{key} = {old}, not {new}"
    return "other settings"


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as file:
        file.write(text.encode())
