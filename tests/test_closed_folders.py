"""Whatever is done in a closed folder, no link of it leads outside; elsewhere links lead where they always do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum.closed_folders import (
    close_folder,
    make_folder,
    names_in,
    open_file,
    refuse_links_in,
    remove_file,
    remove_folder,
    replace_file,
    status,
)
from relatum.errors import RelatumError
from relatum.file_locks import locked
from relatum.files import atomic_directory, atomic_file, drop_torn_line, is_there, read_whole, sha256_of, write_bytes
from support.mistakes import mistake

SWAPPER = """
import os, sys
run, outside = sys.argv[1:]
while True:
    for name, target in (("file", outside + "/file"), ("folder", outside)):
        os.symlink(target, f"{run}/.{name}")
        os.rename(f"{run}/.{name}", f"{run}/{name}") if name == "file" else os.rename(f"{run}/folder", f"{run}/kept")
        if name == "folder":
            os.rename(f"{run}/.folder", f"{run}/folder")
            os.unlink(f"{run}/folder")
            os.rename(f"{run}/kept", f"{run}/folder")
        else:
            os.unlink(f"{run}/file")
            open(f"{run}/file", "wb").close()
"""


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return all that can be told of the files in a folder."""
    paths = [folder, *folder.rglob("*")]
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in paths
    }


def replace(path: Path) -> None:
    temporary = path.with_name("new")
    with open_file(temporary, "wb"):
        pass
    replace_file(temporary, path)


def lock(path: Path) -> None:
    with locked(path, 0):
        pass


def place_folder(path: Path) -> None:
    with atomic_directory(path) as temporary:
        (temporary / "file").write_bytes(b"mine")


def write_atomically(path: Path) -> None:
    with atomic_file(path) as file:
        file.write(b"mine")


