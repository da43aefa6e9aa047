"""How the relations of a synthetic dataset were derived: JSON beside the data, with expressions that `algebra` can parse.

`derivations.json` is ours. The published REL-ER has `ops-logs.txt`, which ends in two JSON lines, relation to depth and
relation to last operation; it does not say what the operations were applied to, so its derivations have no expression.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

from relatum.artefacts import Within, read
from relatum.errors import DataError, FormatError
from relatum.files import document, read_document, read_whole, write_bytes

ELEMENTARY = "elementary"
OPERATIONS = ("rename", "project", "select", "union", "difference")  # the five of the paper, as people say them
DERIVATIONS = "derivations.json"

_FORMAT, _VERSION = "relatum-derivations", 1
_PUBLISHED_NAMES = {"setd": "difference"}

DERIVATION_FILES = (DERIVATIONS, "ops-logs.txt")  # where they can be, the first before what was published


@dataclass(frozen=True, slots=True)
class Derivation:
    """How one relation came to be."""

    operation: str  # the last operation, one of `OPERATIONS`, or `ELEMENTARY`
    # how many operations stand one above the other; 0 for an elementary relation
    depth: Annotated[int, Within(0, 1_000_000)]
    # the whole expression over elementary relations, as `algebra.parse` reads it; None if it is not known
    expression: str | None = None

    def __post_init__(self) -> None:
        if self.operation not in (ELEMENTARY, *OPERATIONS):
            raise DataError(
                "damaged-file", f"operation {self.operation!r} is not one of {', '.join((ELEMENTARY, *OPERATIONS))}"
            )
        if (self.depth == 0) != (self.operation == ELEMENTARY):
            raise DataError(
                "damaged-file",
                f"{self.operation} cannot have depth {self.depth}: elementary relations, and only they, have 0",
            )


class _File(TypedDict):
    about: dict[str, Any]
    relations: dict[str, Derivation]


def derivations_document(derivations: Mapping[str, Derivation], about: Mapping[str, Any] | None = None) -> bytes:
    """Return what stands in `derivations.json`; `about` says how the dataset was made."""
    relations = {name: asdict(derivation) for name, derivation in sorted(derivations.items())}
    return document(_FORMAT, _VERSION, {"about": dict(about or {}), "relations": relations})


def save_derivations(folder: Path, derivations: Mapping[str, Derivation]) -> None:
    """Write `derivations.json` into a dataset's folder, atomically."""
    write_bytes(folder / DERIVATIONS, derivations_document(derivations))


def read_derivations(path: Path) -> dict[str, Derivation]:
    """Return the derivations in one of `DERIVATION_FILES`, by relation; nothing if it is somebody else's of that name."""
    if path.name == DERIVATIONS:
        return read_document(path, _FORMAT, _VERSION, _build) if _FORMAT.encode() in read_whole(path) else {}
    content = read_whole(path)
    try:
        return _read_published(content.decode())
    except (DataError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise FormatError("damaged-file", path, None, f"damaged or foreign derivations: {error}") from None


def _build(content: dict[str, Any]) -> dict[str, Derivation]:
    found: dict[str, Derivation] = read(_File, content)["relations"]
    return found


def _read_published(text: str) -> dict[str, Derivation]:
    # Only the last two lines count: the log above them also tells of operations whose result was empty and thrown away.
    lines = text.strip().splitlines()[-2:]
    if len(lines) < 2:
        raise DataError("damaged-file", "it should end in two JSON lines, relation to depth and relation to operation")
    depths, operations = map(json.loads, lines)
    named = {name: _PUBLISHED_NAMES.get(operation, operation) for name, operation in operations.items()}
    return {
        name: read(Derivation, {"operation": named.get(name, ELEMENTARY), "depth": depth, "expression": None})
        for name, depth in depths.items()
    }
