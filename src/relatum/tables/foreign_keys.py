"""Which columns hold the same entities, and what these are called.

Columns that foreign keys or links join hold the same entities, however many steps lie between them. Such a group is called
after the column that the others lead to: by its table if it is the primary key, else by table and column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relatum.errors import DataError
from relatum.tables.options import Choices, ColumnRef, spoken
from relatum.tables.source import SourceTable

__all__ = ["EntityTypes"]


class EntityTypes:
    """The kinds of entities of an import: `kinds` has one for each column, `refers` and `referred` say why."""

    def __init__(self, tables: Mapping[str, SourceTable], choices: Choices) -> None:
        self.refers: dict[ColumnRef, list[ColumnRef | str]] = {}
        self.referred: dict[ColumnRef, list[ColumnRef]] = {}
        for table in tables.values():
            for place, target in _targets(table, tables, choices):
                self._join(place, target)
        for place, linked in choices.links.items():
            self._join(place, linked)
        places = [(table.name, column.name) for table in tables.values() for column in table.columns]
        self.kinds = self._named(self._groups(places), tables)

    def is_entity(self, place: ColumnRef) -> bool:
        """Return whether a column refers to another, or is referred to."""
        return place in self.refers or place in self.referred

    def _join(self, place: ColumnRef, target: ColumnRef | str) -> None:
        if place != target:
            self.refers.setdefault(place, []).append(target)
            if isinstance(target, tuple):
                self.referred.setdefault(target, []).append(place)

    def _groups(self, places: Iterable[ColumnRef]) -> list[list[ColumnRef | str]]:
        """Return the columns in groups of those that are joined, in any number of steps."""
        parent: dict[ColumnRef | str, ColumnRef | str] = {}

        def root(node: ColumnRef | str) -> ColumnRef | str:
            while (above := parent.setdefault(node, node)) != node:
                parent[node] = parent[above]
                node = above
            return node

        for place in places:
            root(place)
        for place, targets in self.refers.items():
            for target in targets:
                parent[root(place)] = root(target)
        groups: dict[ColumnRef | str, list[ColumnRef | str]] = {}
        for node in list(parent):
            groups.setdefault(root(node), []).append(node)
        return list(groups.values())

    def _named(self, groups: list[list[ColumnRef | str]], tables: Mapping[str, SourceTable]) -> dict[ColumnRef, str]:
        kinds: dict[ColumnRef, str] = {}
        taken: set[str] = set()
        for group in sorted(groups, key=lambda group: sorted(map(str, group))):
            given = sorted(node for node in group if isinstance(node, str))
            places = sorted(node for node in group if isinstance(node, tuple))
            ends = [place for place in places if place not in self.refers] or places  # all refer to others in a circle
            name = given[0] if given else _name(ends[0], tables)
            # A colon ends the kind in the name of an entity. Two kinds of one name, as of a table `a.b` and a column b of
            # table a, must not become one.
            name = name.replace(":", "_")
            while name in taken:
                name += "~"
            taken.add(name)
            kinds.update(dict.fromkeys(places, name))
        return kinds


def _name(place: ColumnRef, tables: Mapping[str, SourceTable]) -> str:
    return place[0] if tables[place[0]].primary_key == (place[1],) else spoken(place)


def _targets(
    table: SourceTable, tables: Mapping[str, SourceTable], choices: Choices
) -> Iterable[tuple[ColumnRef, ColumnRef]]:
    """Yield the columns of a table's foreign keys with what they refer to; one that leads nowhere matters if it is used."""
    for reference in table.references:
        for column, target in zip(reference.columns, reference.targets, strict=True):
            other = tables.get(reference.table)
            if other is not None and any(known.name == target for known in other.columns):
                yield (table.name, column), (other.name, target)
            elif choices.may_take((table.name, column)):
                missing = f"table {reference.table!r}" if other is None else f"column {target!r} of {reference.table!r}"
                place = spoken((table.name, column))
                raise DataError(
                    f"foreign key {place} refers to {missing}, which does not exist; drop {place} to leave it out"
                )
