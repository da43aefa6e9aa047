"""Tensor files: ordinary safetensors files, always the same bytes, and never trusted when damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open

from relatum.tensor_files import (
    map_arrays,
    read_tensor_file,
    read_tensors,
    write_tensor_file,
    write_tensors,
)
from support.mistakes import mistake

TENSORS = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.arange(3, dtype=np.uint8), "ä": np.zeros((0, 2))}
ABOUT = {"name": 'ä\n\u2028"', "numbers": [1, 0.1 + 0.2, None]}


def body() -> bytes:
    return safetensors.numpy.save(TENSORS)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "file.safetensors"
    write_tensor_file(path, body(), "relatum-test", 1, ABOUT)
    return path


def test_what_is_written_is_read_by_us_and_by_safetensors(written: Path) -> None:
    found = read_tensor_file(written, "relatum-test", 1)
    assert found is not None
    assert found.about == ABOUT
    with safe_open(written, "np") as file:
        assert {name: file.get_tensor(name).tolist() for name in file.keys()} == {  # noqa: SIM118
            name: array.tolist() for name, array in TENSORS.items()
        }
        metadata = file.metadata()
    assert (metadata["format"], metadata["version"], json.loads(metadata["about"])) == ("relatum-test", "1", ABOUT)


def test_the_bytes_are_the_same_in_every_process(written: Path) -> None:
    other = written.with_name("other")
    script = f"""
import sys; from pathlib import Path
from relatum.tensor_files import write_tensor_file
write_tensor_file(Path(sys.argv[1]), bytes.fromhex({body().hex()!r}), "relatum-test", 1, {ABOUT!r})
"""
    subprocess.run([sys.executable, "-c", script, str(other)], check=True)
    assert other.read_bytes() == written.read_bytes()


def test_a_file_written_again_from_what_was_read_is_the_same(written: Path) -> None:
    found = read_tensor_file(written, "relatum-test", 1)
    assert found is not None
    write_tensor_file(written.with_name("again"), found.body, "relatum-test", 1, found.about)
    assert written.with_name("again").read_bytes() == written.read_bytes()


def is_read(path: Path) -> bool:
    """Return whether either way of reading takes a file."""
    whole, parts = read_tensor_file(path, "relatum-test", 1), read_tensors(path, "relatum-test", 1, np.empty)
    return whole is not None or parts is not None


def test_every_changed_bit_and_every_cut_is_noticed(written: Path) -> None:
    content = written.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            written.write_bytes(changed)
            assert not is_read(written), (place, bit)
        written.write_bytes(content[:place])
        assert not is_read(written), place
    written.write_bytes(content + b"x")
    assert not is_read(written)


def test_another_format_or_version_or_no_metadata_is_nothing(written: Path) -> None:
    assert read_tensor_file(written, "relatum-other", 1) is None
    assert read_tensor_file(written, "relatum-test", 2) is None
    written.write_bytes(body())
    assert read_tensor_file(written, "relatum-test", 1) is None
    assert read_tensor_file(written.with_name("nothing"), "relatum-test", 1) is None
    assert read_tensor_file(written.parent, "relatum-test", 1) is None


def test_more_metadata_than_safetensors_reads_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.tensor_files._LONGEST_HEADER", 500)
    with mistake("too-many-names"):
        write_tensor_file(tmp_path / "file", body(), "relatum-test", 1, "x" * 500)
    assert not list(tmp_path.iterdir())


def empty(shape: list[int], dtype: np.dtype) -> np.ndarray:
    return np.empty(shape, dtype)


def test_tensors_are_written_to_the_same_bytes_and_read_into_room_of_their_own(written: Path, tmp_path: Path) -> None:
    more = {**TENSORS, "i": np.arange(4), "c": np.arange(2, dtype=np.int32), "scalar": np.array(2.5, np.float32)}
    more["flags"] = np.array([True, False])
    one, other = tmp_path / "one", tmp_path / "other"
    write_tensor_file(one, safetensors.numpy.save(more), "relatum-test", 1, ABOUT)
    write_tensors(other, more, "relatum-test", 1, ABOUT)
    assert one.read_bytes() == other.read_bytes()
    found = read_tensors(other, "relatum-test", 1, empty)
    assert found is not None
    assert found.about == ABOUT
    assert found.tensors.keys() == more.keys()
    for name, tensor in more.items():
        assert (found.tensors[name].dtype, found.tensors[name].shape) == (tensor.dtype, tensor.shape)
        np.testing.assert_array_equal(found.tensors[name], tensor)
    assert read_tensors(other, "relatum-test", 2, empty) is None
    assert read_tensors(tmp_path / "none", "relatum-test", 1, empty) is None


def test_no_room_is_taken_for_what_the_file_does_not_hold(written: Path) -> None:
    whole = written.read_bytes()
    written.write_bytes(whole.replace(b'"shape":[2,3]', b'"shape":[2,9]'))

    def refuse(shape: list[int], dtype: np.dtype) -> np.ndarray:
        assert shape != [2, 9]
        return np.empty(shape, dtype)

    assert read_tensors(written, "relatum-test", 1, refuse) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_no_file_of_tensors_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "pipe.safetensors")
    assert map_arrays(path, "relatum-test", 1, None) is None
    assert read_tensor_file(path, "relatum-test", 1) is None
    assert read_tensors(path, "relatum-test", 1, np.empty) is None
