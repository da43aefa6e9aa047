"""Candidate sides that are kept, packed, between questions: of the positions that are asked about most lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from relatum.inference.side_files import SideFiles
from relatum.kernels.compact_side import CompactSide
from relatum.memory import free

__all__ = ["CandidateSides"]

_SHARE, _MOST = 16, 1 << 30  # of the memory that is free, and bytes at most

Key = tuple[int, int]  # relation, position


class CandidateSides:
    """Packed candidate sides by relation and position; where memory does not hold all, the least lately wanted go.

    A side is packed when it is wanted for the second time: a single question is answered sooner without.

    Args:
        most: how many bytes they may take together; by default a sixteenth of what is free when the first one is packed, and
            a gigabyte at most.
        files: where other processes find and leave sides. What is mapped from there stays: none of them goes.
    """

    def __init__(self, most: int | None = None, files: SideFiles | None = None) -> None:
        self.most, self._files = most, files
        self._kept: OrderedDict[Key, CompactSide | None] = OrderedDict()
        self._wanted: set[Key] = set()
        self._bytes = self._largest = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Whether another one, as large as the largest, would drive one out."""
        return self.most is not None and self._bytes + self._largest > self.most

    def __len__(self) -> int:
        return len(self._kept)

    def side(self, key: Key, pack: Callable[[], CompactSide | None], *, at_once: bool = False) -> CompactSide | None:
        """Return the packed side of a position; None the first time, and where there is none.

        Args:
            key: relation and position.
            pack: makes the side, or returns None where it cannot be packed.
            at_once: pack it the first time already.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            if key not in self._wanted and not at_once:
                self._wanted.add(key)
                return None
        side = pack() if self._files is None else self._mapped(key, self._files, pack)
        with self._lock:  # several threads packed it at once, perhaps: each gives the same, and one is kept
            if key not in self._kept:
                self._keep(key, side)
        return side

    def _mapped(self, key: Key, files: SideFiles, pack: Callable[[], CompactSide | None]) -> CompactSide | None:
        """Return a side from the files, where it is written if no process has done so yet and there is room."""
        side = files.load(*key)
        if side is not None:
            return side
        side = pack()
        if side is None or self.is_full or (self.most is not None and side.nbytes > self.most):
            return side
        try:
            files.save(*key, side)
        except OSError:  # what is full, or gone, costs others the time to pack it, and nobody the answer
            return side
        return files.load(*key) or side

    def _keep(self, key: Key, side: CompactSide | None) -> None:
        if self.most is None:
            self.most = min(free() // _SHARE, _MOST)
        size = 0 if side is None else side.nbytes
        if size > self.most or (self._files is not None and self._bytes + size > self.most):
            return
        self._kept[key] = side
        self._bytes += size
        self._largest = max(self._largest, size)
        while self._bytes > self.most:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= 0 if dropped is None else dropped.nbytes
