"""Values become numbers: names for all of them, sorted, and for every table the number of the name in each cell.

Groups of numbers and dates are cut by what is in train, so that held-out values do not say where to cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from relatum.arrays import Bool
from relatum.data.row_store import EMPTY, Bins, TableColumn, ValueType
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError
from relatum.tables.columns import ColumnPlan
from relatum.tables.engine import Workspace, literal
from relatum.tables.source import kind_of
from relatum.tables.staging import Staged
from relatum.tables.values import NULL, text_of

_PARTS = {"year": "year({})", "month": "month({})", "weekday": "dayname({})"}
_TOGETHER = 64  # columns whose cells are numbered in one statement
_LINES = 1 << 16  # names that come as one text, which has less than 4 GiB


@dataclass
class NumberedTable:
    """A table with the columns whose values become entities, and its cells once they are numbers."""

    staged: Staged  # the table in the workspace
    columns: list[TableColumn]  # those that become entities, dates with their parts behind them
    groups: Mapping[str, int]  # into how many groups of values columns are to be cut, by name; 0 for none
    cells: Ids = field(default_factory=lambda: np.empty((0, 0), np.int32))  # int32[columns, rows]


def planned_columns(
    workspace: Workspace, staged: Staged, plans: Mapping[str, ColumnPlan], types: Mapping[str, str | None]
) -> list[TableColumn]:
    """Return the columns of a table that become entities, in order; dates with their parts behind them.

    `types` has what stands before the names of a column's entities, if anything.
    """
    found = []
    for name, plan in plans.items():
        if not plan.is_taken:
            continue
        profile = staged.profiles[name]
        bins = cut_bins(workspace, staged, name, plan.bins) if plan.bins else None
        value_type: ValueType
        if plan.bins:
            value_type = "date" if profile.kind == "date" else "number"
        else:
            value_type = "text" if profile.kind != "number" else "whole" if profile.is_whole else "number"
        generated = staged.table.column(name).is_generated
        found.append(TableColumn(name, types[name] or "", value_type, bins=bins, is_generated=generated))
        if plan.bins and staged.types[name].startswith(("DATE", "TIMESTAMP")):
            found += _date_parts(workspace, staged, name, list(plans))
    return found


def _date_parts(workspace: Workspace, staged: Staged, name: str, taken: list[str]) -> list[TableColumn]:
    """Return the year, month and weekday of a column of dates, as far as they differ."""
    counted = ", ".join(f"count(DISTINCT {part.format(staged.view_columns[name])})" for part in _PARTS.values())
    counts = workspace.one(f"SELECT {counted} FROM {staged.view}", staged.table.name)  # noqa: S608
    return [
        TableColumn(f"{name}.{part}", part, "text" if part == "weekday" else "whole", part_of=name)
        for part, count in zip(_PARTS, counts, strict=True)
        if count > 1 and f"{name}.{part}" not in taken
    ]


def check_columns(staged: Staged, columns: Iterable[TableColumn]) -> None:
    """Refuse a table in which columns that were numbers or dates at the import have become text."""
    for one in columns:
        name = one.part_of or one.name
        profile = staged.profiles.get(name)
        if profile is None or (one.part_of is None and one.bins is None):
            continue
        if profile.kind not in ("number", "date") and profile.present:
            raise DataError(
                "other-tables",
                "holds text now, and held numbers or dates at the import",
                place=f"{staged.table.name}.{name}",
            )


def name_of(staged: Staged, one: TableColumn, null_is_value: bool) -> str:
    """Return the name of a value's entity as SQL over the table's view; NULL where there is no value, or no column."""
    source, prefix = one.part_of or one.name, _prefix(one)
    column, kind = staged.view_columns.get(source), staged.types.get(source, "")
    if column is None:
        text = "CAST(NULL AS VARCHAR)"
    elif one.part_of is not None:
        return f"{literal(prefix)} || CAST({_PARTS[one.entity_type].format(column)} AS VARCHAR)"
    elif one.bins is not None:
        text = group_of(column, kind, one.bins.edges, [literal(prefix + name) for name in one.bins.names])
    else:
        text = f"{literal(prefix)} || {text_of(column, kind)}"
    return f"coalesce({text}, {literal(prefix + NULL)})" if null_is_value and one.part_of is None else text


def _prefix(one: TableColumn) -> str:
    """Return what the names of a column's entities begin with."""
    return f"{one.entity_type}:" if one.entity_type else ""


