"""What killed processes have left is found and removed; what living ones write, and what is no one's, stays."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from relatum import files
from relatum.errors import RelatumWarning
from relatum.files import (
    atomic_directory,
    atomic_file,
    left_behind,
    left_folders,
    remove_left,
    require_own,
    stale_temporaries,
    temporary_prefix,
)
from relatum.processes import mark
from support.mistakes import mistake

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process can be asked for on Windows")

DAY = 86400.0
ELSEWHERE = "0" * 12 if not mark().startswith("0" * 6) else "1" * 12  # a mark of another machine


@pytest.fixture(scope="module")
def dead() -> str:
    """Return the mark of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return f"{mark()[:6]}{ended.pid & 0xFFFFFF:06x}"


@pytest.fixture(scope="module")
def living() -> str:
    """Return the mark of another process that is alive: the one that started this one."""
    return f"{mark()[:6]}{os.getppid() & 0xFFFFFF:06x}"


def temporary(name: str, marked: str) -> str:
    return f".{name}.0123456789ab-{marked}.tmp"


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_what_dead_writers_left_is_found_and_nothing_else(tmp_path: Path, dead: str, living: str) -> None:
    stale = [temporary("weights", dead), temporary("facts", dead), temporary("weights", dead) + "-wal"]
    for name in (*stale, "weights", temporary("weights", mark()), temporary("weights", living)):
        (tmp_path / name).touch()
    age(tmp_path / temporary("weights", living), 10 * DAY)  # however old it is
    (tmp_path / temporary("run", dead)).mkdir()
    assert left_behind(tmp_path) == sorted(tmp_path / name for name in (*stale, temporary("run", dead)))
    assert left_behind(tmp_path, "weights") == sorted(tmp_path / name for name in stale if "weights" in name)
    assert left_behind(tmp_path / "nowhere") == []


def test_what_nobody_knows_the_writer_of_is_stale_after_a_day(tmp_path: Path) -> None:
    file, folder = tmp_path / temporary("weights", ELSEWHERE), tmp_path / temporary("run", ELSEWHERE)
    file.touch()
    folder.mkdir()
    (folder / "deep").mkdir()
    (folder / "deep" / "a").touch()
    assert left_behind(tmp_path) == []
    for path in (file, folder / "deep" / "a", folder / "deep", folder):
        age(path, DAY - 100)
    assert left_behind(tmp_path) == []
    for path in (file, folder / "deep" / "a", folder / "deep", folder):
        age(path, DAY + 0.5)
    assert left_behind(tmp_path) == [folder, file]
    age(folder / "deep" / "a", 0)  # somebody still writes into it
    assert left_behind(tmp_path) == [file]


def test_what_vanishes_while_it_is_looked_at_is_not_stale(tmp_path: Path) -> None:
    assert files._is_stale(tmp_path / "no", ELSEWHERE) is False


def test_who_holds_a_folder_leaves_the_files_of_other_living_processes(tmp_path: Path, dead: str, living: str) -> None:
    for marked in (dead, living, mark(), ELSEWHERE):
        (tmp_path / temporary("weights", marked)).touch()
    stale = {temporary("weights", marked) for marked in (dead, mark(), ELSEWHERE)}
    assert set(names(stale_temporaries(tmp_path))) == stale


def test_temporary_folders_of_ended_processes_are_found(tmp_path: Path, dead: str, living: str) -> None:
    stale = [f"relatum-{dead}-abcd_123", f"relatum-{dead}-abcdefgh"]
    for name in (*stale, f"relatum-{living}-abcdefgh", f"relatum-{mark()}-abcdefgh", f"other-{dead}-abcdefgh"):
        (tmp_path / name).mkdir()
    (tmp_path / f"relatum-{dead}-aaaaaaaa").touch()  # no folder
    (tmp_path / f"relatum-{dead}-bbbbbbbb").symlink_to(tmp_path)  # nor this
    assert left_folders(tmp_path) == [tmp_path / name for name in stale]
    assert left_folders(tmp_path / "nowhere") == []


def test_folders_of_other_users_are_left_to_them(tmp_path: Path, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"relatum-{dead}-abcdefgh").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert left_folders(tmp_path) == []


def test_what_is_left_is_removed_with_a_warning_for_each(tmp_path: Path) -> None:
    for name in ("folder", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").touch()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("kept")
    with pytest.warns(RelatumWarning, match="removed; a process that was killed had left it") as caught:
        remove_left(left := [tmp_path / name for name in ("folder", "file", "link")])
    assert [str(one.message).partition(":")[0] for one in caught] == list(map(str, left))
    assert [one.filename for one in caught] == [__file__] * 3
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["kept", "kept/a"]


def test_what_cannot_be_removed_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()

    for name in ("rmdir", "unlink"):
        monkeypatch.setattr(os, name, Mock(side_effect=PermissionError))
    remove_left([tmp_path / "folder", tmp_path / "file"])  # without a warning, for both are still there
    assert names(sorted(tmp_path.iterdir())) == ["file", "folder"]


@pytest.mark.parametrize("default", [False, True])
def test_a_temporary_folder_is_named_for_this_process_and_those_of_dead_ones_go_once(
    default: bool, tmp_path: Path, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path if default else tmp_path.parent))
    swept = () if default else (tmp_path,)
    (tmp_path / f"relatum-{dead}-abcdefgh").mkdir()
    with pytest.warns(RelatumWarning, match="had left it"):
        assert temporary_prefix(*swept) == f"relatum-{mark()}-"
    assert not list(tmp_path.iterdir())
    (tmp_path / f"relatum-{dead}-abcdefgh").mkdir()
    assert temporary_prefix(*swept) == f"relatum-{mark()}-"  # it has looked there before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_who_writes_anew_removes_what_a_dead_writer_left_of_the_same(tmp_path: Path, dead: str, kind: str) -> None:
    def write() -> None:
        if kind == "file":
            with atomic_file(tmp_path / "weights") as file:
                file.write(b"whole")
        else:
            with atomic_directory(tmp_path / "weights"):
                pass

    for name in ("weights", "other"):
        (tmp_path / temporary(name, dead)).touch()
    with pytest.warns(RelatumWarning, match="had left it"):
        write()
    assert names(sorted(tmp_path.iterdir())) == sorted(["weights", temporary("other", dead)])
    (tmp_path / temporary("weights", dead)).touch()
    write()  # it has looked for that before: once a process
    assert (tmp_path / temporary("weights", dead)).exists()


def test_a_file_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    require_own(path, "<!-- ä -->")  # nothing is there
    path.write_text("<!-- ä --> ours", encoding="utf-8")
    require_own(path, "<!-- ä -->")
    for foreign in ("<!-- b --> theirs", "", "<!-- ä"):
        path.write_text(foreign, encoding="utf-8")
        with mistake("not-ours"):
            require_own(path, "<!-- ä -->")
