"""Packed candidate sides in files that several processes map, so that memory holds them once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from relatum.files import atomic_file
from relatum.kernels.compact_side import CompactSide
from relatum.kernels.windowed_sigmoid import Plan

__all__ = ["SideFiles"]


class SideFiles:
    """A directory of packed candidate sides, which belongs to one version of one model.

    Each side is two files, its tiles and then the rest: where there is the second, both are whole. Whoever packs a side that
    another process packs too writes the same bytes.

    Args:
        folder: the directory; it is created with the first side.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, relation: int, position: int) -> CompactSide | None:
        """Return the side of a position, its tiles mapped, or None where no process has packed it yet."""
        tiles, rest = self._paths(relation, position)
        try:
            numbers = np.load(rest, allow_pickle=False)
            mapped = np.load(tiles, mmap_mode="r", allow_pickle=False)
        except OSError:
            return None
        paired, single, size = map(int, numbers[:3])
        order, centre, half, lowest, steps = numbers[3:].reshape(5, -1)
        plan = Plan(order.astype(np.int64), centre.astype(np.float32), half.astype(np.float32), paired, single, tanh=False)
        return CompactSide(plan, mapped.view(np.ndarray), lowest.astype(np.int32), steps.astype(np.int32), size)

    def save(self, relation: int, position: int, side: CompactSide) -> None:
        """Write a side for others to map."""
        self.folder.mkdir(parents=True, exist_ok=True)
        plan = side.plan
        numbers = np.array([plan.paired, plan.single, side.size], np.float64)
        rest = np.concatenate([numbers, plan.order, plan.centre, plan.half, side.lowest, side.steps], dtype=np.float64)
        for path, values in zip(self._paths(relation, position), [side.tiles, rest], strict=True):
            with atomic_file(path) as file:
                np.lib.format.write_array(file, np.asarray(values), allow_pickle=False)

    def _paths(self, relation: int, position: int) -> tuple[Path, Path]:
        """Return the names of the file of tiles and of that of the rest, which is written last."""
        name = f"{relation}-{position}"
        return self.folder / f"{name}.tiles.npy", self.folder / f"{name}.rest.npy"
