"""Notebooks run from top to bottom, and are kept without what they print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
RUN = """
import sys
import nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], as_version=4), timeout=600, kernel_name="python3").execute()
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# ")
    assert not [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if path.stem == "jf17k":
        request.getfixturevalue("benchmark_data")
    # In a process of its own: a kernel is one anyway, and the client's loops leave the warnings of tests alone.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    ended = subprocess.run(
        [sys.executable, "-c", RUN, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
