"""An index of the names of entities: their whole names, values without type, and labels; found by how they begin or hold."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable
from itertools import islice

import numpy as np

from relatum.arrays import Bool, Int64
from relatum.data.labels import Labels
from relatum.errors import nearest_names

_LAST = "\U0010ffff"
_BETWEEN = "\0"  # no name has one
_HITS = 4000  # starts that are looked at while somebody types


class NameIndex:
    """The names of entities, whatever their case, sorted, and all in one text.

    Args:
        entities: their whole names, in the order of their ids.
        labels: what they are called.
        types: what may stand before a value in their names, the longest first.
    """

    def __init__(self, entities: Iterable[str], labels: Labels, types: Iterable[str]) -> None:
        prefixes = [f"{one}:" for one in types]
        found: list[tuple[str, int]] = []
        for entity, name in enumerate(entities):
            forms = {name.casefold()}
            if prefixes and (prefix := next((one for one in prefixes if name.startswith(one)), None)):
                forms.add(name[len(prefix) :].casefold())
            if (label := labels.of(name)) is not None:
                forms.add(label.replace(_BETWEEN, " ").casefold())
            found += [(form, entity) for form in forms]
        found.sort()
        self._forms = [form for form, _ in found]
        self._entities: Int64 = np.array([entity for _, entity in found], np.int64)
        self._text = _BETWEEN.join(self._forms)
        self._starts: Int64 = np.cumsum([0, *(len(form) + 1 for form in self._forms)])[:-1]

    def search(
        self, text: str, weights: Int64, k: int, allowed: Bool | None = None, most: int | None = _HITS
    ) -> list[tuple[int, str]]:
        """Return up to k entities with how their names fit, the best fit first, and among equals those of most weight.

        Args:
            text: how a name begins, or what it holds.
            weights: of all entities.
            k: how many.
            allowed: the entities that can be found; by default all.
            most: starts in all names that are looked at where a text stands within names; None are all.
        """
        wanted = text.strip().casefold()
        start, stop = bisect_left(self._forms, wanted), bisect_left(self._forms, wanted + _LAST)
        first = bisect_left(self._forms, wanted + "\0", start, stop)  # those that are just this
        best: dict[int, str] = {}
        for grade, low, high in (("exact", start, first), ("prefix", first, stop)):
            self._add(best, grade, self._entities[low:high], weights, k, allowed)
        if len(best) < k and wanted and _BETWEEN not in wanted:
            for grade, entities in self._within(wanted, most).items():
                self._add(best, grade, entities, weights, k, allowed)
        return list(best.items())[:k]

    def alike(self, text: str, k: int, without: Container[int] = ()) -> list[int]:
        """Return up to k entities one of whose names looks like a text, without some that are known."""
        forms = (form for form, one in zip(self._forms, self._entities.tolist(), strict=True) if one not in without)
        similar = nearest_names(text.strip().casefold(), forms, k)
        found = dict.fromkeys(int(self._entities[bisect_left(self._forms, form)]) for form in similar)
        return [one for one in found if one not in without]

    def _add(self, best: dict[int, str], grade: str, entities: Int64, weights: Int64, k: int, allowed: Bool | None) -> None:
        """Add the entities of most weight that fit so well."""
        if len(best) >= k or not len(entities):
            return
        chosen = np.unique(entities)  # ids follow the order of names
        if allowed is not None:
            chosen = chosen[allowed[chosen]]
        for entity in chosen[np.argsort(-weights[chosen], kind="stable")[: k + len(best)]].tolist():
            best.setdefault(entity, grade)

    def _within(self, wanted: str, most: int | None) -> dict[str, Int64]:
        """Return the entities one of whose names holds a text, apart by whether a word begins with it."""
        starts = (one.start() for one in re.finditer(f"(?={re.escape(wanted)})", self._text))
        offsets = np.fromiter(islice(starts, most), np.int64)
        numbers = np.searchsorted(self._starts, offsets, side="right") - 1
        behind = np.array([not self._text[one - 1].isalnum() for one in offsets.tolist()], np.bool_)
        begins = behind | (offsets == self._starts[numbers])
        return {"word": self._entities[numbers[begins]], "substring": self._entities[numbers[~begins]]}
