"""Input without end: it is refused by a limit that the message states, in bounded time and memory."""

from __future__ import annotations

import gzip
import os
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relatum.datasets import text_format
from relatum.datasets.load import load
from relatum.datasets.text_format import read_tuples
from relatum.datasets.text_lines import Layout, require_unpacked
from support.mistakes import mistake


def packed(path: Path, line: bytes, mebibytes: int) -> Path:
    """Write a gzip file of one line, again and again, without having it in memory."""
    piece = line * ((1 << 20) // len(line))
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(mebibytes):
            file.write(piece)
    return path


@contextmanager
def little_memory(most: int = 64 << 20) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("layout", [Layout(blank_lines=True), Layout()])
def test_millions_of_blank_lines_take_no_time(tmp_path: Path, layout: Layout) -> None:
    path = packed(tmp_path / "train.txt.gz", b"\n", 20)
    began = time.perf_counter()
    with little_memory():
        if layout.blank_lines:
            assert not len(read_tuples(path, layout))
        else:
            with mistake("not-facts"):
                read_tuples(path, layout, skip_bad=True)
    assert time.perf_counter() - began < 10  # line by line it takes about as many seconds as there are mebibytes


def test_blank_lines_are_passed_over_as_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    for content in (b"\n \n\t\r\n", b"\n\nlikes\tann\tbob\n\n"):
        path.write_bytes(content)
        reader = text_format.TupleReader(skip_bad=True)
        reader.read(path)
        count = content.count(b"\n") - content.count(b"likes")
        assert len(reader.skipped) == count
        assert all("blank line" in one for one in reader.skipped)
    path.write_bytes(b" \n\n")
    with mistake("blank-line"):
        read_tuples(path)


def test_a_file_of_bad_lines_is_refused_soon_and_one_with_as_many_facts_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_format, "_MOST_SKIPPED", 100)
    path = tmp_path / "train.txt"
    path.write_bytes(b"alone\n" * 101 + b"likes\tann\tbob\n" * 101)
    assert len(read_tuples(path, skip_bad=True)) == 101
    path.write_bytes(b"alone\n" * 102 + b"likes\tann\tbob\n" * 101)
    with mistake("not-facts"):
        read_tuples(path, skip_bad=True)


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_line_of_very_many_columns_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(text_format, "_SMALL", small)
    path = tmp_path / "train.txt"
    for arity in (500, 501):
        path.write_bytes(b"likes\tann\tbob\n" + b"all" + b"\tann" * arity + b"\n")
        if arity == 500:
            assert set(read_tuples(path).blocks) == {2, 500}
            continue
        with mistake("over-limit"):
            read_tuples(path)
    path.write_bytes(b"all" + b"\tann" * 2_000_000 + b"\n")
    with little_memory(), mistake("over-limit"):
        read_tuples(path)


def test_what_others_unpack_is_looked_at_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.memory.budget", lambda: 1 << 22)
    with little_memory(16 << 20):
        require_unpacked(packed(tmp_path / "small.csv.gz", b"a,b\n", 3))
        with mistake("unpacks-too-large"):
            require_unpacked(packed(tmp_path / "large.csv.gz", b"\n" * 1024, 200))


def test_a_file_that_ends_in_a_hole_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(b"likes\tann\tbob\n")
    load(tmp_path)
    os.truncate(path, 1 << 40)  # reading it would take an hour
    with mistake("cut-off-file"):
        load(tmp_path)
