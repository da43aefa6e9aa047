"""JSON lines, one fact a line: a list, or an object that names its relation under a key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from relatum.datasets.chunks import whole_lines
from relatum.errors import DataError, FormatError
from relatum.tables.engine import BATCH, Workspace
from relatum.tables.source import SourceColumn, SourceTable

__all__ = ["JsonFactsSource"]

Cells = dict[str, str | None]


class JsonFactsSource:
    """One file; a relation is a table, and every value in it names an entity.

    A fact is `["sold", "drew", "alex", "book"]`, `{"relation": "sold", "entities": ["drew", "alex", "book"]}` or
    `{"relation": "sold", "seller": "drew", "buyer": "alex", "item": "book"}`. A role that a line lacks is NULL there.
    """

    def __init__(self, workspace: Workspace, path: Path, relation_key: str, number: int) -> None:
        self.origin = str(path)
        self._workspace, self._path, self._key, self._number = workspace, path, relation_key, number
        self._relations: dict[str, list[str]] = {}  # the columns of each
        self._positional: dict[str, bool] = {}
        waiting: dict[str, list[Cells]] = {}
        for relation, cells in self._facts():
            rows = waiting.setdefault(relation, [])
            rows.append(cells)
            if len(rows) >= BATCH:
                self._store(relation, waiting.pop(relation))
        for relation, rows in waiting.items():
            self._store(relation, rows)
        if not self._relations:
            raise FormatError(path, None, "empty: not one fact")

    def tables(self) -> list[SourceTable]:
        """Return a table for each relation, in the order in which they first occur."""
        return [
            SourceTable(
                name, tuple(SourceColumn(role, "json", "text") for role in roles), (), (), True, self._positional[name]
            )
            for name, roles in self._relations.items()
        ]

    def stage(self, table: SourceTable, columns: Sequence[SourceColumn], target: str) -> None:
        """Make a view of what was read."""
        places = [table.columns.index(column) for column in columns]
        chosen = ", ".join(f"c{place} AS c{number}" for number, place in enumerate(places)) or "NULL AS c0"
        self._workspace.run(f"CREATE VIEW {target} AS SELECT {chosen} FROM {self._stored(table.name)}")  # noqa: S608

    def close(self) -> None:
        """Nothing is held open."""

    def _stored(self, relation: str) -> str:
        return f"json_{self._number}_{list(self._relations).index(relation)}"

    def _store(self, relation: str, rows: list[Cells]) -> None:
        table, roles = self._stored(relation), self._relations[relation]
        self._workspace.run(f"CREATE TABLE IF NOT EXISTS {table} (c0 VARCHAR)")
        for place in range(len(roles)):
            self._workspace.run(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS c{place} VARCHAR")
        self._workspace.append(table, [[row.get(role) for row in rows] for role in roles], self.origin)

    def _facts(self) -> Iterator[tuple[str, Cells]]:
        line = 0
        for chunk in whole_lines(self._path):
            for raw in chunk.split(b"\n")[:-1]:
                line += 1
                if not raw.strip():
                    continue
                try:
                    yield self._fact(raw)
                except UnicodeDecodeError as error:
                    raise FormatError(self._path, line, f"not valid UTF-8 at byte {error.start}") from None
                except RecursionError:
                    raise FormatError(self._path, line, "nested too deeply") from None
                except json.JSONDecodeError as error:
                    raise FormatError(self._path, line, f"not JSON: {error.msg} at character {error.pos}") from None
                except (DataError, ValueError) as error:
                    raise FormatError(self._path, line, str(error)) from None

    def _fact(self, raw: bytes) -> tuple[str, Cells]:
        value = json.loads(raw.decode(), object_pairs_hook=_object, parse_constant=_refuse)
        if isinstance(value, dict) and self._key not in value:
            raise DataError(f"no key {self._key!r} that names the relation (--relation-key says which key does)")
        relation: Any
        rest: Any
        if isinstance(value, list) and value:
            relation, rest = value[0], value[1:]
        elif isinstance(value, dict):
            relation, rest = value.pop(self._key), value
            if len(rest) == 1 and isinstance(only := next(iter(rest.values())), list):
                rest = only
        else:
            raise DataError("a fact is a list that begins with its relation, or an object")
        if not isinstance(relation, str):
            raise DataError(f"relation {relation!r} is not a text")
        if not rest:
            raise DataError(f"relation {relation!r} has no entities")
        is_list = isinstance(rest, list)
        cells = {str(role): _text(relation, role, entity) for role, entity in (enumerate(rest) if is_list else rest.items())}
        return self._known(relation, cells, is_list)

    def _known(self, relation: str, cells: Cells, positional: bool) -> tuple[str, Cells]:
        """Return the fact; its roles are those of the relation from now on."""
        roles = self._relations.setdefault(relation, list(cells))
        if self._positional.setdefault(relation, positional) != positional:
            raise DataError(f"relation {relation!r} has roles in some lines and none in others")
        if positional and len(cells) != len(roles):
            raise DataError(f"relation {relation!r} has {len(cells)} entities here but {len(roles)} in an earlier line")
        roles.extend(role for role in cells if role not in roles)
        return relation, cells


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DataError("an object names a key twice")
    return found


def _refuse(constant: str) -> None:
    raise DataError(f"{constant} is not JSON")


def _text(relation: str, role: object, value: object) -> str | None:
    """Return a value as the name of an entity: numbers in their shortest form."""
    if value is None:
        return None
    if isinstance(value, str):
        value.encode()  # half of a surrogate pair is no character
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    raise DataError(f"{relation!r}, {role!r}: a nested value cannot name an entity")
