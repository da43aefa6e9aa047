"""What kill -9 leaves is found, and removed by the next command there or by `relatum clean`; what is in use is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import Relatum

# An import that waits where it has begun to write, with a workspace open, so that it can be killed there.
_IMPORT = """
import sys, time
from relatum.datasets import load
from relatum.tables.engine import Workspace

def wait(graph, file):
    workspace = Workspace()
    file.write(b"half a line")
    print("writing", flush=True)
    time.sleep(600)

load.write_tuples = wait
from relatum.cli import main
sys.argv = ["relatum", *sys.argv[1:]]
main()
"""


def _begin_import(table: Path, out: Path, temporary: Path) -> subprocess.Popen[str]:
    """Return an import that is writing; its temporary folders are in one of its own."""
    command = [sys.executable, "-c", _IMPORT, "import", str(table), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)})
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def _kill(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "stock.csv"
    path.write_text("shelf,item\n" + "".join(f"s{n % 4},i{n % 30}\n" for n in range(60)))
    return path


def test_a_killed_import_is_listed_and_removed_while_a_living_one_goes_on(
    table: Path, tmp_path: Path, run: Relatum, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary, where = tmp_path / "temporary", tmp_path / "made"
    temporary.mkdir()
    where.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    killed, living = (_begin_import(table, where / name, temporary) for name in ("first", "second"))
    try:
        assert len(list(where.iterdir())) == len(list(temporary.iterdir())) == 2
        assert run("clean", str(where)) == (0, "nothing is left of killed commands\n", "")
        _kill(killed)
        code, out, _ = run("clean", str(where), "--json")
        found = [Path(one["path"]) for one in json.loads(out)["found"]]
        assert code == 0
        assert {path.parent for path in found} == {where, temporary}
        assert all(path.exists() for path in found)  # listed alone
        code, out, _ = run("clean", str(where), "--yes")
        assert code == 0
        assert "2 of 2 removed" in out
        assert not any(path.exists() for path in found)
        assert len(list(where.iterdir())) == len(list(temporary.iterdir())) == 1
    finally:
        _kill(killed, living)


def test_the_next_import_to_the_same_folder_removes_what_a_killed_one_has_left(
    table: Path, tmp_path: Path, run: Relatum, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    _kill(_begin_import(table, tmp_path / "made", temporary))
    assert len(list(tmp_path.glob(".made.*.tmp"))) == len(list(temporary.iterdir())) == 1
    code, _, err = run("import", str(table), "--out", str(tmp_path / "made"))
    assert code == 0
    assert err.count("removed; a process that was killed had left it") == 2
    assert not list(tmp_path.glob(".made.*"))
    assert not list(temporary.iterdir())


def test_the_scratch_of_workers_is_stale_once_nobody_trains(example_run: Path, tmp_path: Path, run: Relatum) -> None:
    import shutil

    from support.locks import locked_elsewhere

    shutil.copytree(example_run, tmp_path / "run")
    (tmp_path / "run" / ".scratch").mkdir()
    (tmp_path / "run" / ".scratch" / "questions").write_bytes(b"half")
    with locked_elsewhere(tmp_path / "run" / ".lock"):
        assert not json.loads(run("clean", str(tmp_path), "--json")[1])["found"]
    found = json.loads(run("clean", str(tmp_path / "run"), "--json", "--yes")[1])["found"]
    assert [Path(one["path"]).name for one in found] == [".scratch"]
    assert not (tmp_path / "run" / ".scratch").exists()
