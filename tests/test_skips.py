"""Skipped tests fail a run that asks for none, unless they are allowed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.skips import ALLOWED

TESTS = Path(__file__).parent


def run(folder: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "support.skips", "-p", "no:cacheprovider", *options, str(folder)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    environment.pop("PYTEST_ADDOPTS", None)
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return ended.returncode, ended.stdout


@pytest.mark.parametrize("parallel", [(), ("-n", "1")])
def test_a_skip_fails_unless_it_is_allowed(tmp_path: Path, parallel: tuple[str, ...]) -> None:
    allowed = next(iter(ALLOWED))
    file = tmp_path / "test_some.py"
    file.write_text(f"import pytest\n\ndef test_one():\n    pytest.skip({allowed!r})\n\ndef test_two():\n    pass\n")
    code, out = run(tmp_path, "--no-skips", *parallel)
    assert code == 0
    assert f"1 skipped: {allowed} [{ALLOWED[allowed]}]" in out
    file.write_text("import pytest\n\ndef test_one():\n    pytest.skip('no browser')\n\ndef test_two():\n    pass\n")
    code, out = run(tmp_path, "--no-skips", *parallel)
    assert code == 1
    assert "1 skipped: no browser [NOT ALLOWED" in out
    assert run(tmp_path, *parallel)[0] == 0


def test_a_missing_library_is_a_skip_too(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("import pytest\n\npytest.importorskip('no_such_library')\n")
    (tmp_path / "test_other.py").write_text("def test_two():\n    pass\n")
    code, out = run(tmp_path, "--no-skips")
    assert code == 1
    assert "no_such_library" in out.split("skipped tests")[1]
