"""Views that share tuples with a head: columns of other relations, and conditions that bring them nearer to it."""

from __future__ import annotations

from relatum.rules.conditions import with_conditions
from relatum.rules.keys import found_in
from relatum.rules.measure import Head
from relatum.rules.search import Store
from relatum.rules.view import View

__all__ = ["candidates"]

_COVERED = 0.1  # the least share of the head's tuples that a view has, or else
_INSIDE = 0.3  # the least share of a relation's rows that a view has in the head


def candidates(head: Head, store: Store, avoiding: Head | None = None) -> list[View]:
    """Return views that have a good part of a head's tuples, or a good part of whose tuples are the head's.

    Where there are tuples to avoid, conditions are chosen so as to avoid them; else, to avoid all that is not the head's.
    """
    found = []
    for view in store.search(head.columns, covered=_COVERED, inside=_INSIDE, without=head.relation):
        found.append(view)
        columns = store.columns_of(view.relation)
        if len(view.places) < len(columns):
            keys = store.keys.of(columns[list(view.places)])
            wanted, _ = found_in(keys, head.keys)
            unwanted = ~wanted if avoiding is None else found_in(keys, avoiding.keys)[0]
            found += with_conditions(view, columns, wanted, unwanted)
    return list(dict.fromkeys(found))
