"""What a stranger has: relatum as a command, an empty home, and a database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

Typed = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return an empty home, in which the stranger works."""
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def typed(home: Path) -> Typed:
    """Return a function that types a command at home and returns what it printed, with the kernels that others compiled."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("LANG", "LC_", "TERM", "NUMBA_CACHE_DIR"))}
    environment = {**kept, "HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def type_in(*command: str) -> str:
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return type_in
