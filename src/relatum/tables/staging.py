"""A table in the workspace: its columns are counted, each gets a treatment, and what is left are its facts."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.tables.choices import Choices
from relatum.tables.engine import Workspace
from relatum.tables.foreign_keys import Identity
from relatum.tables.source import Source, SourceTable, kind_of
from relatum.tables.treatment import Profile, Treatment, treat, treat_unseen
from relatum.tables.values import cleaned

__all__ = ["Staged", "stage"]

_FRACTIONS = ("FLOAT", "DOUBLE", "DECIMAL")


@dataclass(frozen=True, slots=True)
class Staged:
    """A table in the workspace, with what becomes of its columns.

    Attributes:
        table: as its source declares it.
        view: the view of its cleaned values.
        places: the column of `view` that holds each column that was looked at, by name.
        types: the DuckDB types of those.
        profiles: what was counted in those.
        treatments: what becomes of every column, by name.
        rows: how many rows there are.
    """

    table: SourceTable
    view: str
    places: dict[str, str]
    types: dict[str, str]
    profiles: dict[str, Profile]
    treatments: dict[str, Treatment]
    rows: int

    def taken(self, order: list[str] | None = None) -> list[str]:
        """Return the columns that become roles, in the order chosen or in that of the table."""
        return [name for name in order or self.treatments if self.treatments[name].is_taken]

    def form(self, name: str) -> str:
        """Return whether the entities of a column stand for `whole` numbers, any `number`, or `text`; a group is text."""
        profile = self.profiles[name]
        if profile.kind != "number" or self.treatments[name].bins:
            return "text"
        return "whole" if profile.is_whole else "number"


def stage(
    workspace: Workspace,
    source: Source,
    table: SourceTable,
    number: int,
    choices: Choices,
    identity: Identity,
    keep_ids: bool,
) -> Staged:
    """Return a table brought into the workspace, its columns counted and treated."""
    known = {column.name: treat_unseen((table.name, column.name), table, choices) for column in table.columns}
    seen = [column for column in table.columns if known[column.name] is None]
    raw, view = f"raw_{number}", f"table_{number}"
    source.stage(table, seen, raw)
    described = workspace.describe(raw, table.name)[: len(seen)]
    clean = ", ".join(f"{cleaned(name, kind)} AS {name}" for name, kind in described) or "c0"
    workspace.run(f"CREATE VIEW {view} AS SELECT {clean} FROM {raw}")  # noqa: S608
    counts = [f"count({name})" for name, _ in described] + [_is_whole(name, kind) for name, kind in described]
    rows, *found = workspace.one(f"SELECT {', '.join(['count(*)', *counts])} FROM {view}", table.name)  # noqa: S608
    present, whole = found[: len(seen)], found[len(seen) :]
    places, types, profiles, treatments = {}, {}, {}, {}
    for column, (name, kind), count, is_whole in zip(seen, described, present, whole, strict=True):
        # One at a time: sets of values of many columns at once may not fit.
        values = f"SELECT DISTINCT {name} FROM {view} WHERE {name} IS NOT NULL"  # noqa: S608
        distinct = workspace.one(f"SELECT count(*) FROM ({values})", table.name)[0]  # noqa: S608
        places[column.name], types[column.name] = name, kind
        profiles[column.name] = Profile(kind_of(kind), is_whole, rows, rows - count, distinct)
    for name, settled in known.items():
        treatments[name] = settled or treat((table.name, name), table, profiles[name], choices, identity, keep_ids)
    return Staged(table, view, places, types, profiles, treatments, rows)


def _is_whole(column: str, duckdb_type: str) -> str:
    """Return the test that a column holds whole numbers only: pandas, for one, keeps those with gaps as floats."""
    if duckdb_type.startswith(_FRACTIONS):
        return f"coalesce(bool_and({column} = floor({column})), false)"
    return "true" if kind_of(duckdb_type) == "number" else "false"
