"""A split by time: what happened last is held out, and nothing in training is later than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relatum.arrays import Float64
from relatum.data.hypergraph import Hypergraph
from relatum.data.splitting import Parts
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError
from relatum.tables.cells import CellColumn
from relatum.tables.engine import Workspace
from relatum.tables.facts import TableFacts
from relatum.tables.staging import Staged

__all__ = ["parts_by_time", "read_times", "times_through"]


def read_times(workspace: Workspace, staged: Staged, column: str) -> Float64:
    """Return when each row of a table is from, as numbers that rise with time; NaN where there is none."""
    kind = staged.profiles[column].kind
    if kind not in ("number", "date"):
        raise DataError(f"time: {staged.table.name}.{column} holds neither dates nor numbers")
    name = staged.view_columns[column]
    number = f"epoch(CAST({name} AS TIMESTAMP))" if kind == "date" else f"CAST({name} AS DOUBLE)"
    sql = f"SELECT coalesce({number}, 'nan'::DOUBLE) AS moment FROM {staged.view}"  # noqa: S608
    moments = np.asarray(workspace.arrays(sql, staged.table.name)["moment"], np.float64)
    if np.isnan(moments).all():
        raise DataError(f"time: {staged.table.name}.{column} is empty in every row")
    return moments


def times_through(cells: Ids, keys: Ids, times: Float64) -> Float64:
    """Return the times of rows that refer to other rows: `cells` to the one of `keys` that is the same."""
    order = np.argsort(keys, kind="stable")
    index = np.minimum(np.searchsorted(keys[order], cells), len(keys) - 1)
    found = times[order[index]]
    return np.where((cells >= 0) & (keys[order[index]] == cells), found, np.nan)


def parts_by_time(
    graph: Hypergraph,
    names: Vocabulary,
    tables: Sequence[tuple[Sequence[TableFacts], Sequence[CellColumn], Ids]],
    times: Mapping[int, Float64],
    valid: float,
    test: float,
) -> Parts:
    """Return in which part each fact is, block after block, by the first row that says it; -1 where no row has a time.

    Args:
        graph: the facts, each once.
        names: what the cells of tables are numbers of.
        tables: the relations, columns and cells of each.
        times: of the rows of some tables, by their number.
        valid: the share of rows that valid is to have, those before test.
        test: the share of the last rows.
    """
    every = np.concatenate(list(times.values()))
    begin, late = np.nanquantile(every, [1 - valid - test, 1 - test])
    first: dict[tuple[int, ...], float] = {}
    numbers = np.full(len(names), -1, np.int32)
    there = names.ids(graph.entities)
    numbers[there] = np.arange(len(there))
    for number, moments in times.items():
        facts, listed, cells = tables[number]
        for one in facts:
            relation, columns = graph.schema.id(one.schema.name), cells[one.indices(listed)]
            known = np.flatnonzero((columns >= 0).all(axis=0) & ~np.isnan(moments))
            rows = numbers[columns[:, known]].T.tolist()
            for row, moment in zip(rows, moments[known].tolist(), strict=True):
                fact = (relation, *row)
                if moment < first.get(fact, np.inf):
                    first[fact] = moment
    found = []
    for block in graph.blocks.values():
        moments = np.array([first.get(tuple(fact), np.nan) for fact in np.stack(block.rows).T.tolist()])
        part = np.where(moments > late, 2, np.where(moments > begin, 1, 0))
        found.append(np.where(np.isnan(moments), -1, part).astype(np.int8))
    return np.concatenate(found)
