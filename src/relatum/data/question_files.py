"""Questions in a file, from which several processes map them: what all of them read is in memory once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt

from relatum.data.questions import Questions
from relatum.errors import FormatError
from relatum.tensor_files import map_arrays, write_tensors

__all__ = ["map_questions", "save_questions"]

_FORMAT, _VERSION = "relatum-questions", 1


def save_questions(path: Path, questions: list[Questions]) -> None:
    """Write questions; what stands in a relation is written once for all its positions."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, each in enumerate(questions):
        arrays |= {f"given/{number}": each.given, f"answers/{number}": each.answers, f"starts/{number}": each.starts}
        arrays[f"related/{each.relation}"] = each.related
    write_tensors(path, arrays, _FORMAT, _VERSION, [[each.relation, each.position] for each in questions])


def map_questions(path: Path) -> list[Questions]:
    """Return the questions of a file; they are read when they are touched, and cannot be written."""
    stored = map_arrays(path, _FORMAT, _VERSION, None)
    if stored is None:
        raise FormatError(
            path, None, "missing or damaged; on several hosts it must lie in a directory that all of them share"
        )
    arrays = stored.arrays
    return [
        Questions(
            relation,
            position,
            arrays[f"given/{number}"],
            arrays[f"answers/{number}"],
            arrays[f"starts/{number}"],
            arrays[f"related/{relation}"],
        )
        for number, (relation, position) in enumerate(stored.about)
    ]
