"""A split by time: what happened last is held out, and nothing in training is later than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.sorting import differs_from_previous
from relatum.data.splitting import Parts
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError
from relatum.tables.engine import Workspace
from relatum.tables.facts import TableFacts
from relatum.tables.staging import Staged

_NEVER = (np.inf, -1)


def read_times(workspace: Workspace, staged: Staged, column: str) -> Float64:
    """Return when each row of a table is from, as numbers that rise with time; NaN where there is none."""
    kind = staged.profiles[column].kind
    if kind not in ("number", "date"):
        raise DataError("bad-time-column", f"{staged.table.name}.{column} holds neither dates nor numbers", place="time")
    name = staged.view_columns[column]
    number = f"epoch(CAST({name} AS TIMESTAMP))" if kind == "date" else f"CAST({name} AS DOUBLE)"
    sql = f"SELECT coalesce({number}, 'nan'::DOUBLE) AS moment FROM {staged.view}"  # noqa: S608
    moments = np.asarray(workspace.arrays(sql, staged.table.name)["moment"], np.float64)
    if np.isnan(moments).all():
        raise DataError("bad-time-column", f"{staged.table.name}.{column} is empty in every row", place="time")
    return moments


def times_through(cells: Ids, keys: Ids, times: Float64) -> Float64:
    """Return the times of rows that refer to other rows: `cells` to the one of `keys` that is the same."""
    rows = _rows_of(cells, keys)
    return np.where(rows >= 0, times[rows], np.nan)


def _rows_of(cells: Ids, keys: Ids) -> Int64:
    """Return the row whose key each cell is, -1 for none."""
    order = np.argsort(keys, kind="stable")
    found = order[np.minimum(np.searchsorted(keys[order], cells), len(keys) - 1)]
    return np.where((cells >= 0) & (keys[found] == cells), found, -1)


def latest(times: Sequence[Float64], valid: float, test: float) -> list[Ids]:
    """Return in which part rows of several tables are: the last of all are held out; -1 where a row has no time."""
    begin, late = np.nanquantile(np.concatenate(times), [1 - valid - test, 1 - test])
    return [_between(moments, begin, late) for moments in times]


def latest_of_each(moments: Float64, groups: Ids, valid: float, test: float) -> Ids:
    """Return in which part rows of a table are: the last of each group are held out; -1 where a row has no time.

    Of each group at least one row is held out for a part that is to have any, as long as something is left. Rows of one
    moment are in one part, the latest that any of them would be in, and those of a group's first moment in train. So are
    rows without a group, whose number is below 0.
    """
    order = np.lexsort((moments, groups))
    order = order[(groups[order] >= 0) & ~np.isnan(moments[order])]
    found = np.where(np.isnan(moments), -1, 0).astype(np.int32)
    if not len(order):
        return found
    group, moment = groups[order], moments[order]
    begins = np.flatnonzero(differs_from_previous([group]))
    counts = np.diff([*begins, len(order)])
    last, before = (np.maximum(share > 0, np.round(share * counts)) for share in (test, valid))
    after = np.repeat(begins + counts, counts) - np.arange(len(order))  # 1 for the last of a group
    part = np.where(after <= np.repeat(last, counts), 2, np.where(after <= np.repeat(last + before, counts), 1, 0))
    _, numbered = np.unique(moment, return_inverse=True)
    together = np.flatnonzero(differs_from_previous([group, numbered.astype(np.int32)]))
    whole = np.where(np.isin(together, begins), 0, np.maximum.reduceat(part, together))
    found[order] = np.repeat(whole, np.diff([*together, len(order)]))
    return found


def _between(moments: Float64, begin: float, late: float) -> Ids:
    part = np.where(moments > late, 2, np.where(moments > begin, 1, 0))
    return np.where(np.isnan(moments), -1, part).astype(np.int32)


def parts_by_time(
    graph: Hypergraph,
    names: Vocabulary,
    tables: Sequence[tuple[Sequence[TableFacts], Ids]],
    times: Mapping[int, Float64],
    parts: Mapping[int, Ids],
) -> Parts:
    """Return in which part each fact is, block after block, by the first row that says it; -1 where no row has a time.

    `times` and `parts` are of the rows of some tables, by their number.
    """
    first: dict[tuple[int, ...], tuple[float, int]] = {}
    numbers = np.full(len(names), -1, np.int32)
    there = names.ids(graph.entities)
    numbers[there] = np.arange(len(there))
    for number, moments in times.items():
        facts, cells = tables[number]
        for one in facts:
            relation, columns = graph.schema.id(one.schema.name), cells[one.indices]
            known = np.flatnonzero(one.whole(cells) & ~np.isnan(moments))
            rows, when = numbers[columns[:, known]].T.tolist(), zip(moments[known], parts[number][known], strict=True)
            for row, (moment, part) in zip(rows, when, strict=True):
                fact = (relation, *row)
                if moment < first.get(fact, _NEVER)[0]:
                    first[fact] = float(moment), int(part)
    found = [
        first.get(tuple(fact), _NEVER)[1] for block in graph.blocks.values() for fact in np.stack(block.rows).T.tolist()
    ]
    return np.array(found, np.int8)
