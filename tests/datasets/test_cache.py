"""The columnar copy gives back what was saved, or nothing; a remembered checksum is of a file that nobody touched."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from relatum import Split, load, tensor_files
from relatum.data import vocabulary
from relatum.datasets import cache
from relatum.datasets import cache as module
from relatum.datasets.cache import checksum_of, known_checksum, load_columns, save_columns
from relatum.tensor_files import write_tensors
from support.strategies import splits

KEY = {"files": {"train": ["train.txt", "abc"]}}


@given(splits)
def test_what_is_saved_is_loaded(split: Split) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_columns(Path(folder) / "copy", KEY, split)
        back = load_columns(Path(folder) / "copy", KEY)
    assert back == split
    assert (back.checksums, back.skipped) == (split.checksums, split.skipped)


def test_another_key_or_version_or_no_file_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "copy"
    assert load_columns(path, KEY) is None
    save_columns(path, KEY, load("example"))
    assert load_columns(path, KEY) is not None
    assert load_columns(path, {"files": {}}) is None
    monkeypatch.setattr(module, "_VERSION", 4)
    assert load_columns(path, KEY) is None


@pytest.mark.parametrize(
    "about", [None, [], {}, {"key": 1}, {"key": KEY}, {"key": KEY, "relations": [], "blocks": {"train": [2]}}]
)
def test_a_forged_copy_with_a_right_checksum_is_still_checked(tmp_path: Path, about: object) -> None:
    write_tensors(tmp_path / "copy", {"entities": np.zeros(0, np.uint8)}, module._FORMAT, module._VERSION, about)
    assert load_columns(tmp_path / "copy", KEY) is None


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take every copy for a large one, with names as lines."""
    monkeypatch.setenv("RELATUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "_LARGE", 1)
    monkeypatch.setattr(module, "_SETTLED", 10**7)
    monkeypatch.setattr(vocabulary, "_MOST_STRINGS", 0)


@pytest.mark.usefixtures("mapped")
def test_a_large_copy_is_mapped_and_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split = load("example")
    save_columns(tmp_path / "copy", KEY, split)
    time.sleep(0.05)
    assert load_columns(tmp_path / "copy", KEY) == split
    monkeypatch.setattr(tensor_files, "_checksum", lambda *content: "hashed again")
    back = load_columns(tmp_path / "copy", KEY)
    assert back == split
    assert not next(iter(back.train.blocks.values())).columns.flags.owndata
    (tmp_path / "copy").write_bytes((tmp_path / "copy").read_bytes())
    assert load_columns(tmp_path / "copy", KEY) is None


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELATUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_LARGE", 4)
    monkeypatch.setattr(cache, "_SETTLED", 10**7)
    path = tmp_path / "facts.txt"
    path.write_bytes(b"likes\tann\tbob\n")
    time.sleep(0.05)
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_large_file_is_hashed_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert known_checksum(path) is None
    assert checksum_of(path) == digest(path) == known_checksum(path)
    monkeypatch.setattr(cache, "sha256_of", lambda path: "hashed again")
    assert checksum_of(path) == digest(path)


def test_a_file_that_was_touched_is_hashed_again(path: Path) -> None:
    first, status = checksum_of(path), path.stat()
    path.write_bytes(b"likes\tbob\tann\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, inode and time of content
    assert known_checksum(path) is None
    assert checksum_of(path) == digest(path) != first
    other = path.with_name("other")
    other.write_bytes(b"likes\tcat\tdog\n")
    other.replace(path)
    assert checksum_of(path) == digest(path)


def test_a_file_of_this_moment_and_a_small_one_are_not_remembered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_SETTLED", 10**12)
    checksum_of(path)
    assert known_checksum(path) is None
    monkeypatch.setattr(cache, "_SETTLED", 0)
    monkeypatch.setattr(cache, "_LARGE", 1 << 20)
    checksum_of(path)
    assert known_checksum(path) is None


def test_a_damaged_record_is_no_record(path: Path, tmp_path: Path) -> None:
    checksum_of(path)
    (record,) = (tmp_path / "cache" / "checksums").iterdir()
    for content in (b"", b"{}", b"\xff", record.read_bytes()[:-9]):
        record.write_bytes(content)
        assert known_checksum(path) is None
        assert checksum_of(path) == digest(path)
