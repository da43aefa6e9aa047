"""Names numbered as they are met, and chunks of plain facts scanned, by compiled loops: for files that are not small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from relatum.data.name_lines import NameLines
from relatum.data.vocabulary import Ids
from relatum.datasets.text_lines import Layout
from relatum.kernels.byte_words import PADDING
from relatum.kernels.field_scan import ENTITY, IGNORED, RELATION, FieldScan
from relatum.kernels.name_order import copy_names, name_order
from relatum.kernels.name_table import NameTable

_MOST_COLUMNS = 1 << 12  # that a layout speaks of; one that speaks of later ones is read line by line


class CompiledNames:
    """Names in a compiled table."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.table = NameTable()
        self.number_all(list(names))

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines())

    def __getitem__(self, name: str) -> int:
        return int(self.number_all([name])[0])

    def number_all(self, names: Sequence[str]) -> Ids:
        """Return the number of each name; a new one gets the next."""
        return self.table.number_all(name.encode() for name in names)

    def in_order(self, used: np.ndarray[tuple[int], np.dtype[np.bool_]] | None) -> tuple[NameLines, Ids]:
        """Return the names that are used, sorted, and for each number its name's index, -1 if it is not used."""
        lines = self._lines()
        order = name_order(self.table.text, lines.starts)
        if used is not None:
            order = order[used[order]]
        text, starts = copy_names(self.table.text, lines.starts, order)
        ids = np.full(len(self), -1, np.int32)
        ids[order] = np.arange(len(order), dtype=np.int32)
        return NameLines(text, starts, ascending=True), ids

    def _lines(self) -> NameLines:
        starts = self.table.starts[: len(self) + 1]
        return NameLines(self.table.text[: max(int(starts[-1]) - 1, 0)], starts, ascending=False)


class ChunkScan:
    """Takes chunks of plain facts apart, with two tables of names."""

    def __init__(self, relations: CompiledNames, entities: CompiledNames) -> None:
        self._scan = FieldScan(relations.table, entities.table)
        self._text = np.zeros(0, np.uint8)

    def lines(self, chunk: bytes, layout: Layout) -> tuple[Ids, Ids, Ids] | None:
        """Return each line's relation and arity, and the entities of all lines; None if a line is not a plain fact.

        A chunk that is not UTF-8 raises a `UnicodeDecodeError`.
        """
        holds = _holds(layout)
        if holds is None:
            return None
        if not chunk.isascii():
            chunk.decode()
        if len(self._text) < len(chunk) + PADDING:
            self._text = np.zeros(len(chunk) + PADDING, np.uint8)
        self._text[: len(chunk)] = np.frombuffer(chunk, np.uint8)
        return self._scan.scan(self._text, len(chunk), holds)


def _holds(layout: Layout) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    last = max(layout.relation_column, *layout.ignored_columns, 0)
    if last >= _MOST_COLUMNS:
        return None
    holds = np.full(last + 1, ENTITY, np.uint8)
    holds[layout.relation_column] = RELATION
    holds[list(layout.ignored_columns)] = IGNORED
    return holds
