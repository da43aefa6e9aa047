"""Kernels that were compiled just now and kernels that come from the cache give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TRAINING = """
import hashlib, sys
from relatum import Spec, fit
for sampling in ("shared", "per-fact"):
    training = {"epochs": 6, "negative_sampling": sampling}
    spec = Spec.from_dict({"data": "example", "model": {"dim": 20}, "training": training})
    model = fit(spec, f"{sys.argv[1]}-{sampling}").folder / "model.safetensors"
    print(hashlib.sha256(model.read_bytes()).hexdigest())
"""


def test_a_first_run_on_a_machine_gives_the_bits_of_all_later_ones(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "RELATUM_CACHE": str(tmp_path / "cache")}

    def trained(name: str) -> str:
        command = [sys.executable, "-c", TRAINING, str(tmp_path / name)]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    anew = trained("anew")
    assert len(anew.split()) == 2
    assert trained("cached") == anew


def test_only_the_first_run_on_a_machine_says_that_it_compiles(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    kernel = "import numpy as np; from relatum.kernels.jit import exponentials as e; e(np.zeros(3, 'f4'), np.zeros(3, 'i4'))"

    def noted() -> str:
        command = [sys.executable, "-c", kernel]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr

    assert (noted(), noted()) == ("compiling kernels, once per machine ...\n", "")
