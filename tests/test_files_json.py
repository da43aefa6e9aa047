"""What JSON files may say: whole numbers of 64 bits, known versions, as much as memory holds; reasons have an end."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from relatum import memory
from relatum.errors import RelatumError
from relatum.files import parse_json, read_document, read_json, read_whole
from support.mistakes import mistake

LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize("number", [LEAST, MOST, LEAST + 1, -1, 0, 10**17, 10**18, -(10**18)])
def test_whole_numbers_of_64_bits_are_read(number: int) -> None:
    assert parse_json(f'{{"n": [{number}]}}'.encode()) == {"n": [number]}


@pytest.mark.parametrize("digits", [str(LEAST - 1), str(MOST + 1), "1" * 20, "-" + "1" * 20, "1" * 21, "1" * 6000], ids=len)
def test_larger_ones_are_refused(digits: str) -> None:
    with pytest.raises(ValueError, match=f" {len(digits)} digits"):
        parse_json(f'{{"n": [{digits}]}}'.encode())


def test_numbers_with_a_point_are_read_however_long() -> None:
    assert parse_json(b"[1.00000000000000000000000000000000, 3]") == [1.0, 3]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RelatumError("unknown-name", "why"), "why"),
        *((kind("why"), "why") for kind in (IndexError, TypeError, AttributeError, OverflowError, RecursionError)),
        *((ValueError("x" * length), "x" * length) for length in (1, 499, 500)),
        *((ValueError("x" * length), "x" * 500 + " ...") for length in (501, 10_000)),
    ],
)
def test_whatever_building_raises_is_one_error_with_an_end(error: Exception, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with mistake("damaged-file", place=tmp_path / "a.json") as caught:
        read_json(tmp_path / "a.json", "shops", Mock(side_effect=error))
    assert caught.value.reason.endswith(f" {reason}")


@pytest.mark.parametrize("name", ["relatum-shops", "other"])
@pytest.mark.parametrize("version", ["true", "4.0", '"4"', "null", "3", "5", "4"])
def test_a_document_of_another_format_or_version_is_not_read(name: str, version: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"format": "{name}", "version": {version}}}')
    with mistake("other-format", place=path) if (name, version) != ("relatum-shops", "4") else nullcontext():
        assert read_document(path, "relatum-shops", 4, lambda found: found) == {}


@pytest.mark.parametrize(("size", "fits"), [(1 << 22, True), ((1 << 22) + 1, False)])
def test_a_file_that_memory_could_not_hold_as_objects_is_refused(
    size: int, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemAvailable: {1 << 15} kB\n")  # eight times 4 MB
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    monkeypatch.setattr(memory, "_last", (-math.inf, 0))
    path = tmp_path / "large.json"
    path.write_bytes(b" " * size)
    if fits:
        assert len(read_whole(path)) == size
    else:
        with mistake("larger-than-memory", place=path):
            read_whole(path)
