"""What a column becomes: staged, profiled, and given a role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relatum.errors import DataError
from relatum.tables.engine import Workspace
from relatum.tables.foreign_keys import EntityTypes
from relatum.tables.options import Choices, ColumnRef, full_name
from relatum.tables.source import Kind, Source, SourceTable, kind_of
from relatum.tables.values import cleaned

__all__ = ["ColumnPlan", "Profile", "Staged", "plan_column", "plan_unread_column", "stage"]

_REPEATS = 2  # times that a number or date occurs on average, if it is to be an entity
_MOST_FRACTIONS = 1000  # different numbers with a fraction, if they are to be entities: more of them measure something
_OWN_TEXT = 0.9  # the share of different values from which on a text is taken to be free

Outcome = Literal["entities", "bins", "left out"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What was counted in a column."""

    kind: Kind
    is_whole: bool
    rows: int
    nulls: int
    distinct: int

    @property
    def present(self) -> int:
        """How many rows have a value."""
        return self.rows - self.nulls


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """What becomes of a column, and why; `bins` is the number of groups, if any."""

    outcome: Outcome
    why: str
    bins: int = 0

    @property
    def is_taken(self) -> bool:
        """Whether the column becomes a role."""
        return self.outcome != "left out"


def plan_unread_column(ref: ColumnRef, table: SourceTable, choices: Choices) -> ColumnPlan | None:
    """Return what becomes of a column whatever its values are, or None if they have to be seen."""
    chosen = ref[1] in choices.columns.get(table.name, ())
    if ref in choices.drop:
        if chosen:
            raise DataError(f"{full_name(ref)}: both chosen and dropped")
        return ColumnPlan("left out", "dropped by option")
    if table.name in choices.columns and not chosen:
        return ColumnPlan("left out", "not among the columns chosen")
    column = table.column(ref[1])
    if column.kind == "unreadable":
        if chosen or ref in choices.keep:
            raise DataError(f"{full_name(ref)}: values of type {column.type} are nested or binary and cannot name entities")
        return ColumnPlan("left out", "nested or binary values")
    return None


def plan_column(
    ref: ColumnRef, table: SourceTable, profile: Profile, choices: Choices, identity: EntityTypes, keep_ids: bool
) -> ColumnPlan:
    """Return what becomes of a column whose values have been seen."""
    bins = choices.bins.get(ref)
    if bins is not None:
        if profile.kind not in ("number", "date"):
            raise DataError(f"bins: {full_name(ref)} holds text, which has no order to cut into groups")
        return ColumnPlan("bins", f"{bins} groups of equal size, by option", bins)
    if ref in choices.keep or ref[1] in choices.columns.get(table.name, ()):
        return ColumnPlan("entities", "by option")
    if table.is_facts:
        return ColumnPlan("entities", "part of a fact")
    if not profile.present:
        return ColumnPlan("left out", "no values")
    if 2 * profile.nulls > profile.rows:
        return ColumnPlan("left out", "NULL in more than half of the rows; --keep takes it")
    if identity.is_entity(ref):
        others = identity.refers.get(ref) or identity.referred[ref]
        listed = ", ".join(other if isinstance(other, str) else full_name(other) for other in others)
        return ColumnPlan("entities", f"refers to {listed}" if ref in identity.refers else f"referred to by {listed}")
    return _by_values(ref, table, profile, choices.bins_of_all, keep_ids)


def _by_values(ref: ColumnRef, table: SourceTable, profile: Profile, bins: int | None, keep_ids: bool) -> ColumnPlan:
    own = profile.distinct == profile.present > 1
    if table.primary_key == (ref[1],) or (own and (profile.is_whole or profile.kind == "text")):
        if keep_ids:
            return ColumnPlan("entities", "a value of its own in every row, kept by option")
        is_key = table.primary_key == (ref[1],)
        found = "a primary key that nothing refers to" if is_key else "a value of its own in every row"
        return ColumnPlan("left out", f"{found}; --keep takes it")
    counted = f"{profile.distinct:,} values in {profile.present:,} rows"
    if profile.kind in ("number", "date"):
        measures = profile.kind == "number" and not profile.is_whole and profile.distinct > _MOST_FRACTIONS
        if profile.distinct * _REPEATS <= profile.present and not measures:
            return ColumnPlan("entities", f"repeats: {counted}")
        if bins:
            return ColumnPlan("bins", f"{bins} groups of equal size", bins)
        return ColumnPlan("left out", f"continuous: {counted}; --bins groups it, --keep takes it")
    if profile.distinct > _OWN_TEXT * profile.present and profile.present > 1:
        return ColumnPlan("left out", f"free text: {counted}; --keep takes it")
    return ColumnPlan("entities", f"repeats: {counted}")


