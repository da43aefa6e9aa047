"""What people call entities: `Rock` for `Genre:1`, from the label column of the table whose rows they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from relatum.data.row_store import RowStore
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError, UnknownNameError

_CHOICES = 5  # that are shown where a name means several entities


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


def named_entity(
    name: str, entities: Vocabulary, labels: Labels, types: Iterable[str | None], column: str | None = None
) -> int:
    """Return the id of the entity that a name means: a whole name, a value alone as it stands in a table, or a label.

    A name is refused that means none, with what is like it, or several. The entities of a `column` alone can be meant.
    """
    prefixes = tuple(f"{one}:" for one in types if one is not None)
    bound = prefixes if column is not None else ()  # what the name must begin with
    if name in entities and (not bound or name.startswith(bound)):
        return entities.id(name)
    found = [prefix + name for prefix in sorted(prefixes) if prefix + name in entities]
    if not found:
        found = [one for one in labels.named(name) if one in entities and (not bound or one.startswith(bound))]
    if len(found) > 1:
        what = "entities" if column is None else f"values of {column}"
        listed = ", ".join(found[:_CHOICES]) + (", ..." if len(found) > _CHOICES else "")
        raise DataError("ambiguous-name", f"{name!r} could be any of {len(found)} {what}: {listed}", remedy="say which")
    if found:
        return entities.id(found[0])
    called = dict.fromkeys(
        label for entity, label in labels.items() if entity.startswith(bound or "") and entity in entities
    )
    if not bound:
        if not called:
            return entities.id(name)  # refuses it
        raise UnknownNameError("entity", name, (*called, *entities))
    if name in entities:
        other = next((prefix + value for prefix in bound if prefix + (value := name.partition(":")[2]) in entities), None)
        hint = "" if other is None else f"; did you mean {other!r}?"
        raise DataError(
            "wrong-entity-type", f"{column} holds entities of type {bound[0][:-1]!r}, and {name!r} is not one{hint}"
        )
    values = (entities[one].removeprefix(prefix) for prefix in bound for one in entities.beginning_with(prefix).tolist())
    raise UnknownNameError(f"value of {column}", name, (*called, *values))
