"""No kernel reads or writes beside its arrays, whatever their sizes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_every_kernel_keeps_within_its_arrays_at_the_edges_of_sizes(tmp_path: Path) -> None:
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    command = [sys.executable, str(Path(__file__).parents[1] / "support" / "bounds_checked.py")]
    walked = subprocess.run(command, env=checked, capture_output=True, text=True, check=False)
    assert walked.returncode == 0, walked.stderr
