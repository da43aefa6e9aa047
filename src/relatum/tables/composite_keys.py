"""Keys of several columns that no source declares, found in the values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int64
from relatum.tables.engine import Workspace
from relatum.tables.options import ColumnRef
from relatum.tables.profile import Profile, is_called_like_code, is_called_like_year
from relatum.tables.staging import Staged

__all__ = ["find_key", "with_composite_key"]

_LEAST_ROWS, _MOST_ROWS = 100, 1_000_000
_COLUMNS = 10  # that may be part of a key: those that refer elsewhere first
_TOGETHER = 4  # columns of a key, at most
_WORDS = 3  # of a text that may be part of a key, at most
_FEW = 32  # different whole numbers that are no measure, whatever they are called
_FIRST = 20_000  # rows that rule most sets of columns out
_LOOKED = 60  # sets of columns of one size that all rows are looked at for
_BY_ACCIDENT = 20.0  # pairs of rows that would be alike by accident, at least, if it is to say anything that none are


def with_composite_key(workspace: Workspace, staged: Staged, linked: Iterable[ColumnRef] = ()) -> Staged:
    """Return a table with a primary key: its own, or the fewest columns that no two rows are alike in.

    Args:
        workspace: where the table is.
        staged: the table.
        linked: columns that refer to others by option.
    """
    table = staged.table
    if table.primary_key or table.unique_keys or table.is_facts or not _LEAST_ROWS <= staged.rows <= _MOST_ROWS:
        return staged
    refer = {column for reference in table.references for column in reference.columns}
    refer |= {column for name, column in linked if name == table.name}
    able = [name for name, profile in staged.profiles.items() if _may_be_part(name, profile, name in refer)]
    able = sorted(able, key=lambda name: _rank(name, staged.profiles[name], name in refer))[:_COLUMNS]
    if len(able) < 2:
        return staged
    chosen = ", ".join(f"hash({staged.view_columns[name]}) AS v{index}" for index, name in enumerate(able))
    arrays = workspace.arrays(f"SELECT {chosen} FROM {staged.view}", table.name)  # noqa: S608
    key = find_key([np.unique(arrays.pop(f"v{index}"), return_inverse=True)[1] for index in range(len(able))])
    if not key:
        return staged
    names = tuple(column.name for column in table.columns if column.name in {able[index] for index in key})
    return replace(staged, table=replace(table, primary_key=names, is_key_found=True))


def _may_be_part(name: str, profile: Profile, refers: bool) -> bool:
    """Return whether a column could be part of a key: one without gaps that is no measure."""
    if profile.nulls or not 1 < profile.distinct < profile.rows:
        return False
    if profile.kind == "number":
        called = is_called_like_code(name) or is_called_like_year(name)
        return refers or (profile.is_whole and not profile.is_times and (called or profile.distinct <= _FEW))
    return refers or profile.words <= _WORDS


def _rank(name: str, profile: Profile, refers: bool) -> int:
    """Return how far back a column comes among those that could be part of a key."""
    if refers:
        return 0
    if is_called_like_code(name) or is_called_like_year(name):
        return 1
    return 2 if profile.kind == "date" else 3


def find_key(columns: Sequence[npt.NDArray[np.integer]]) -> tuple[int, ...]:
    """Return the indices of the fewest columns that no two rows are alike in, the first such; () if there are none.

    In few rows many columns are never alike. So there is a column of the key that would be the same in some rows which are
    alike in the others, if it had nothing to do with them: at least as often as `_BY_ACCIDENT`.

    Args:
        columns: numbers from 0 up for each row, equal where the values are; those that are most likely part of a key first.
    """
    ranks = [np.asarray(one, np.int64) for one in columns]
    sizes = [int(one.max()) + 1 if len(one) else 0 for one in ranks]
    same = [_alike(one) / max(1.0, len(one) * (len(one) - 1) / 2) for one in ranks]
    for count in range(2, min(_TOGETHER, len(ranks)) + 1):
        looked = 0
        for key in sorted(combinations(range(len(ranks)), count), key=sum):
            if np.prod([float(sizes[index]) for index in key]) < len(ranks[0]):
                continue
            if _alike(_together([ranks[index][:_FIRST] for index in key])):
                continue
            looked += 1
            if looked > _LOOKED:
                break
            if _alike(_together([ranks[index] for index in key])):
                continue
            others = [_alike(_together([ranks[other] for other in key if other != index])) for index in key]
            if max(pairs * same[index] for pairs, index in zip(others, key, strict=True)) >= _BY_ACCIDENT:
                return key
    return ()


def _together(columns: Sequence[Int64]) -> Int64:
    """Return numbers that are equal where all columns are."""
    found = columns[0]
    for one in columns[1:]:
        dense = np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.int64)
        found = dense * (int(one.max()) + 1) + one
    return found


def _alike(numbers: Int64) -> float:
    """Return how many pairs of rows have the same number."""
    counts = np.unique(numbers, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())
