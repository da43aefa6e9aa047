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
def typed(home: Path, request: pytest.FixtureRequest) -> Typed:
    """Return a function that types a command at home and returns what it printed.

    With --full `relatum` is a clone that the two commands of the README have just set up and tried; else it is what is
    installed here, with the kernels that other tests have compiled.
    """
    full = request.config.getoption("--full")
    ours = ("PIP_", "LANG", "LC_", "TERM", *(() if full else ("NUMBA_CACHE_DIR",)))
    kept = {name: value for name, value in os.environ.items() if name.startswith(ours)}
    commands = Path(sys.executable).parent

    def type_in(*command: str, folder: Path = home) -> str:
        environment = {**kept, "HOME": str(home), "PATH": f"{commands}:{os.environ['PATH']}"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    if full:
        type_in("git", "clone", "--quiet", str(ROOT), "project")
        assert "report.html" in type_in("make", "demo", folder=home / "project")
        assert " passed" in type_in("make", "test", folder=home / "project")
        assert not type_in("git", "status", "--porcelain", folder=home / "project")
        commands = home / "project" / ".venv" / "bin"
    return type_in