WAYS: dict[str, Callable[[Path], object]] = {
    **{mode: lambda path, mode=mode: open_file(path, mode).close() for mode in ("rb", "rb+", "wb", "ab", "xb")},  # type: ignore[misc]
    **{
        each.__name__: each
        for each in (status, make_folder, is_there, read_whole, sha256_of, drop_torn_line, replace, lock, write_atomically)
    },
    "write": lambda path: write_bytes(path, b"mine"),
    "atomic_directory": place_folder,
    "names_in": names_in,
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside" / "folder").mkdir(parents=True)
    for name in ("file", "folder/file"):
        (tmp_path / "outside" / name).write_bytes(b"theirs, without an end")
        (tmp_path / "outside" / name).chmod(0o600)
    return tmp_path / "outside"


@pytest.fixture
def run(tmp_path: Path, outside: Path) -> Path:
    """Return a closed folder with every kind of link."""
    run = tmp_path / "run"
    (run / "inner").mkdir(parents=True)
    (run / "own").write_bytes(b"own")
    links = {"absolute": outside / "file", "relative": "../outside/file", "dangling": "../outside/new", "self": "self"}
    links |= {"first": "absolute", "within": "own", "inner/deep": "../../outside/file"}
    for name, target in links.items():
        (run / name).symlink_to(target)
    for name, target in {"folder": "../outside", "chain": "folder", "around": "../run"}.items():
        (run / name).symlink_to(target, target_is_directory=True)
    close_folder(run)
    return run


THROUGH = ["absolute", "relative", "dangling", "self", "first", "within", "inner/deep", "folder", "chain"]
THROUGH += ["folder/file", "folder/new", "chain/folder/file", "around/own"]


@pytest.mark.parametrize("name", THROUGH)
@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_through_a_link_in_a_closed_folder(way: str, name: str, run: Path, outside: Path) -> None:
    before = tree(outside)
    with mistake("link-in-run", **({} if way == "replace" else {"place": run / name})):
        WAYS[way](run / name)
    assert tree(outside) == before
    assert (run / "own").read_bytes() == b"own"


@pytest.mark.parametrize("name", THROUGH)
def test_a_link_that_is_removed_is_not_followed(name: str, run: Path, outside: Path) -> None:
    before, inner = tree(outside), "/" in name and name != "inner/deep"
    for remove in (remove_folder, remove_file):
        if inner:
            with mistake("link-in-run"):
                remove(run / name)
        else:
            remove(run / name)
    assert os.path.lexists(run / name) == (name in ("folder/file", "chain/folder/file", "around/own"))
    assert tree(outside) == before


def test_what_is_no_link_is_used_as_ever(run: Path) -> None:
    make_folder(run / "inner" / "a" / "b")
    make_folder(run / "inner" / "a" / "b")
    with open_file(run / "inner" / "a" / "file", "xb") as file:
        file.write(b"1\n2")
    drop_torn_line(run / "inner" / "a" / "file")
    assert read_whole(run / "inner" / "a" / "file") == b"1\n"
    assert sorted(names_in(run / "inner" / "a")) == ["b", "file"]
    place_folder(run / "inner" / "new")
    assert [status(run / "inner" / name) is None for name in ("new/file", "old", "new/file/x")] == [False, True, True]
    remove_folder(run / "inner" / "a")
    remove_file(run / "inner" / "new" / "file")
    remove_file(run / "inner" / "new" / "file")
    assert sorted(names_in(run / "inner")) == ["deep", "new"]
    for wrong in ("own", "own/x"):
        with pytest.raises(FileExistsError) as raised:
            make_folder(run / wrong)
        assert raised.value.filename == str(run / "own")


def test_links_to_closed_folders_and_beside_them_lead_on(run: Path, outside: Path, tmp_path: Path) -> None:
    for name, target in {"linked": "run", "file": "outside/file"}.items():
        (tmp_path / name).symlink_to(target)
    close_folder(tmp_path / "linked")
    assert read_whole(tmp_path / "linked" / "own") == b"own"
    with mistake("link-in-run"):
        read_whole(tmp_path / "linked" / "absolute")
    for path in (tmp_path / "file", run / ".." / "file"):
        write_bytes(path, b"mine")
        assert (outside / "file").read_bytes() == b"mine"
        assert path.is_symlink()


def test_a_folder_that_must_lie_within_another_is_no_link(tmp_path: Path, run: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one").symlink_to("../run", target_is_directory=True)
    close_folder(tmp_path / "runs" / "one")
    assert is_there(tmp_path / "runs" / "one" / "own")
    close_folder(tmp_path / "runs" / "one", within=tmp_path / "runs")
    close_folder(tmp_path / "runs" / "one")  # opens nothing again
    for name in ("one", "one/own"):
        with mistake("link-in-run"):
            status(tmp_path / "runs" / name)


def test_links_are_refused_before_long_work(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    close_folder(tmp_path / "run")
    refuse_links_in(tmp_path / "run")
    (tmp_path / "run" / "README.md").symlink_to("nowhere")
    with mistake("link-in-run", place=tmp_path / "run" / "README.md"):
        refuse_links_in(tmp_path / "run")


@pytest.mark.skipif(sys.platform == "win32", reason="names are looked at before they are used there")
def test_names_that_another_process_swaps_lead_nowhere_else(
    tmp_path: Path, outside: Path, count: Callable[[int, int], int]
) -> None:
    run = tmp_path / "run"
    (run / "folder").mkdir(parents=True)
    (run / "file").touch()
    close_folder(run)
    before, refused, done = tree(outside), 0, 0
    swapper = subprocess.Popen([sys.executable, "-c", SWAPPER, str(run), str(outside)], stderr=subprocess.DEVNULL)
    try:
        ways = [WAYS[name] for name in ("rb", "rb+", "ab", "write", "lock", "replace", "sha256_of", "is_there")]
        for number in range(count(400, 20_000)):
            path = run / ("file", "folder/file", "folder/new")[number % 3]
            try:
                ways[number % len(ways)](path)
                done += 1
            except (RelatumError, FileNotFoundError):
                refused += 1
    finally:
        swapper.kill()
        swapper.wait()
    assert tree(outside) == before
    assert refused
    assert done
