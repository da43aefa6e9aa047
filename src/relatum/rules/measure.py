"""How the observed tuples of views and of their unions and differences meet those of a head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from relatum.data.vocabulary import Ids
from relatum.rules.keys import Keys, found_in
from relatum.rules.search import Store
from relatum.rules.view import View

__all__ = ["Head", "Measured", "measure"]


class Head:
    """A set of tuples, sorted by key, that bodies are compared with."""

    def __init__(self, store: Store, relation: int, columns: Ids) -> None:
        keys = store.keys.of(columns)
        order = np.argsort(keys)
        self.relation, self.columns, self.keys = relation, columns[:, order], keys[order]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Measured:
    """A view, and where its observed tuples are.

    Attributes:
        view: the view.
        reasons: for each tuple of the head, how many rows of the view's relation give it.
        outside: the sorted keys of the view's other tuples.
        rows: for each of these, a row that gives it.
    """

    view: View
    reasons: npt.NDArray[np.int64]
    outside: Keys
    rows: npt.NDArray[np.int64]

    @cached_property
    def support(self) -> int:
        """How many tuples are both in the head and in the view."""
        return int(np.count_nonzero(self.reasons))

    @property
    def size(self) -> int:
        """How many tuples the view has."""
        return self.support + len(self.outside)


def measure(view: View, head: Head, store: Store) -> Measured:
    """Return where the tuples of a view are."""
    columns = view.columns(store.columns_of(view.relation))
    keys, first, counts = np.unique(store.keys.of(columns), return_index=True, return_counts=True)
    inside, places = found_in(keys, head.keys)
    reasons = np.zeros(len(head), np.int64)
    reasons[places[inside]] = counts[inside]
    return Measured(view, reasons, keys[~inside], first[~inside])
