"""The columnar copy gives back what was saved, or nothing."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from relatum import Split, load, tensor_files
from relatum.data import vocabulary
from relatum.datasets import cache as module
from relatum.datasets.cache import load_columns, save_columns
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
