"""Values of foreign keys and links that the column they refer to does not have."""

from __future__ import annotations

from collections.abc import Mapping

from relatum.tables.choices import Place, spoken
from relatum.tables.engine import Workspace
from relatum.tables.foreign_keys import Identity
from relatum.tables.staging import Staged
from relatum.tables.values import text_of

__all__ = ["dangling"]


def dangling(workspace: Workspace, staged: Mapping[str, Staged], identity: Identity) -> dict[Place, str]:
    """Return, for each column that is taken and has such values, how many: they are entities all the same."""
    notes = {}
    for place, targets in identity.refers.items():
        own = _texts(place, staged)
        for target in targets:
            theirs = _texts(target, staged) if isinstance(target, tuple) else None
            if own is None or theirs is None or not staged[place[0]].treatments[place[1]].is_taken:
                continue
            query = f"SELECT count(*) FROM (({own}) EXCEPT ({theirs}))"  # noqa: S608
            if count := workspace.one(query, place[0])[0]:
                values = "1 value has" if count == 1 else f"{count:,} values have"
                notes[place] = f"{values} no row in {spoken((target[0], target[1]))}"
    return notes


def _texts(place: Place, staged: Mapping[str, Staged]) -> str | None:
    """Return the query for the different values of a column, as text; None if it is not in the workspace."""
    table = staged.get(place[0])
    column = table.places.get(place[1]) if table else None
    if table is None or column is None:
        return None
    text = text_of(column, table.types[place[1]])
    return f"SELECT DISTINCT {text} FROM {table.view} WHERE {column} IS NOT NULL"  # noqa: S608