_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, slots=True)
class Staged:
    """A table in the workspace, with what becomes of its columns.

    Attributes:
        table: as its source declares it.
        view: the view of its cleaned values.
        view_columns: the column of `view` that holds each column that was looked at, by name.
        types: the DuckDB types of those.
        profiles: what was counted in those.
        plans: what becomes of every column, by name.
        rows: how many rows there are.
    """

    table: SourceTable
    view: str
    view_columns: dict[str, str]
    types: dict[str, str]
    profiles: dict[str, Profile]
    plans: dict[str, ColumnPlan]
    rows: int

    def taken(self, order: list[str] | None = None) -> list[str]:
        """Return the columns that become roles, in the order chosen or in that of the table."""
        return [name for name in order or self.plans if self.plans[name].is_taken]

    def form(self, name: str) -> str:
        """Return whether the entities of a column stand for `whole` numbers, any `number`, or `text`; a group is text."""
        profile = self.profiles[name]
        if profile.kind != "number" or self.plans[name].bins:
            return "text"
        return "whole" if profile.is_whole else "number"


def stage(
    workspace: Workspace,
    source: Source,
    table: SourceTable,
    number: int,
    choices: Choices,
    identity: EntityTypes,
    keep_ids: bool,
) -> Staged:
    """Return a table brought into the workspace, its columns counted and planned."""
    known = {column.name: plan_unread_column((table.name, column.name), table, choices) for column in table.columns}
    seen = [column for column in table.columns if known[column.name] is None]
    raw, view = f"raw_{number}", f"table_{number}"
    source.stage(table, seen, raw)
    described = workspace.describe(raw, table.name)[: len(seen)]
    clean = ", ".join(f"{cleaned(name, kind, workspace.null_text)} AS {name}" for name, kind in described) or "c0"
    workspace.run(f"CREATE VIEW {view} AS SELECT {clean} FROM {raw}")  # noqa: S608
    counts = [f"count({name})" for name, _ in described] + [_is_whole(name, kind) for name, kind in described]
    rows, *found = workspace.one(f"SELECT {', '.join(['count(*)', *counts])} FROM {view}", table.name)  # noqa: S608
    present, whole = found[: len(seen)], found[len(seen) :]
    view_columns, types, profiles, plans = {}, {}, {}, {}
    for column, (name, kind), count, is_whole in zip(seen, described, present, whole, strict=True):
        # One at a time: sets of values of many columns at once may not fit.
        values = f"SELECT DISTINCT {name} FROM {view} WHERE {name} IS NOT NULL"  # noqa: S608
        distinct = workspace.one(f"SELECT count(*) FROM ({values})", table.name)[0]  # noqa: S608
        view_columns[column.name], types[column.name] = name, kind
        profiles[column.name] = Profile(kind_of(kind), is_whole, rows, rows - count, distinct)
    for name, settled in known.items():
        plans[name] = settled or plan_column((table.name, name), table, profiles[name], choices, identity, keep_ids)
    return Staged(table, view, view_columns, types, profiles, plans, rows)


def _is_whole(column: str, duckdb_type: str) -> str:
    """Return the test that a column holds whole numbers only: pandas, for one, keeps those with gaps as floats."""
    if duckdb_type.startswith(_FRACTIONS):
        return f"coalesce(bool_and({column} = floor({column})), false)"
    return "true" if kind_of(duckdb_type) == "number" else "false"
