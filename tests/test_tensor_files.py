"""Tensor files: ordinary safetensors files, always the same bytes, and never trusted when damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open

from relatum.tensor_files import map_arrays, read_tensors, write_tensors
from support.mistakes import mistake

TENSORS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a": np.arange(3, dtype=np.uint8),
    "ä": np.zeros((0, 2)),
    "scalar": np.array(2.5, np.float32),
    "parts": np.array([[1], [-1]], np.int8),
    "flags": np.array([True, False]),
}
ABOUT = {"name": 'ä\n\u2028"', "numbers": [1, 0.1 + 0.2, None]}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "file.safetensors"
    write_tensors(path, TENSORS, "relatum-test", 1, ABOUT)
    return path


def test_what_is_written_is_read_by_us_and_by_safetensors(written: Path) -> None:
    for found in (read_tensors(written, "relatum-test", 1), map_arrays(written, "relatum-test", 1, None)):
        assert found is not None
        assert found.about == ABOUT
        assert found.arrays.keys() == TENSORS.keys()
        for name, tensor in TENSORS.items():
            assert (found.arrays[name].dtype, found.arrays[name].shape) == (tensor.dtype, tensor.shape)
            np.testing.assert_array_equal(found.arrays[name], tensor)
    with safe_open(written, "np") as file:
        assert {name: file.get_tensor(name).tolist() for name in file.keys()} == {  # noqa: SIM118
            name: array.tolist() for name, array in TENSORS.items()
        }
        metadata = file.metadata()
    assert (metadata["format"], metadata["version"], json.loads(metadata["about"])) == ("relatum-test", "1", ABOUT)


def test_tensors_stand_as_safetensors_puts_them(written: Path) -> None:
    body = safetensors.numpy.save(TENSORS)
    for content in (body, written.read_bytes()):
        length = int.from_bytes(content[:8], "little")
        entries = json.loads(content[8 : 8 + length])
        assert entries.pop("__metadata__", {}).keys() <= {"about", "format", "version", "sha256"}
        assert entries == json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])
        assert content[8 + length :] == body[8 + int.from_bytes(body[:8], "little") :]


def test_the_bytes_are_the_same_in_every_process_and_for_rows_one_by_one(written: Path) -> None:
    plain = [(name, (one.tolist(), str(one.dtype))) for name, one in TENSORS.items()]
    script = f"""
import sys; from pathlib import Path; from numpy import *; from relatum.tensor_files import write_tensors
tensors = {{name: array(*one) for name, one in {plain!r}}}
tensors["b"], tensors["ä"] = tuple(tensors["b"]), tensors["ä"].reshape(0, 2)
write_tensors(Path(sys.argv[1]), tensors, "relatum-test", 1, {ABOUT!r})
"""
    other = written.with_name("other")
    subprocess.run([sys.executable, "-c", script, str(other)], check=True)
    assert other.read_bytes() == written.read_bytes()


def test_every_changed_byte_and_every_cut_is_noticed(written: Path, count: Callable[[int, int], int]) -> None:
    content = written.read_bytes()

    def is_read() -> bool:
        found = read_tensors(written, "relatum-test", 1), map_arrays(written, "relatum-test", 1, None)
        return any(one is not None for one in found)

    for place in range(len(content)):
        for bit in range(8) if count(0, 1) else (place % 8,):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            written.write_bytes(changed)
            assert not is_read(), (place, bit)
        written.write_bytes(content[:place])
        assert not is_read(), place
    written.write_bytes(content + b"x")
    assert not is_read()


def test_another_format_or_version_or_no_metadata_or_no_file_is_nothing(written: Path) -> None:
    paths = [written, written.with_name("nothing"), written.parent, written.with_name("plain")]
    paths[3].write_bytes(safetensors.numpy.save(TENSORS))
    if hasattr(os, "mkfifo"):  # which is not waited for
        os.mkfifo(written.with_name("pipe"))
        paths.append(written.with_name("pipe"))
    for path in paths:
        for kind, version in (("relatum-other", 1), ("relatum-test", 2), ("relatum-test", 1)):
            whole = (path, kind, version) == (written, "relatum-test", 1)
            assert (read_tensors(path, kind, version) is not None) == whole
            assert (map_arrays(path, kind, version, None) is not None) == whole


def test_more_metadata_than_safetensors_reads_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.tensor_files._LONGEST_HEADER", 500)
    with mistake("too-many-names"):
        write_tensors(tmp_path / "file", TENSORS, "relatum-test", 1, "x" * 500)
    assert not list(tmp_path.iterdir())


def test_no_room_is_taken_for_what_the_file_does_not_hold(written: Path) -> None:
    whole = written.read_bytes()
    written.write_bytes(whole.replace(b'"shape":[2,3]', b'"shape":[2,9]'))

    def refuse(shape: list[int], dtype: np.dtype) -> np.ndarray:
        assert shape != [2, 9]
        return np.empty(shape, dtype)

    assert read_tensors(written, "relatum-test", 1, refuse) is None
