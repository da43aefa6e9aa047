"""Runs made into what earlier versions wrote."""

from __future__ import annotations

import json
from pathlib import Path


def make_older(folder: Path, without: str) -> None:
    """Take a file out of a run directory, as if the run had been made before there was such a file."""
    environment = folder / "environment.json"
    content = json.loads(environment.read_text())
    content["files"] = [name for name in content["files"] if name != without]
    environment.write_text(json.dumps(content))
    (folder / without).unlink()