def cut_bins(workspace: Workspace, staged: Staged, name: str, count: int, seen: str = "") -> Bins:
    """Return the groups of a column by its quantiles, as many as `count` at most; equal values are in one group.

    Only rows that `seen` is true of say where to cut, a column of the table of that name that stands beside the table's own
    rows. The first and the last group are open: values beyond those that were seen are in them.
    """
    column, kind, table = staged.view_columns[name], staged.types[name], staged.table.name
    source, where = staged.view, f"{column} IS NOT NULL"
    if seen:
        source, where = f"{staged.view} POSITIONAL JOIN {seen.partition('.')[0]}", f"{where} AND {seen}"
    shares = ", ".join(f"{part / count!r}" for part in range(1, count))
    cuts = (
        f"SELECT CAST(quantile_disc({column}, [{shares}]) AS VARCHAR[]), CAST(max({column}) AS VARCHAR) FROM {source}"  # noqa: S608
        f" WHERE {where}"
    )
    edges, greatest = workspace.one(cuts, table)
    kept = [edge for edge in dict.fromkeys(edges or ()) if edge != greatest]
    extremes = (text_of(f"{one}({column})", kind) for one in ("min", "max"))
    middle = text_of(f"quantile_disc({column}, 0.5)", kind)
    group = group_of(column, kind, kept, [str(number) for number in range(len(kept) + 1)])
    query = f"SELECT {group} AS g, {', '.join(extremes)}, {middle} FROM {source} WHERE {where}"  # noqa: S608
    rows = workspace.rows(f"{query} GROUP BY 1 ORDER BY 1", table)
    return Bins(tuple(kept), *(tuple(str(row[index]) for row in rows) for index in (1, 2, 3)))


def group_of(column: str, kind: str, edges: Sequence[str], outcomes: Sequence[str]) -> str:
    """Return the outcome of the group that a value is in: one for each edge that it is not above, and the last."""
    pairs = zip(edges, outcomes, strict=False)
    steps = (f"WHEN {column} <= CAST({literal(edge)} AS {kind}) THEN {outcome}" for edge, outcome in pairs)
    return f"CASE WHEN {column} IS NULL THEN NULL {' '.join(steps)} ELSE {outcomes[-1]} END"


def number_cells(workspace: Workspace, tables: Sequence[NumberedTable], null_is_value: bool) -> Vocabulary:
    """Give each table the numbers of its cells, and return the names of all entities, sorted.

    Each different value of a column is named once. Values have codes, the numbers of an enumeration of the column's own in
    the workspace, that are looked up in one pass over the rows, in their order; so this is linear in rows and columns, no
    row is moved, and no value of a row becomes one of Python.
    """
    workspace.run("CREATE TABLE all_names (name VARCHAR)")
    keys_of: list[list[str]] = []
    for number, table in enumerate(tables):
        keys_of.append([])
        for index, one in enumerate(table.columns):
            keys, what = f"keys_{number}_{index}", table.staged.table.name
            name = name_of(table.staged, one, null_is_value)
            key, rows = _key_of(table.staged, one, name)
            keys_of[number].append(key)
            workspace.run(f"CREATE TABLE {keys} AS SELECT DISTINCT {key} AS key, {name} AS name FROM {rows}", what)  # noqa: S608
            workspace.run(f"INSERT INTO all_names SELECT DISTINCT name FROM {keys} WHERE name IS NOT NULL", what)  # noqa: S608
    workspace.run(
        "CREATE TABLE names AS SELECT name, row_number() OVER (ORDER BY name) - 1 AS number "
        "FROM (SELECT DISTINCT name FROM all_names) ORDER BY name"
    )
    workspace.run("DROP TABLE all_names")
    for number, table in enumerate(tables):
        staged = table.staged
        table.cells = np.empty((len(table.columns), staged.rows), np.int32)
        for start in range(0, len(table.columns), _TOGETHER):
            some = range(start, min(start + _TOGETHER, len(table.columns)))
            numbers = {index: _numbers_of_codes(workspace, f"{number}_{index}", staged.table.name) for index in some}
            chosen = ", ".join(
                f"coalesce(CAST(enum_code(CAST({keys_of[number][index]} AS code_{number}_{index})) AS INTEGER), -1)"
                f" AS i{index}"
                for index in some
            )
            codes = workspace.arrays(f"SELECT {chosen} FROM {staged.view}", staged.table.name)  # noqa: S608
            for index in some:
                table.cells[index] = numbers[index][codes.pop(f"i{index}")]
                workspace.run(f"DROP TYPE code_{number}_{index}")
    names = _vocabulary(workspace)
    workspace.run("DROP TABLE names")
    return names


def _key_of(staged: Staged, one: TableColumn, name: str) -> tuple[str, str]:
    """Return what tells the values of a column apart, as text, and rows with all of them, an expression of FROM.

    Of text and numbers each value is looked at once: equal ones have one name, which in other types they may not have.
    """
    column, kind = staged.view_columns.get(one.name), staged.types.get(one.name, "")
    if column is None or one.bins is not None or one.part_of is not None:
        return name, staged.view
    is_looked_at_once = kind.startswith("ENUM") or kind == "VARCHAR" or kind_of(kind) == "number"
    distinct = f"(SELECT DISTINCT {column} FROM {staged.view})"  # noqa: S608
    return f"CAST({column} AS VARCHAR)", distinct if is_looked_at_once else staged.view


