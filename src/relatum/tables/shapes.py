"""What the rows of a table become: facts about the entity that a row is, facts over several entities, or both.

The rules, in the order in which they are asked, are those of `docs/own-data.md`; one of them asks which columns determine
which others, as the rows show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from relatum.arrays import Bool
from relatum.data.row_store import EMPTY, Dependency, Shape
from relatum.data.vocabulary import Ids
from relatum.errors import DataError
from relatum.tables.columns import ColumnPlan, Profile, is_called_like_label
from relatum.tables.options import Choices, EntityTypes
from relatum.tables.source import SourceTable

MOST_ROLES = 8  # of a relation whose columns nobody has chosen: more train slowly and mix what does not belong together
_FEW = 50  # different values of a column that is part of an event's fact, where the event has a key of its own
_FEW_GAPS = 0.05  # the share of rows that may lack a value in a column that is part of a fact
_LEAST_ROLES = 2


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the rows of a table become."""

    shape: Shape  # `entity`, `fact` or `both`
    why: str
    key: str | None  # the column of the entity that a row is; None if rows are no entities
    roles: tuple[str, ...]  # the columns of the n-ary facts, in order; none for an `entity`
    about: tuple[str, ...]  # the columns that are facts about the row's entity
    notes: Mapping[str, str]  # what else there is to say about columns, by name


NO_SHAPE = TableShape("fact", "", None, (), (), {})  # as long as nobody has looked


def shape_of(
    table: SourceTable,
    plans: Mapping[str, ColumnPlan],
    profiles: Mapping[str, Profile],
    identity: EntityTypes,
    choices: Choices,
    dependencies: Sequence[Dependency],
) -> TableShape:
    """Return what the rows of a table become."""
    taken = [name for name in choices.columns.get(table.name, plans) if plans[name].is_taken]
    if table.is_facts or table.name in choices.columns:
        return TableShape("fact", "its columns were chosen" if not table.is_facts else "facts", None, tuple(taken), (), {})
    key = table.primary_key[0] if len(table.primary_key) == 1 and table.primary_key[0] in taken else None
    key = None if key is not None and plans[key].bins else key  # a group of values is no key
    wanted = choices.shapes.get(table.name)
    if wanted in ("entity", "both") and key is None:
        raise DataError(
            "no-row-key",
            "the table has no key of one column that its rows are known by",
            place=f"shape {table.name}={wanted}",
        )
    called = [name for name, plan in plans.items() if plan.outcome == "label"]
    called = called if is_called_like_label(called, table.name) else []  # an event may well have a text of its own
    shape, why = (wanted, "by option") if wanted else _chosen(table, key, identity, taken, called)
    if shape == "entity":
        return TableShape(shape, why, key, (), tuple(name for name in taken if name != key), {})
    gappy = {name for name, profile in profiles.items() if profile.nulls > _FEW_GAPS * profile.rows}
    gappy = set() if choices.null_is_value else gappy
    lasting = [name for name in taken if (table.name, name) != choices.time]  # a day that is over comes no more
    roles, notes = _roles(table, key, lasting, plans, profiles, gappy, identity, dependencies)
    about = tuple(name for name in taken if name != key and name not in roles) if key is not None and shape == "both" else ()
    if key is not None and not about:
        shape = "fact"
    return TableShape(shape, why, key if about else None, tuple(roles), about, notes)


def _chosen(
    table: SourceTable, key: str | None, identity: EntityTypes, taken: Sequence[str], called: Sequence[str]
) -> tuple[Shape, str]:
    references = [name for name in taken if (table.name, name) in identity.refers and name != key]
    if key is None:
        listed = " and ".join(table.primary_key)
        if len(table.primary_key) > 1:
            return "fact", f"its key is {listed}{', found in its values' * table.is_key_found}"
        return "fact", f"its key {listed} is left out or in groups" if listed else "no column is a key"
    referring = identity.referred.get((table.name, key), [])
    others = sorted({other for other, _ in referring})
    if others:
        return "entity", f"its key {key} is referred to by {', '.join(others[:3])}{', ...' * (len(others) > 3)}"
    if called:
        return "entity", f"{key} is its key, and its rows are called by {' and '.join(called)}"
    if len(references) >= _LEAST_ROLES:
        return "both", f"an event: it refers to {' and '.join(references)}, and nothing refers to it"
    return "entity", f"{key} is its key, and the other columns describe it"


