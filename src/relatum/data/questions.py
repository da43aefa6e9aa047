"""Facts as questions: a relation, an open position, the entities at the others, and every entity that answers it.

In a file several processes map them, so that what all of them read is in memory once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.sorting import differs_from_previous, row_order
from relatum.data.vocabulary import Ids
from relatum.errors import FormatError
from relatum.tensor_files import map_arrays, write_tensors

_FORMAT, _VERSION = "relatum-questions", 1


@dataclass(frozen=True, eq=False, slots=True)
class Questions:
    """All distinct questions at one position of one relation."""

    relation: int
    position: int  # the position that is open
    # int32[n, arity - 1], the entities at the other positions, in their order; sorted, no two rows are equal
    given: Ids
    answers: Ids  # the answers of question 0, then those of question 1, ..., each ascending
    starts: Int64  # int64[n + 1]: question i has answers[starts[i] : starts[i + 1]]
    related: Ids  # every entity that stands at any position of the relation, ascending

    def __len__(self) -> int:
        return len(self.given)


def questions_of(facts: Hypergraph) -> list[Questions]:
    """Return the questions that facts answer, by relation and position; facts that are equal count once."""
    found = []
    for block in facts.distinct().blocks.values():
        bounds = np.flatnonzero(np.diff(block.relations, prepend=-1, append=-1))
        for start, stop in itertools.pairwise(bounds.tolist()):
            relation, columns = int(block.relations[start]), block.columns[:, start:stop]
            related = np.unique(columns)
            found += [_at(relation, columns, position, related, len(facts.entities)) for position in range(len(columns))]
    return found


def _at(relation: int, columns: Ids, position: int, related: Ids, num_entities: int) -> Questions:
    others = [column for other, column in enumerate(columns) if other != position]
    order = row_order([*others, columns[position]], [num_entities] * len(columns))
    given = np.stack([column[order] for column in others], 1) if others else np.empty((len(order), 0), np.int32)
    answers = columns[position][order]
    first = differs_from_previous([*given.T]) if others else np.arange(len(order)) == 0
    starts = np.append(np.flatnonzero(first), len(order))
    return Questions(relation, position, np.ascontiguousarray(given[first]), answers, starts, related)


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
            "not-shared",
            path,
            None,
            "missing or damaged; on several hosts it must lie in a directory that all of them share",
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