def _numbers_of_codes(workspace: Workspace, column: str, what: str) -> Ids:
    """Return the numbers of the names of a column's codes, whose type is made, and last that of no value."""
    keys = f"keys_{column}"
    ordered = f"SELECT key FROM {keys} WHERE key IS NOT NULL ORDER BY key"  # noqa: S608
    workspace.run(f"CREATE TYPE code_{column} AS ENUM ({ordered})", what)
    found = workspace.arrays(
        f"SELECT key IS NULL AS is_gap, CAST(coalesce(number, {EMPTY}) AS INTEGER) AS number "  # noqa: S608
        f"FROM {keys} LEFT JOIN names USING (name) ORDER BY key NULLS LAST",
        what,
    )
    workspace.run(f"DROP TABLE {keys}")
    numbers: Ids = np.asarray(found["number"], np.int32)
    return numbers if found["is_gap"].any() else np.append(numbers, np.int32(EMPTY))


def _vocabulary(workspace: Workspace) -> Vocabulary:
    """Return the names that were numbered; they come as lines of text, not one by one."""
    total = int(workspace.one("SELECT count(*) FROM names")[0])
    pieces = []
    for first in range(0, total, _LINES):
        some = f"SELECT name FROM names WHERE number BETWEEN {first} AND {first + _LINES - 1} ORDER BY number"  # noqa: S608
        pieces.append(workspace.one(f"SELECT string_agg(name, chr(10)) FROM ({some})")[0].encode())  # noqa: S608
    text = b"\n".join(pieces)
    if text and text.count(b"\n") == total - 1:
        return Vocabulary.parse(text)
    # None at all, or one that is empty or has a line feed: the name of its table or column may hold anything.
    return Vocabulary(row[0] for row in workspace.rows("SELECT name FROM names ORDER BY number"))


def read_labels(workspace: Workspace, staged: Staged, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the text of some columns in every row, with blanks between; empty where there is none."""
    texts = ", ".join(text_of(staged.view_columns[name], staged.types[name]) for name in columns)
    sql = f"SELECT trim(concat_ws(' ', {texts})) AS label FROM {staged.view}"  # noqa: S608
    return tuple(workspace.arrays(sql, staged.table.name)["label"].tolist())


def cut_on_train(
    workspace: Workspace, names: Vocabulary, tables: Sequence[NumberedTable], seen: Sequence[Bool]
) -> Vocabulary:
    """Cut the groups of tables anew by the values in cells of train alone, and return the names over which these now are.

    Which cells are in train was drawn with groups cut by all values: this moves values across the edges of groups, never
    from one part of the split to another.

    `seen` says which cells are in train, bool[columns, rows] for each table.
    """
    cut = [_cut(workspace, number, table, mask) for number, (table, mask) in enumerate(zip(tables, seen, strict=True))]
    used = np.zeros(len(names), np.bool_)
    called: set[str] = set()
    for table, groups in zip(tables, cut, strict=True):
        for index, ids in enumerate(table.cells):
            there = ids >= 0
            if index in groups:
                one, numbers = groups[index]
                there &= numbers < 0  # NULL, where that is a value
                called.update(_names_of_groups(one))
            used[ids[there]] = True
    kept = names.chosen(used)
    found = kept.union(Vocabulary(called))
    moved = np.full(len(names) + 1, EMPTY, np.int32)  # the last one is of a gap
    moved[:-1][used] = found.ids(kept)
    for table, groups in zip(tables, cut, strict=True):
        table.cells = moved[table.cells]
        table.columns = [groups[index][0] if index in groups else one for index, one in enumerate(table.columns)]
        for index, (one, numbers) in groups.items():
            ids = found.ids(_names_of_groups(one))
            table.cells[index] = np.where(numbers >= 0, ids[numbers], table.cells[index])
    return found


def _names_of_groups(one: TableColumn) -> list[str]:
    return [_prefix(one) + name for name in (one.bins.names if one.bins else ())]


def _cut(workspace: Workspace, number: int, table: NumberedTable, seen: Bool) -> dict[int, tuple[TableColumn, Ids]]:
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
        bins = cut_bins(workspace, staged, one.name, table.groups[one.name], f"{beside}.c{index}_seen")
        column, kind = staged.view_columns[one.name], staged.types[one.name]
        group = group_of(column, kind, bins.edges, [str(number) for number in range(len(bins.names))])
        numbers = workspace.arrays(f"SELECT coalesce({group}, -1) AS g FROM {staged.view}", staged.table.name)["g"]  # noqa: S608
        found[index] = replace(one, bins=bins), np.asarray(numbers, np.int32)
    workspace.run(f"DROP TABLE {beside}")
    return found