def _roles(
    table: SourceTable,
    key: str | None,
    taken: Sequence[str],
    plans: Mapping[str, ColumnPlan],
    profiles: Mapping[str, Profile],
    gappy: Set[str],
    identity: EntityTypes,
    dependencies: Sequence[Dependency],
) -> tuple[list[str], dict[str, str]]:
    """Return the columns that are part of the n-ary facts, and why others are not."""
    refer = {name for name in taken if (table.name, name) in identity.refers or name in table.primary_key}
    if table.is_key_found:  # what a key that is declared names belongs to a fact even in groups
        refer = {name for name in refer if not plans[name].bins}
    sure = {(one.columns[0], one.determines) for one in dependencies if one.share == 1.0 and len(one.columns) == 1}
    able, notes = [], {}
    for name in taken:
        profile = profiles.get(name)
        if name == key or profile is None:
            continue
        by = next((other for other in sorted(refer) if (other, name) in sure), None)
        if name not in refer and by is not None:
            notes[name] = f"{by} determines it"
        elif name in gappy:
            notes[name] = "too many gaps for a part of a fact"
        elif name not in refer and plans[name].bins:
            notes[name] = "part of the key, in groups" if name in table.primary_key else "a measure"
        elif name not in refer and key is not None and profile.distinct > _FEW:
            notes[name] = f"more than {_FEW} values"
        else:
            able.append(name)
    spare = [name for name in taken if name != key and name not in able and name in notes]
    while len(able) < _LEAST_ROLES and spare:
        able.append(spare.pop(0))
        notes.pop(able[-1])
    chosen = sorted(able, key=lambda name: name not in refer)[:MOST_ROLES]
    for name in set(able).difference(chosen):
        notes[name] = f"beyond {MOST_ROLES} roles; --columns {table.name}=... chooses them"
    return [name for name in taken if name in chosen], notes


_SAMPLED = 20_000  # rows that show which pairs of columns are worth a look at all rows
_LEAST_SAMPLED = 1_000
_COMPARED = 1 << 29  # cells in all: where there are many columns, fewer rows are drawn
_LIKELY = 0.8  # the share of neighbours in a group that agree, from which on a pair is looked at
_LEAST = 0.95  # the share of rows that have the usual value of their group, if this is a dependency
_ROWS = 10  # in groups of two or more, at least
_WRONG = 0.5  # of what the most frequent value alone gets wrong, at most
_SLACK = 1.5  # how much more may be wrong in a sample
_MOST_COLUMNS = 400


def find_dependencies(cells: Ids, names: list[str], seed: int = 0) -> tuple[Dependency, ...]:
    """Return which single columns determine which others, by the name of the columns; best first.

    Groups of one row say nothing and are left out, so a key determines nothing here: that it does is known.

    `cells` are int32[columns, rows], with gaps; `seed` says which rows are drawn where there are many.
    """
    looked = cells[:_MOST_COLUMNS]
    count, rows = looked.shape
    drawn = min(_SAMPLED, max(_LEAST_SAMPLED, _COMPARED // max(count, 1) ** 2))
    is_sampled = rows > drawn
    some = looked
    if is_sampled:
        some = looked[:, np.sort(np.random.default_rng(seed).choice(rows, drawn, replace=False))]
    usual = [_usual(column) for column in looked]
    found = []
    for first in range(count):
        for second in np.flatnonzero(_likely(some, first)).tolist():
            if is_sampled and not _is_dependency(_share(some[first], some[second])[0], usual[second], _SLACK):
                continue
            share, telling = _share(looked[first], looked[second])
            if telling >= _ROWS and _is_dependency(share, usual[second]):
                found.append(Dependency((names[first],), names[second], float(share), int(telling)))
    return tuple(sorted(found, key=lambda one: (-one.share, -one.rows, one.columns, one.determines)))


def _is_dependency(share: float, usual: float, slack: float = 1.0) -> bool:
    """Return whether so many rows have the usual value of their group that more is behind it than a frequent value."""
    return 1 - share <= slack * min(1 - _LEAST, _WRONG * (1 - usual)) + 1e-12


def _usual(column: Ids) -> float:
    """Return how many of the values of a column are the most frequent one, as a share."""
    there = column[column >= 0]
    return float(np.bincount(there).max() / len(there)) if len(there) else 1.0


def _likely(cells: Ids, first: int) -> Bool:
    """Return for each column whether neighbours agree in it where the rows are sorted by one column."""
    order = np.argsort(cells[first], kind="stable")
    given = cells[first][order]
    same = (given[1:] == given[:-1]) & (given[1:] >= 0)
    if not same.any():
        return np.zeros(len(cells), np.bool_)
    left, right = cells[:, order[1:][same]], cells[:, order[:-1][same]]
    differ = (left != right) & (left != EMPTY) & (right != EMPTY)
    both = np.count_nonzero((left != EMPTY) & (right != EMPTY), axis=1)
    likely: Bool = np.count_nonzero(differ, axis=1) <= (1 - _LIKELY) * both
    likely[first] = False
    return likely


def _share(given: Ids, determined: Ids) -> tuple[float, int]:
    """Return how many of the rows in groups of two or more have the usual value of their group, and how many these are."""
    both = (given >= 0) & (determined >= 0)
    keys = given[both].astype(np.int64) << 32 | determined[both].astype(np.int64)
    pairs, counts = np.unique(keys, return_counts=True)
    groups = pairs >> 32
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])) if len(groups) else np.empty(0, np.int64)
    if not len(starts):
        return 0.0, 0
    sizes, most = np.add.reduceat(counts, starts), np.maximum.reduceat(counts, starts)
    several = sizes > 1
    rows = int(sizes[several].sum())
    return (float(most[several].sum() / rows), rows) if rows else (0.0, 0)
