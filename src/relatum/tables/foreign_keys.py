"""Which columns hold the same entities, and what these are called.

Columns that foreign keys or links join hold the same entities, however many steps lie between them. Such a group is called
after the column that the others lead to: by its table if it is the key, else by table and column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relatum.errors import DataError
from relatum.tables.options import Choices, ColumnRef, full_name
from relatum.tables.source import SourceTable


class EntityTypes:
    """The entity types of an import: `types` has one for each column, `refers` and `referred` say why."""

    def __init__(self, tables: Mapping[str, SourceTable], choices: Choices) -> None:
        self.refers: dict[ColumnRef, list[ColumnRef | str]] = {}
        self.referred: dict[ColumnRef, list[ColumnRef]] = {}
        self._read = frozenset(choices.tables)
        for table in tables.values():
            for ref, target in _targets(table, tables, choices):
                self._join(ref, target)
        for ref, linked in choices.links.items():
            self._join(ref, linked)
        refs = [(table.name, column.name) for table in tables.values() for column in table.columns]
        self.types = self._named(self._groups(refs), tables)

    def is_entity(self, ref: ColumnRef) -> bool:
        """Return whether a column refers to another, or is referred to."""
        return ref in self.refers or ref in self.referred

    def _join(self, ref: ColumnRef, target: ColumnRef | str) -> None:
        if ref != target:
            self.refers.setdefault(ref, []).append(target)
            if isinstance(target, tuple):
                self.referred.setdefault(target, []).append(ref)

    def _groups(self, refs: Iterable[ColumnRef]) -> list[list[ColumnRef | str]]:
        """Return the columns in groups of those that are joined, in any number of steps."""
        parent: dict[ColumnRef | str, ColumnRef | str] = {}

        def root(node: ColumnRef | str) -> ColumnRef | str:
            while (above := parent.setdefault(node, node)) != node:
                parent[node] = parent[above]
                node = above
            return node

        for ref in refs:
            root(ref)
        for ref, targets in self.refers.items():
            for target in targets:
                parent[root(ref)] = root(target)
        groups: dict[ColumnRef | str, list[ColumnRef | str]] = {}
        for node in list(parent):
            groups.setdefault(root(node), []).append(node)
        return list(groups.values())

    def _named(self, groups: list[list[ColumnRef | str]], tables: Mapping[str, SourceTable]) -> dict[ColumnRef, str]:
        types: dict[ColumnRef, str] = {}
        taken: set[str] = set()
        for group in sorted(groups, key=lambda group: sorted(map(str, group))):
            given = sorted(node for node in group if isinstance(node, str))
            refs = sorted(node for node in group if isinstance(node, tuple))
            ends = [ref for ref in refs if ref not in self.refers] or refs  # all refer to others in a circle
            name = given[0] if given else self._name(ends[0], tables)
            # A colon ends the type in the name of an entity. Two types of one name, as of a table `a.b` and a column b of
            # table a, must not become one.
            name = name.replace(":", "_")
            while name in taken:
                name += "~"
            taken.add(name)
            types.update(dict.fromkeys(refs, name))
        return types

    def _name(self, ref: ColumnRef, tables: Mapping[str, SourceTable]) -> str:
        """Return what the entities of a column are called: after the table if it is the key, else by table and column.

        A key that no source declares is found in the values, so not in a table that is not read. There the only column that
        others refer to is taken to be it, so that its entities are called the same whether or not the table is read.
        """
        key = tables[ref[0]].primary_key
        if not key and ref[0] not in self._read:
            key = tuple(column for table, column in self.referred if table == ref[0])
        return ref[0] if key == (ref[1],) else full_name(ref)


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
                name = full_name((table.name, column))
                raise DataError(
                    "dangling-foreign-key",
                    f"foreign key {name} refers to {missing}, which does not exist",
                    remedy=f"drop {name} to leave it out",
                )
