"""Files are whole or absent, also when the writer is killed."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

from relatum.files import (
    atomic_directory,
    atomic_file,
    cache_directory,
    drop_torn_line,
    is_there,
    read_document,
    read_whole,
    sha256_of,
    stale_temporaries,
    write_bytes,
    write_document,
)
from support.full_disk import LIMITED, files_up_to
from support.mistakes import mistake


def test_a_file_appears_with_its_content_and_the_usual_permissions(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    with atomic_file(tmp_path / "fact") as file:
        file.write(b"sold")
        assert not (tmp_path / "fact").exists()
    assert (tmp_path / "fact").read_bytes() == b"sold"
    assert stat.S_IMODE((tmp_path / "fact").stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "fact").write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "fact") as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["fact"]
    assert (tmp_path / "fact").read_bytes() == b"old"


def test_a_replaced_file_keeps_its_permissions_and_the_links_to_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "fact").write_bytes(b"old")
    (tmp_path / "deep" / "fact").chmod(0o600)
    (tmp_path / "link").symlink_to("deep/fact")
    (tmp_path / "dangling").symlink_to("deep/later")
    for name, file_name in (("link", "fact"), ("dangling", "later")):
        with atomic_file(tmp_path / name) as file:
            file.write(b"new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "deep" / file_name).read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "deep" / "fact").stat().st_mode) == 0o600
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["fact", "later"]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_takes_no_place_that_is_taken_meanwhile(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", Mock(side_effect=PermissionError))
    with atomic_file(tmp_path / "first", new=True) as file:
        file.write(b"mine")
    with pytest.raises(FileExistsError), atomic_file(tmp_path / "second", new=True) as file:
        file.write(b"mine")
        (tmp_path / "second").write_bytes(b"theirs")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"first": b"mine", "second": b"theirs"}


def test_what_is_no_file_is_not_replaced_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for path, code in (
        (tmp_path / "folder", "not-replaceable"),
        (tmp_path / "loop", "not-replaceable"),
        (Path("/dev/null"), "not-replaceable"),
        (tmp_path / "no" / "fact", "no-such-directory"),
    ):
        with mistake(code), atomic_file(path) as file:
            file.write(b"fact")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "loop"]


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "deep" / "deeper" / "run") as folder:
        (folder / "a").write_text("1")
    assert (tmp_path / "deep" / "deeper" / "run" / "a").read_text() == "1"
    with pytest.raises(ValueError, match="no"), atomic_directory(tmp_path / "other") as folder:
        (folder / "a").write_text("1")
        raise ValueError("no")
    with pytest.raises(ValueError, match="gone"), atomic_directory(tmp_path / "other") as folder:
        folder.rmdir()
        raise ValueError("gone")
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


def test_a_directory_that_holds_something_is_refused_and_an_empty_one_is_filled(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with atomic_directory(tmp_path / "run") as folder:
        (folder / "a").write_text("1")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["a"]
    began = False
    with mistake("directory-not-empty"), atomic_directory(tmp_path):
        began = True
    assert not began  # before any work is done


def test_what_came_into_a_directory_meanwhile_is_left_alone(tmp_path: Path) -> None:
    with mistake("directory-not-empty"), atomic_directory(tmp_path / "run") as folder:
        (folder / "a").write_text("mine")
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "a").write_text("another's")
    assert (tmp_path / "run" / "a").read_text() == "another's"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_leftovers_are_the_temporary_files_of_writers_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "weights").write_text("whole")
    for name in ("weights.tmp", ".weights.tmp", ".weights.0123.tmp", "weights.0123456789ab.tmp", ".0123456789ab.tmp"):
        (tmp_path / name).write_text("somebody's")
    (tmp_path / ".folder.0123456789ab.tmp").mkdir()
    assert stale_temporaries(tmp_path) == []
    with atomic_file(tmp_path / "weights"):
        (found,) = stale_temporaries(tmp_path)
        assert found.name.startswith(".weights.")
    assert stale_temporaries(tmp_path) == []


def test_checksums_are_those_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert sha256_of(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("platform", "settings", "expected"),
    [
        ("linux", {"RELATUM_CACHE": "mine", "XDG_CACHE_HOME": "xdg"}, "mine"),
        ("linux", {"RELATUM_CACHE": "~/mine"}, "home/mine"), ("linux", {}, "home/.cache/relatum"),
        ("linux", {"XDG_CACHE_HOME": "xdg", "LOCALAPPDATA": "local"}, "xdg/relatum"),
        ("darwin", {"XDG_CACHE_HOME": "xdg", "LOCALAPPDATA": "local"}, "home/Library/Caches/relatum"),
        ("win32", {"XDG_CACHE_HOME": "xdg"}, "home/AppData/Local/relatum"),
        ("win32", {"XDG_CACHE_HOME": "xdg", "LOCALAPPDATA": "local"}, "local/relatum"),
    ],
)  # fmt: skip
def test_the_cache_is_where_the_environment_says_or_else_the_platform_has_such(
    platform: str, settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("RELATUM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, folder in {"HOME": "home", **settings}.items():
        monkeypatch.setenv(name, folder if folder.startswith("~") else str(tmp_path / folder))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_directory() == tmp_path / expected


@pytest.mark.skipif(sys.platform == "win32", reason="users have no numbers on Windows")
def test_who_has_no_home_has_a_cache_among_the_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RELATUM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", Mock(side_effect=RuntimeError))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_directory() == tmp_path / f"relatum-{os.getuid()}"


WRITER = """
import sys, itertools
from pathlib import Path
from relatum.files import atomic_file
print("ready", flush=True)
for number in itertools.count():
    with atomic_file(Path(sys.argv[1])) as file:
        for _ in range(64):
            file.write(bytes([number % 256]) * 4096)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL on Windows")
