"""What a run came from: its data, the versions that made it, and the updates since."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

from relatum.data.hypergraph import Split
from relatum.errors import DataError
from relatum.kernels.parallel import threads
from relatum.runs.directory import PROVENANCE, write_text
from relatum.version import __version__

__all__ = ["provenance_of", "read_provenance", "save_provenance", "versions"]


def provenance_of(split: Split) -> dict[str, Any]:
    """Return the provenance of a run that begins."""
    return {
        "data": split.origin,
        "checksums": dict(split.checksums),
        "versions": versions(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    return {"relatum": __version__, "torch": torch.__version__, "numpy": np.__version__}


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return the provenance of a run; `updates`, if there are any, lists what was folded in after training."""
    path = folder / PROVENANCE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise DataError(f"{path}: not valid JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("updates", []), list):
        raise DataError(f"{path}: not a record of provenance")
    return found


def save_provenance(folder: Path, provenance: dict[str, Any]) -> None:
    """Write the provenance of a run."""
    write_text(folder / PROVENANCE, json.dumps(provenance, indent=2) + "\n")
