"""What was written is on the disk before it has its name, its name is too, and no reader ever sees half of it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from relatum import files
from relatum.files import atomic_directory, atomic_file, atomic_path, write_bytes, write_document
from support.recorded_writes import Call, assert_survives_power_cuts, recorded_writes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to tell which file is synced")


def open_files() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("links", [True, False])
def test_a_file_is_synced_before_it_has_its_name_and_the_name_after(
    new: bool, links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", Mock(side_effect=PermissionError))
    with recorded_writes() as calls, atomic_file(tmp_path / "fact", new=new) as file:
        file.write(b"x" * 100_000)
    if new and not links:
        calls.remove(Call("open", tmp_path / "fact"))  # which holds the name, empty, for the moment
    assert_survives_power_cuts(calls, tmp_path / "fact")


def test_whole_contents_are_written_alike(tmp_path: Path) -> None:
    with recorded_writes() as calls:
        write_bytes(tmp_path / "bytes", b"x" * 100)
        write_document(tmp_path / "document", "relatum-shops", 1, {"names": ["a"]})
    for name in ("bytes", "document"):
        assert_survives_power_cuts(calls, tmp_path / name)


def test_a_directory_is_synced_with_all_that_is_in_it(tmp_path: Path) -> None:
    with recorded_writes() as calls, atomic_directory(tmp_path / "run") as folder:
        (folder / "a").write_bytes(b"a" * 100)
        (folder / "b").write_bytes(b"b")
    assert_survives_power_cuts(calls, tmp_path / "run")
    (renamed,) = (number for number, call in enumerate(calls) if call.what == "os.rename")
    before = calls[:renamed]
    for name, size in (("a", 100), ("b", 1)):
        synced = before.index(Call("sync", folder / name, size=size))
        assert synced < max(number for number, call in enumerate(before) if call.what == "sync" and call.path == folder)


def test_descriptors_are_closed_again(tmp_path: Path) -> None:
    before = open_files()
    for number in range(3):
        write_bytes(tmp_path / str(number), b"fact")
        with atomic_directory(tmp_path / f"run{number}") as folder:
            (folder / "a").touch()
    assert open_files() == before


def test_directories_are_left_alone_where_they_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with recorded_writes() as calls:
        files._sync_directory(tmp_path)
    assert not calls


def test_a_directory_is_closed_also_where_it_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError("the disk is gone")))
    before = open_files()
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            files._sync_directory(tmp_path)
    assert open_files() == before


def test_a_reader_beside_the_writer_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    contents = [bytes([number]) * (1_000_000 + number) for number in range(40)]
    write_bytes(path, contents[0])
    torn: list[int] = []
    seen: set[int] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            content = path.read_bytes()
            if content != contents[content[0] if content else 0]:
                torn.append(len(content))
            else:
                seen.add(content[0])

    reader = threading.Thread(target=read)
    reader.start()
    for content in contents:
        write_bytes(path, content)
    done.set()
    reader.join()
    assert not torn
    assert seen <= set(range(40))


def test_a_block_that_fails_before_it_has_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="why"), atomic_path(tmp_path / "fact"):
        raise ValueError("why")
    assert not list(tmp_path.iterdir())


def test_two_writers_at_once_each_have_a_file_of_their_own(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "fact") as first, atomic_path(tmp_path / "fact") as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert (tmp_path / "fact").read_bytes() == b"first"  # whose block ended last
    assert [path.name for path in tmp_path.iterdir()] == ["fact"]
