"""What was fitted on validation facts, read back from plain data: nothing is taken that could not have been written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from relatum.arrays import Float64
from relatum.errors import DataError


def require_version(place: str, data: Any, version: int, terms: Iterable[str] = ()) -> None:
    """Refuse what is no object of a version, or has weights for other terms than these."""
    if not isinstance(data, Mapping):
        raise DataError("damaged-file", "must be a JSON object", place=place)
    if data.get("version") != version or data.get("terms", []) != list(terms):
        reason = f"version {data.get('version')!r} is unknown; this relatum reads {version}"
        raise DataError("other-format", reason, place=place)


def numbers_of(place: str, data: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...] | None]) -> dict[str, Float64]:
    """Return the numbers that stand under some names, each an array of its shape, or of any for None; all are finite."""
    try:
        found = {name: np.array(data[name], np.float64) for name in shapes}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DataError("damaged-file", f"must hold the numbers {', '.join(shapes)}", place=place) from None
    for name, shape in shapes.items():
        if shape is not None and found[name].shape != shape:
            wanted = f"{' by '.join(map(str, shape))} numbers" if shape else "one number"
            raise DataError("damaged-file", f"{name}: must be {wanted}, for the relations that there are", place=place)
        require(place, np.isfinite(found[name]).all(), f"{name}: must be finite")
    return found


def rising_lists(place: str, name: str, listed: Any, count: int) -> Float64:
    """Return so many lists of numbers, equally long, in none of which a number is below the one before."""
    found = numbers_of(place, {name: listed}, {name: None})[name]
    never = found.ndim == 2 and len(found) == count and (np.diff(found) >= 0).all()
    require(place, never, f"{name}: there must be {count} lists, equally long, that never fall")
    return found


def require(place: str, holds: Any, reason: str) -> None:
    """Refuse data of which something does not hold."""
    if not holds:
        raise DataError("damaged-file", reason, place=place)
