"""The command line: mistakes are one line on standard error and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from relatum import __version__
from support.command_line import Relatum
from support.mistakes import code_of


@pytest.mark.parametrize("arguments", [("--help",), ("data", "--help"), ("data", "info", "--help")])
def test_asking_for_help_is_no_mistake(run: Relatum, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    assert out


def test_the_version_is_the_package_version(run: Relatum) -> None:
    assert run("--version")[1] == f"relatum {__version__}\n"


def test_a_directory_of_facts_is_not_a_run(run: Relatum, tmp_path: Path) -> None:
    folder = tmp_path / "my facts"
    folder.mkdir()
    (folder / "train.txt").write_text("likes\tkim\ttea\n")
    code, out, err = run("complete", str(folder), "likes(kim, ?)")
    assert (code, out, code_of(err), err.count("\n")) == (2, "", "not-a-run", 1)
    assert f"relatum.fit('{folder}')" in err


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed on Windows")
def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from relatum.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "relatum: the folder that it was started in is gone; go to another\n"


def test_ctrl_c_is_said_and_ends_with_130(run: Relatum, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("relatum.datasets.load.load", interrupted)
    assert run("data", "info", "example") == (130, "", "relatum: interrupted\n")
