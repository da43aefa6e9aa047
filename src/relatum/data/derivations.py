"""Where the relations of a made dataset come from: plain text beside the data, which `algebra` can parse.

`provenance.json` is ours. The published REL-ER has `ops-logs.txt`, which ends in two JSON lines, relation to depth and
relation to last operation; it does not say what the operations were applied to, so its derivations have no expression.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from relatum.errors import DataError, FormatError
from relatum.files import atomic_file

__all__ = [
    "ELEMENTARY",
    "OPERATIONS",
    "PROVENANCE",
    "Derivation",
    "find_derivations",
    "load_derivations",
    "save_derivations",
]

ELEMENTARY = "elementary"
OPERATIONS = ("rename", "project", "select", "union", "difference")  # the five of the paper, as people say them
PROVENANCE = "provenance.json"

_PUBLISHED = "ops-logs.txt"
_PUBLISHED_NAMES = {"setd": "difference"}
_FORMAT, _VERSION = "relatum-provenance", 1


@dataclass(frozen=True, slots=True)
class Derivation:
    """How one relation came to be.

    Attributes:
        operation: the last operation, one of `OPERATIONS`, or `ELEMENTARY`.
        depth: how many operations stand one above the other; 0 for an elementary relation.
        expression: the whole expression over elementary relations, as `algebra.parse` reads it; None if it is not known.
    """

    operation: str
    depth: int
    expression: str | None = None

    def __post_init__(self) -> None:
        if self.operation not in (ELEMENTARY, *OPERATIONS):
            raise DataError(f"operation {self.operation!r} is not one of {', '.join((ELEMENTARY, *OPERATIONS))}")
        if not isinstance(self.depth, int) or isinstance(self.depth, bool) or self.depth < 0:
            raise DataError(f"depth {self.depth!r} is not a whole number from 0 up")
        if (self.depth == 0) != (self.operation == ELEMENTARY):
            raise DataError(f"{self.operation} cannot have depth {self.depth}: elementary relations, and only they, have 0")
        if self.expression is not None and not isinstance(self.expression, str):
            raise DataError(f"expression {self.expression!r} is not a text")


def save_derivations(folder: Path, derivations: Mapping[str, Derivation], about: Mapping[str, Any] | None = None) -> None:
    """Write `provenance.json` into a dataset's folder, atomically; `about` says how the dataset was made."""
    relations = {name: asdict(origin) for name, origin in sorted(derivations.items())}
    whole = {"format": _FORMAT, "version": _VERSION, "about": dict(about or {}), "relations": relations}
    with atomic_file(folder / PROVENANCE) as file:
        file.write((json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode())


def load_derivations(folder: str | os.PathLike[str]) -> dict[str, Derivation]:
    """Return the origin of every relation by name, from `provenance.json` or the published REL-ER's `ops-logs.txt`."""
    folder = Path(folder)
    for name, read in ((PROVENANCE, _read_ours), (_PUBLISHED, _read_published)):
        path = folder / name
        if path.is_file():
            try:
                return read(path.read_text(encoding="utf-8"))
            except (DataError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
                reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise FormatError(path, None, f"not a record of provenance: {reason}") from None
    raise DataError(f"{folder}: neither {PROVENANCE} nor {_PUBLISHED} is there, so nobody knows how its relations were made")


def find_derivations(folder: Path) -> dict[str, Derivation]:
    """Return what `load_provenance` does, or nothing where nothing of that kind is there."""
    ours = folder / PROVENANCE
    if ours.is_file() and _FORMAT.encode() not in ours.read_bytes():
        return {}  # somebody else's file of that name
    return load_derivations(folder) if ours.is_file() or (folder / _PUBLISHED).is_file() else {}


def _read_ours(text: str) -> dict[str, Derivation]:
    whole = json.loads(text)
    if (whole["format"], whole["version"]) != (_FORMAT, _VERSION):
        raise DataError(f"format {whole['format']!r}, version {whole['version']!r}; this reads {_FORMAT!r}, {_VERSION}")
    return {name: _naming(name, **fields) for name, fields in whole["relations"].items()}


def _read_published(text: str) -> dict[str, Derivation]:
    # Only the last two lines count: the log above them also tells of operations whose result was empty and thrown away.
    lines = text.strip().splitlines()[-2:]
    if len(lines) < 2:
        raise DataError("it should end in two JSON lines, relation to depth and relation to operation")
    depths, operations = map(json.loads, lines)
    named = {name: _PUBLISHED_NAMES.get(operation, operation) for name, operation in operations.items()}
    return {name: _naming(name, named.get(name, ELEMENTARY), depth) for name, depth in depths.items()}


def _naming(name: str, operation: str, depth: int, expression: str | None = None) -> Derivation:
    """Return an origin; whatever is wrong with it is said with the relation's name."""
    try:
        return Derivation(operation, depth, expression)
    except DataError as error:
        raise DataError(f"relation {name!r}: {error}") from None