def test_killed_writers_never_leave_a_torn_file(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    target = tmp_path / "weights"
    chance = random.Random(0)
    for _ in range(count(3, 200)):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        with writer.stdout:
            writer.stdout.readline()
            time.sleep(chance.uniform(0, 0.1))
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        if target.exists():
            content = target.read_bytes()
            assert len(content) == 64 * 4096
            assert len(set(content)) == 1


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    write_document(path, "relatum-shops", 2, {"names": ["ä", "b"]})
    expected = '{\n "format": "relatum-shops",\n "version": 2,\n "names": [\n  "ä",\n  "b"\n ]\n}\n'
    assert path.read_text(encoding="utf-8") == expected
    assert read_document(path, "relatum-shops", 2, lambda content: content) == {"names": ["ä", "b"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"), ("[]", "list where an object should be"), ("null", "NoneType"),
        ("{}", "no 'format'"), ('{"format": "relatum-shops"}', "no 'version'"),
        ('{"format": "relatum-shops", "version": 2}', "no 'size'"),
        ('{"format": "relatum-shops", "version": 2, "size": "many"}', "could not convert"),
        ('{"format": "relatum-shops", "version": 2, "size": 1' + "0" * 5000 + "}", "a whole number of 5001 digits"),
        ("[" * 100_000, "nested too deeply"), ("\ud800", "utf-8"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_with_a_document_is_one_sentence(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "document.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with mistake("damaged-file") as caught:
        read_document(path, "relatum-shops", 2, lambda content: float(content["size"]))
    assert reason in caught.value.reason
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("whole", [b"", b"\n", b"one\n", b"one\ntwo\n", b"x" * 200_000 + b"\n"])
@pytest.mark.parametrize("torn", [b"", b"t", b"y" * 200_000])
def test_a_torn_line_is_dropped_and_whole_ones_stay(tmp_path: Path, whole: bytes, torn: bytes) -> None:
    path = tmp_path / "lines"
    drop_torn_line(path)
    assert not path.exists()
    path.write_bytes(whole + torn)
    drop_torn_line(path)
    assert path.read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_or_a_folder_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        for read in (read_whole, drop_torn_line):
            with mistake("not-a-file"):
                read(tmp_path / name)


@LIMITED
def test_a_full_disk_is_an_error_about_what_was_to_be_written(tmp_path: Path) -> None:
    with files_up_to(1000), pytest.raises(OSError, match="too large") as full:
        write_bytes(tmp_path / "file", bytes(2000))
    assert full.value.filename == str(tmp_path / "file")
    with files_up_to(1000), pytest.raises(OSError, match="too large") as full, atomic_directory(tmp_path / "folder") as made:
        write_bytes(made / "file", bytes(2000))
    assert full.value.filename == str(tmp_path / "folder" / "file")
    assert not list(tmp_path.iterdir())


def test_where_there_are_no_hard_links_a_rename_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hardlink_to", "replace"):
        monkeypatch.setattr(Path, name, Mock(side_effect=PermissionError))
    with pytest.raises(PermissionError), atomic_file(tmp_path / "file", new=True) as file:
        file.write(b"new")
    assert not list(tmp_path.iterdir())


def test_a_file_that_need_not_be_there_is_there_absent_or_refused(tmp_path: Path) -> None:
    assert not is_there(tmp_path / "file")
    (tmp_path / "file").write_text("x")
    assert is_there(tmp_path / "file")
    (tmp_path / "link").symlink_to("link")
    for name in ("link", "."):
        with mistake("not-a-file"):
            is_there(tmp_path / name)
