"""Numbers that are codes, not amounts: what the same number says about other columns, its neighbours do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.tables.columns import Profile
from relatum.tables.engine import Workspace
from relatum.tables.staging import Staged

_FEW = 32  # different numbers up to which each is an entity anyhow
_REPEATS = 3  # times that each comes on average, at least
_SAMPLED, _LEAST_SAMPLED = 50_000, 1_000  # rows
_COMPARED = 1 << 26  # rows in all pairs of columns
_OTHERS = 24  # columns that each is compared with
_MOST_VALUES = 500  # of a column that is to be predicted
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
    pairs = len(possible) * min(len(others), _OTHERS)
    rows = min(_SAMPLED, max(_LEAST_SAMPLED, _COMPARED // pairs))
    sample = _sample(workspace, staged, list(dict.fromkeys([*possible, *others])), rows)
    is_number = {name: staged.profiles[name].kind != "text" and staged.profiles[name].distinct > _FEW for name in others}
    predicted = {name: _grouped(sample[name]) if is_number[name] else sample[name] for name in others}
    found = {}
    for name in possible:
        beside = {other: predicted[other] for other in others if other != name}
        if (code := is_code(sample[name], dict(list(beside.items())[:_OTHERS]))) is not None:
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
    return counts and _FEW < profile.distinct <= profile.present / _REPEATS


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
    if not 1 < width <= _MOST_VALUES or size <= _GROUPS or size * width > _CELLS:
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
