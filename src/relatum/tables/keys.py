"""Keys and codes that no source declares, found in the values.

These are what rows are known by, and numbers that are codes, not amounts: what the same number says about other columns, its
neighbours do not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from relatum.arrays import Bool, Float64, Int64
from relatum.tables.columns import Profile, is_called_like_code, is_called_like_key, is_called_like_year
from relatum.tables.engine import Workspace
from relatum.tables.options import ColumnRef
from relatum.tables.staging import Staged

# Of keys of several columns.
_LEAST_ROWS, _MOST_ROWS = 100, 1_000_000
_KEY_COLUMNS = 10  # that may be part of a key: those that refer elsewhere first
_TOGETHER = 4  # columns of a key, at most
_WORDS = 3  # of a text that may be part of a key, at most
_FEW = 32  # different whole numbers that are no measure, whatever they are called, and each an entity
_FIRST_ROWS = 20_000  # rows that rule most sets of columns out
_LOOKED = 60  # sets of columns of one size that all rows are looked at for
_BY_ACCIDENT = 20.0  # pairs of rows that would be alike by accident, at least, if it is to say anything that none are


def with_found_key(staged: Staged, linked: Iterable[ColumnRef] = (), kept: Container[ColumnRef] = ()) -> Staged:
    """Return a table with a primary key: its own, or a column that has a value of its own in every row and looks like one.

    That is one called so, such as `id`, or the first column, but no number without a name unless it is one of those `kept`.
    A column that refers to another one, by a foreign key or as one of those `linked`, is taken for the key only if it is
    called so: in few rows what is linked may well occur once.
    """
    table = staged.table
    if table.primary_key or table.is_facts or staged.rows < 2:
        return staged
    able = [
        name
        for name, profile in staged.profiles.items()
        if profile.could_be_key and profile.words <= 2 and (not _numbers_rows(staged, name) or (table.name, name) in kept)
    ]
    refer = {column for reference in table.references for column in reference.columns}
    refer |= {column for name, column in linked if name == table.name}
    own = [name for name in able if name.lower() in ("id", f"{table.name}_id".lower(), f"{table.name}id".lower())]
    first = [name for name in able if name == table.columns[0].name and name not in refer]
    called = [name for name in able if is_called_like_key(name) and name not in refer]
    chosen = next(iter([*own, *first, *called]), None)
    return staged if chosen is None else replace(staged, table=replace(table, primary_key=(chosen,)))


def _numbers_rows(staged: Staged, name: str) -> bool:
    """Return whether a column is the first of a file, has no name, and holds numbers, as data frames write them."""
    return staged.table.column(name).is_nameless and staged.profiles[name].is_whole


def with_composite_key(workspace: Workspace, staged: Staged, linked: Iterable[ColumnRef] = ()) -> Staged:
    """Return a table with a primary key: its own, or the fewest columns that no two rows are alike in.

    `linked` are the columns that refer to others by option.
    """
    table = staged.table
    if table.primary_key or table.unique_keys or table.is_facts or not _LEAST_ROWS <= staged.rows <= _MOST_ROWS:
        return staged
    refer = {column for reference in table.references for column in reference.columns}
    refer |= {column for name, column in linked if name == table.name}
    able = [name for name, profile in staged.profiles.items() if _may_be_part(name, profile, name in refer)]
    able = sorted(able, key=lambda name: _key_rank(name, staged.profiles[name], name in refer))[:_KEY_COLUMNS]
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


def _key_rank(name: str, profile: Profile, refers: bool) -> int:
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

    `columns` have numbers from 0 up, equal where the values are; those that are most likely part of a key come first.
    """
    ranks = [np.asarray(one, np.int64) for one in columns]
    sizes = [int(one.max()) + 1 if len(one) else 0 for one in ranks]
    same = [_pairs_alike(one) / max(1.0, len(one) * (len(one) - 1) / 2) for one in ranks]
    for count in range(2, min(_TOGETHER, len(ranks)) + 1):
        looked = 0
        for key in sorted(combinations(range(len(ranks)), count), key=sum):
            if np.prod([float(sizes[index]) for index in key]) < len(ranks[0]):
                continue
            if _pairs_alike(_together([ranks[index][:_FIRST_ROWS] for index in key])):
                continue
            looked += 1
            if looked > _LOOKED:
                break
            if _pairs_alike(_together([ranks[index] for index in key])):
                continue
            others = [_pairs_alike(_together([ranks[other] for other in key if other != index])) for index in key]
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


