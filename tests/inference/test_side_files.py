"""Packed candidate sides in files: what one process writes another maps, to the bit, and no more than there is room for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relatum.inference.candidate_sides import CandidateSides
from relatum.inference.side_files import SideFiles
from relatum.kernels.compact_side import CompactSide, compact, top
from relatum.kernels.filters import nothing_excluded

CANDIDATES = np.random.default_rng(0).normal(size=(300, 7)).astype(np.float32)


def packed() -> CompactSide:
    side = compact(CANDIDATES)
    assert side is not None
    return side


def test_a_side_comes_back_as_it_was(tmp_path: Path) -> None:
    files, side = SideFiles(tmp_path / "sides"), packed()
    assert files.load(3, 1) is None
    files.save(3, 1, side)
    found = files.load(3, 1)
    assert found is not None
    assert files.load(3, 2) is None
    query = np.random.default_rng(1).normal(size=(1, 7)).astype(np.float32)
    one, other = (top(each, CANDIDATES.__getitem__, query, 9, nothing_excluded(1), None) for each in (side, found))
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_tiles_alone_are_no_side(tmp_path: Path) -> None:
    files = SideFiles(tmp_path)
    files.save(0, 0, packed())
    (tmp_path / "0-0.rest.npy").unlink()
    assert files.load(0, 0) is None, "whoever wrote it was killed in between"


def test_what_another_process_packed_is_not_packed_again(tmp_path: Path) -> None:
    size = packed().nbytes
    first, second = (CandidateSides(10 * size, SideFiles(tmp_path)) for _ in range(2))
    assert first.side((0, 0), packed, at_once=True) is not None
    found = second.side((0, 0), lambda: pytest.fail("there is a file"), at_once=True)
    assert found is not None
    assert second.nbytes == size


def test_no_more_is_written_than_there_is_room_for(tmp_path: Path) -> None:
    size = packed().nbytes
    sides = CandidateSides(2 * size, SideFiles(tmp_path))
    for position in range(4):
        assert sides.side((0, position), packed, at_once=True) is not None
    assert sides.is_full
    assert len(list(tmp_path.glob("*.tiles.npy"))) == 2
    assert sides.nbytes == 2 * size


def test_a_directory_that_cannot_be_written_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    sides = CandidateSides(1 << 20, SideFiles(tmp_path / "file" / "sides"))
    assert sides.side((0, 0), packed, at_once=True) is not None
