"""Scratch of a run: tables in files are like any other, and one that is mapped is not lost to the next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from relatum.workers.states import mapped_table, remove_scratch, scratch_folder
from support.full_disk import LIMITED, files_up_to


def test_a_table_lies_in_its_file_and_stays_when_another_takes_its_name(tmp_path: Path) -> None:
    folder = scratch_folder(tmp_path)
    first = mapped_table(folder / "entities", (5, 3), np.dtype(np.float32))
    first[:] = torch.arange(15.0).view(5, 3)
    assert first.data_ptr() % 64 == 0
    assert np.array_equal(np.fromfile(folder / "entities", np.float32), np.arange(15))
    second = mapped_table(folder / "entities", (2, 0), np.dtype(np.float32))
    remove_scratch(tmp_path)
    assert not list(tmp_path.iterdir())
    assert second.shape == (2, 0)
    assert first.sum() == 105


@LIMITED
def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    with files_up_to(1000), pytest.raises(OSError, match="too large"):
        mapped_table(tmp_path / "entities", (1000, 3), np.dtype(np.float32))