def _pairs_alike(numbers: Int64) -> float:
    """Return how many pairs of rows have the same number."""
    counts = np.unique(numbers, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


# Of codes.
_CODE_REPEATS = 3  # times that each comes on average, at least
_SAMPLED, _LEAST_SAMPLED = 50_000, 1_000  # rows
_COMPARED = 1 << 26  # rows in all pairs of columns
_COMPARED_WITH = 24  # columns that each is compared with
_MOST_PREDICTED = 500  # of a column that is to be predicted
_CELLS = 1 << 22  # of a table of counts
_GROUPS = 20  # that numbers are predicted in, and that a code must beat
_TELLS = 0.05  # of rows predicted right beyond the most frequent value, if a column is predicted at all
_LEAST_PREDICTED = 3  # columns
_GAIN = 0.4  # of rows that the same number tells right and neighbours do not, in one column at least
_NEIGHBOURS = 0.5  # of what the same number tells, at most, in every column that it tells
_REACH = 2  # neighbours on either side


@dataclass(frozen=True, slots=True)
class Code:
    """What shows that numbers are codes: how often the same number, and its neighbours, tell the value of a column."""

    column: str
    same: float
    neighbours: float

    def __str__(self) -> str:
        same, neighbours = f"{self.same:.0%}", f"{self.neighbours:.0%}"
        return f"a code: the same number tells {self.column} in {same} of rows, its neighbours in {neighbours}"


def find_codes(workspace: Workspace, staged: Staged, numbers: Sequence[str], others: Sequence[str]) -> dict[str, Code]:
    """Return those of some columns of numbers that are codes, with what shows it, by name.

    `numbers` are the columns that might be, `others` those whose values they may tell.
    """
    possible = [name for name in numbers if _may_be_code(staged.profiles[name])]
    if not possible or len(others) < _LEAST_PREDICTED:
        return {}
    pairs = len(possible) * min(len(others), _COMPARED_WITH)
    rows = min(_SAMPLED, max(_LEAST_SAMPLED, _COMPARED // pairs))
    sample = _sample(workspace, staged, list(dict.fromkeys([*possible, *others])), rows)
    is_number = {name: staged.profiles[name].kind != "text" and staged.profiles[name].distinct > _FEW for name in others}
    predicted = {name: _grouped(sample[name]) if is_number[name] else sample[name] for name in others}
    found = {}
    for name in possible:
        beside = {other: predicted[other] for other in others if other != name}
        if (code := is_code(sample[name], dict(list(beside.items())[:_COMPARED_WITH]))) is not None:
            found[name] = code
    return found


def is_code(numbers: Int64, others: Mapping[str, Int64]) -> Code | None:
    """Return what shows best that numbers are codes, or None if they are amounts, or nothing shows it.

    Amounts that are close to each other go with much the same values of other columns; codes have no such order. So what the
    same number tells in other rows is held against what the numbers beside it tell, and the group of neighbours it is in.

    `numbers` are ranks, equal where the numbers are, `others` the values of other columns by number; -1 is none.
    """
    predicted, best = 0, None
    for name, values in others.items():
        shares = _predicted(numbers, values)
        if shares is None:
            continue
        same, neighbours, usual = shares
        if same - usual < _TELLS:
            continue
        if neighbours - usual > _NEIGHBOURS * (same - usual):
            return None
        predicted += 1
        if best is None or same - neighbours > best.same - best.neighbours:
            best = Code(name, same, neighbours)
    return best if best is not None and predicted >= _LEAST_PREDICTED and best.same - best.neighbours >= _GAIN else None


def _may_be_code(profile: Profile) -> bool:
    counts = profile.kind == "number" and profile.is_whole and not profile.is_times
    return counts and _FEW < profile.distinct <= profile.present / _CODE_REPEATS


def _sample(workspace: Workspace, staged: Staged, columns: Sequence[str], rows: int) -> dict[str, Int64]:
    """Return the values of columns in some rows as ranks, -1 for none; text and dates by a number that has no order."""
    step = max(1, staged.rows // rows)
    chosen = []
    for index, name in enumerate(columns):
        column, kind = staged.view_columns[name], staged.profiles[name].kind
        value = f"CAST({column} AS DOUBLE)" if kind == "number" else f"CAST(hash({column}) >> 12 AS DOUBLE)"
        if kind == "date":
            value = f"coalesce(TRY_CAST(epoch({column}) AS DOUBLE), {value})"
        chosen.append(f"CASE WHEN {column} IS NULL THEN 'nan'::DOUBLE ELSE {value} END AS v{index}")
    # Which rows these are follows from their numbers alone, and with them nothing from the number of threads.
    numbered = f"SELECT *, row_number() OVER () AS number FROM {staged.view}"  # noqa: S608
    sql = f"SELECT {', '.join(chosen)} FROM ({numbered}) WHERE hash(number) % {step} = 0"  # noqa: S608
    arrays = workspace.arrays(sql, staged.table.name)
    return {name: _ranks(np.asarray(arrays[f"v{index}"], np.float64)) for index, name in enumerate(columns)}


def _ranks(values: Float64) -> Int64:
    there = ~np.isnan(values)
    ranks = np.full(len(values), -1, np.int64)
    ranks[there] = np.unique(values[there], return_inverse=True)[1]
    return ranks


def _dense(ranks: Int64) -> Int64:
    """Return ranks without those that do not occur, in the same order."""
    there = np.bincount(ranks) > 0
    return np.asarray((np.cumsum(there) - 1)[ranks], np.int64)


def _grouped(ranks: Int64) -> Int64:
    """Return the groups of about equal size that ranks are in, -1 for none; equal ones are in one group."""
    there = ranks >= 0
    counts = np.bincount(ranks[there])
    if not len(counts):
        return ranks
    groups = (np.cumsum(counts) - counts) * _GROUPS // counts.sum()
    return np.where(there, groups[ranks], -1)


def _predicted(numbers: Int64, values: Int64) -> tuple[float, float, float] | None:
    """Return in how many rows a value is predicted right by the same number, by its neighbours or group, and by being usual.

    Each row is left out of what tells about it. Only rows whose number comes again count; None if these are too few.
    """
    both = (numbers >= 0) & (values >= 0)
    if np.count_nonzero(both) < _LEAST_SAMPLED // 10:
        return None
    x, v = (_dense(one[both]) for one in (numbers, values))
    size, width = int(x.max()) + 1, int(v.max()) + 1
    if not 1 < width <= _MOST_PREDICTED or size <= _GROUPS or size * width > _CELLS:
        return None
    counts = np.bincount(x * width + v, minlength=size * width).reshape(size, width)
    again: Bool = counts.sum(1)[x] > 1
    if 2 * np.count_nonzero(again) < len(x):
        return None
    shares = counts / counts.sum(1, keepdims=True)
    around = np.zeros_like(shares)
    for distance in range(1, _REACH + 1):
        around[distance:] += shares[:-distance] / distance
        around[:-distance] += shares[distance:] / distance
    groups = _grouped(x)
    in_group = np.zeros((_GROUPS, width), np.int64)
    np.add.at(in_group, (groups, v), 1)
    usual = v == np.bincount(v).argmax()
    rights = (_right(counts, x, v), around.argmax(1)[x] == v, _right(in_group, groups, v), usual)
    same, beside, grouped, frequent = (float(one[again].mean()) for one in rights)
    return same, max(beside, grouped), frequent


def _right(counts: Int64, x: Int64, v: Int64) -> Float64:
    """Return for each row whether its value is the most frequent one of the others of its x; a half if one of two."""
    two = np.partition(counts, -2, axis=1)[:, -2:]
    own = counts[x, v]
    best_other = np.where(own == two[x, 1], two[x, 0], two[x, 1])
    return np.where(own - 1 > best_other, 1.0, np.where((own - 1 == best_other) & (own > 1), 0.5, 0.0))
