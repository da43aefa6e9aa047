"""A remembered checksum is used only for a file that nobody touched."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from relatum.datasets import cache
from relatum.datasets.cache import checksum_of, known_checksum


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
