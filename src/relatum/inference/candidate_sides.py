"""Candidate sides that are kept, packed, between questions: of the positions that are asked about most lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from relatum.kernels.compact_side import CompactSide
from relatum.memory import free

_SHARE, _MOST = 16, 1 << 30  # of the memory that is free, and bytes at most

Key = tuple[int, int]  # relation, position


class CandidateSides:
    """Packed candidate sides by relation and position; where memory does not hold all, the least lately wanted go.

    A side is packed when it is wanted for the second time: a single question is answered sooner without.

    Args:
        most: how many bytes they may take together; by default a sixteenth of what is free when the first one is packed, and
            a gigabyte at most.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._kept: OrderedDict[Key, CompactSide | None] = OrderedDict()
        self._wanted: set[Key] = set()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._kept)

    def side(self, key: Key, pack: Callable[[], CompactSide | None]) -> CompactSide | None:
        """Return the packed side of a position; None the first time, and where there is none.

        Args:
            key: relation and position.
            pack: makes the side, or returns None where it cannot be packed.
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            if key not in self._wanted:
                self._wanted.add(key)
                return None
        side = pack()
        with self._lock:  # several threads packed it at once, perhaps: each gives the same, and one is kept
            if key not in self._kept:
                self._keep(key, side)
        return side

    def _keep(self, key: Key, side: CompactSide | None) -> None:
        if self.most is None:
            self.most = min(free() // _SHARE, _MOST)
        size = 0 if side is None else side.nbytes
        if size > self.most:
            return
        self._kept[key] = side
        self._bytes += size
        while self._bytes > self.most:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= 0 if dropped is None else dropped.nbytes
