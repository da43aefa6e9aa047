"""From values to ids: DuckDB finds the different values of every column, names and numbers them, and joins them back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relatum.data.vocabulary import Ids, Vocabulary
from relatum.tables.engine import Workspace, literal
from relatum.tables.staging import Staged
from relatum.tables.values import NULL, text_of

__all__ = ["Role", "number_entities", "read_facts", "roles_of"]


@dataclass(frozen=True, slots=True)
class Role:
    """A column that becomes a role: an SQL expression over `view`, the text of its values, and what stands before that.

    `names` is the table of the workspace that has the entity of each value.
    """

    view: str
    value: str
    text: str
    prefix: str
    names: str

    @property
    def is_bin(self) -> bool:
        """Whether the value is the number of a group, which is named after the least and the greatest value in it."""
        return self.value != self.text


def roles_of(
    workspace: Workspace, staged: Staged, kinds: dict[str, str], order: list[str] | None, number: int
) -> list[Role]:
    """Return the roles of a table, in their order; `kinds` has what stands before the names of a column's entities."""
    roles = []
    for place, name in enumerate(staged.taken(order)):
        column, treatment = staged.places[name], staged.treatments[name]
        value = _bin(workspace, staged, name) if treatment.bins else column
        prefix = f"{kinds[name]}:" if name in kinds else ""
        roles.append(Role(staged.view, value, column, prefix, f"names_{number}_{place}"))
    return roles


def _bin(workspace: Workspace, staged: Staged, name: str) -> str:
    """Return the number of the group of a value, from its quantiles; equal values are in one group."""
    column, kind, count = staged.places[name], staged.types[name], staged.treatments[name].bins
    shares = ", ".join(f"{part / count!r}" for part in range(1, count))
    cuts = f"SELECT CAST(quantile_disc({column}, [{shares}]) AS VARCHAR[]) FROM {staged.view}"  # noqa: S608
    edges = dict.fromkeys(workspace.one(cuts, staged.table.name)[0] or ())
    steps = (f"WHEN {column} <= CAST({literal(edge)} AS {kind}) THEN {group}" for group, edge in enumerate(edges))
    return f"CASE WHEN {column} IS NULL THEN NULL {' '.join(steps)} ELSE {count} END"


def number_entities(workspace: Workspace, tables: list[tuple[Staged, list[Role]]], null_is_value: bool) -> Vocabulary:
    """Return the names of all entities, sorted; and leave, for each role, the id of every value in the workspace."""
    for staged, roles in tables:
        lacking = _lacking(staged, roles, null_is_value)
        for role in roles:
            kind = next(staged.types[name] for name, place in staged.places.items() if place == role.text)
            if role.is_bin:
                least, most = (text_of(f"{extreme}({role.text})", kind) for extreme in ("min", "max"))
                name = f"CASE WHEN {least} = {most} THEN {least} ELSE {least} || ' to ' || {most} END"
                query = f"SELECT {role.value} AS value, {name} AS name FROM {role.view} {lacking} GROUP BY 1"  # noqa: S608
            else:
                distinct = f"SELECT DISTINCT {role.value} AS value FROM {role.view} {lacking}"  # noqa: S608
                query = f"SELECT value, {text_of('value', kind)} AS name FROM ({distinct})"  # noqa: S608
            name = f"{literal(role.prefix)} || coalesce(name, {literal(NULL)})"
            workspace.run(f"CREATE TABLE {role.names} AS SELECT value, {name} AS name FROM ({query})", staged.table.name)  # noqa: S608
    every = " UNION ALL ".join(f"SELECT name FROM {role.names}" for _, roles in tables for role in roles)  # noqa: S608
    workspace.run(
        "CREATE TABLE entities AS SELECT name, CAST(row_number() OVER (ORDER BY name) - 1 AS INTEGER) AS id "  # noqa: S608
        f"FROM (SELECT DISTINCT name FROM ({every}))",
        "names",
    )
    names = workspace.arrays("SELECT name FROM entities ORDER BY id", "names")["name"]
    return Vocabulary(names.tolist())


def read_facts(workspace: Workspace, staged: Staged, roles: list[Role], null_is_value: bool) -> Ids:
    """Return the facts of a table as ids, int32[arity, n], in any order, repeats included."""
    joins, ids = [], []
    for place, role in enumerate(roles):
        numbered = f"(SELECT n.value, e.id FROM {role.names} n JOIN entities e USING (name)) j{place}"  # noqa: S608
        joins.append(f"JOIN {numbered} ON j{place}.value IS NOT DISTINCT FROM {role.value}")
        ids.append(f"j{place}.id AS i{place}")
    lacking = _lacking(staged, roles, null_is_value)
    query = f"SELECT {', '.join(ids)} FROM {staged.view} t {' '.join(joins)} {lacking}"  # noqa: S608
    found = workspace.arrays(query, staged.table.name)
    return np.stack([np.asarray(found[f"i{place}"], np.int32) for place in range(len(roles))])


def _lacking(staged: Staged, roles: list[Role], null_is_value: bool) -> str:
    """Return the condition that no value is NULL, as far as it says anything."""
    nulls = {staged.places[name] for name, profile in staged.profiles.items() if profile.nulls}
    tests = [f"{role.text} IS NOT NULL" for role in roles if role.text in nulls]
    return f"WHERE {' AND '.join(tests)}" if tests and not null_is_value else ""
