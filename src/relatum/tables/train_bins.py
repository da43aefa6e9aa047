"""Groups of numbers and dates cut by what is in train, so that held-out values do not say where to cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relatum.arrays import Bool
from relatum.data.row_store import EMPTY
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables.cells import CellColumn, cut_bins, group_of
from relatum.tables.engine import Workspace, literal
from relatum.tables.staging import Staged


@dataclass(frozen=True)
class NumberedTable:
    """A table whose cells are numbered: its columns, cells int32[columns, rows], and into how many groups columns go."""

    staged: Staged
    columns: list[CellColumn]
    cells: Ids
    groups: dict[str, int]


def cut_on_train(
    workspace: Workspace, names: Vocabulary, tables: Sequence[NumberedTable], seen: Sequence[Bool]
) -> tuple[Vocabulary, list[NumberedTable]]:
    """Return tables with groups that are cut by the values in cells of train alone, and the names over which they now are.

    Which cells are in train was drawn with groups cut by all values: this moves values across the edges of groups, never
    from one part of the split to another.

    Args:
        workspace: where the tables are.
        names: what cells are numbers of.
        tables: those of the import.
        seen: bool[columns, rows] for each, which cells are in train.
    """
    cut = [_cut(workspace, number, table, mask) for number, (table, mask) in enumerate(zip(tables, seen, strict=True))]
    used = np.zeros(len(names), np.bool_)
    called: set[str] = set()
    for table, groups in zip(tables, cut, strict=True):
        for index, column in enumerate(table.columns):
            ids = table.cells[index]
            if index in groups:
                one, numbers = groups[index]
                ids = ids[(ids >= 0) & (numbers < 0)]  # NULL, where that is a value
                called.update(column.prefix + name for name in (one.bins.names if one.bins else ()))
            used[ids[ids >= 0]] = True
    kept = names.chosen(used)
    found = kept.union(Vocabulary(called))
    moved = np.full(len(names) + 1, EMPTY, np.int32)  # the last one is of a gap
    moved[:-1][used] = found.ids(kept)
    return found, [_renumbered(table, groups, found, moved) for table, groups in zip(tables, cut, strict=True)]


def _cut(workspace: Workspace, number: int, table: NumberedTable, seen: Bool) -> dict[int, tuple[CellColumn, Ids]]:
    """Return by index the columns that are cut again, with the number of the group of each row, -1 for none."""
    staged = table.staged
    wanted = {
        index: one
        for index, one in enumerate(table.columns)
        if one.bins is not None and seen[index].any() and (seen[index] != (table.cells[index] >= 0)).any()
    }
    found, beside = {}, f"train_{number}"
    if not wanted:
        return {}
    workspace.copy({f"c{index}_seen": seen[index] for index in wanted}, f"CREATE TABLE {beside} AS", staged.table.name)
    for index, one in wanted.items():
        bins = cut_bins(workspace, staged, one.column, table.groups[one.column], f"{beside}.c{index}_seen")
        column, kind = staged.view_columns[one.column], staged.types[one.column]
        text = group_of(column, kind, bins.edges, [literal(one.prefix + name) for name in bins.names])
        group = group_of(column, kind, bins.edges, [str(number) for number in range(len(bins.names))])
        numbers = workspace.arrays(f"SELECT coalesce({group}, -1) AS g FROM {staged.view}", staged.table.name)["g"]  # noqa: S608
        found[index] = replace(one, bins=bins, text=text), np.asarray(numbers, np.int32)
    workspace.run(f"DROP TABLE {beside}")
    return found


def _renumbered(
    table: NumberedTable, groups: dict[int, tuple[CellColumn, Ids]], names: Vocabulary, moved: Ids
) -> NumberedTable:
    """Return a table over other names, some of its columns in other groups."""
    columns, cells = list(table.columns), np.empty_like(table.cells)
    for index, own in enumerate(table.cells):
        cells[index] = moved[own]
        if index in groups:
            one, numbers = groups[index]
            ids = names.ids([one.prefix + name for name in (one.bins.names if one.bins else ())])
            cells[index] = np.where(numbers >= 0, ids[numbers], cells[index])
            columns[index] = one
    return replace(table, columns=columns, cells=cells)
