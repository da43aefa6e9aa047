"""What people call entities: `Rock` for `Genre:1`, from the label column of the table whose rows they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from relatum.data.row_store import RowStore
from relatum.errors import DataError

__all__ = ["Labels"]

_CHOICES = 5  # that are shown where a label means several entities


class Labels:
    """The labels of the entities that are rows of imported tables."""

    def __init__(self, rows: RowStore | None) -> None:
        self._rows = rows

    def of(self, entity: str) -> str | None:
        """Return what an entity is called, or None if it has no label."""
        return self._by_entity.get(entity)

    def named(self, label: str, prefix: str = "") -> list[str]:
        """Return the entities of a label whose names begin with a prefix."""
        return [entity for entity in self._by_label.get(label, ()) if entity.startswith(prefix)]

    def entity(self, label: str, prefix: str, column: str) -> str | None:
        """Return the only entity of a column that a label names, or None; one that names several is refused."""
        found = self.named(label, prefix)
        if len(found) > 1:
            listed = ", ".join(found[:_CHOICES]) + (", ..." if len(found) > _CHOICES else "")
            raise DataError(f"{label!r} could be any of {len(found)} values of {column}: {listed}; say which")
        return found[0] if found else None

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield every entity that has a label, with it."""
        yield from self._by_entity.items()

    @cached_property
    def _by_entity(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for table in self._rows.tables.values() if self._rows is not None else ():
            key = table.schema.row_key
            if table.labels is None or key is None or self._rows is None:
                continue
            for number, label in zip(table.column(key).tolist(), table.labels, strict=True):
                if number >= 0 and label:
                    found[self._rows.names[number]] = label
        return found

    @cached_property
    def _by_label(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entity, label in self._by_entity.items():
            found.setdefault(label, []).append(entity)
        return found
