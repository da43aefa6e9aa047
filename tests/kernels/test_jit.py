"""Compiled kernels are kept where only their user can write, made anew where they cannot be read, and give the same bits."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = "import numpy as np; from relatum.kernels.jit import exponentials as e; e(np.zeros(3, 'f4'), np.zeros(3, 'i4'))"
COMPILED = "compiling kernels, once per machine ...\n"


def noted(cache: Path, **environment: str) -> str:
    """Return what is said where a kernel is called."""
    own = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", KERNEL],
        env={**own, "RELATUM_CACHE": str(cache), **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stderr


def test_the_folder_is_the_users_own(tmp_path: Path) -> None:
    assert noted(tmp_path / "cache") == COMPILED
    assert stat.S_IMODE((tmp_path / "cache" / "numba").stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"", b"\x80\x05garbage", b"not a pickle"])
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_damaged_files_are_made_anew(kind: str, damage: bytes, tmp_path: Path) -> None:
    noted(tmp_path)
    damaged = list(tmp_path.rglob(kind))
    assert damaged
    for path in damaged:
        path.write_bytes(damage)
    assert noted(tmp_path) == f"compiled kernels were damaged, and are made anew\n{COMPILED}"
    assert noted(tmp_path) == ""


LIMITED = """
import resource, sys
import numpy as np
from relatum.kernels.jit import exact
from relatum.memory import address_room

@exact
def twice(values):
    return values * 2

resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))
used = (1 << 40) - address_room()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), 1 << 40))
try:
    print(twice(np.ones(2)).tolist())
except MemoryError as error:
    print("too little:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of addresses on Windows")
def test_with_too_little_memory_for_llvm_kernels_are_neither_compiled_nor_loaded(tmp_path: Path) -> None:
    script = tmp_path / "limited.py"
    script.write_text(LIMITED)
    for room, expected in ((30 << 20, "too little: "), (4 << 30, "[2.0, 2.0]"), (30 << 20, "too little: ")):
        ended = subprocess.run(
            [sys.executable, str(script), str(room)],
            env={**os.environ, "RELATUM_CACHE": str(tmp_path / "cache"), "RELATUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert ended.stdout.startswith(expected), ended.stderr
        assert ended.returncode == 0
        assert "damaged" not in ended.stderr


def test_a_folder_that_cannot_be_had_or_others_can_write_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = f"compiling kernels, at each start: {tmp_path}/file/numba: Not a directory\n"
    assert [noted(tmp_path / "file") for _ in range(2)] == [said, said]
    noted(tmp_path)
    (tmp_path / "numba").chmod(0o777)
    said = f"compiling kernels, at each start: others can write to {tmp_path}/numba; chmod go-w it\n"
    assert noted(tmp_path) == said


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_read(tmp_path: Path) -> None:
    noted(tmp_path)
    os.chown(tmp_path / "numba", 12345, 12345)
    assert noted(tmp_path) == f"compiling kernels, at each start: {tmp_path}/numba belongs to another user\n"


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
