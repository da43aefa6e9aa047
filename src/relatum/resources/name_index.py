"""An index of the names of entities: their whole names, values without type, and labels; found by how they begin or hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from relatum.api import Run
from relatum.arrays import Bool, Int64
from relatum.errors import nearest_names
from relatum.resources.references import entity_types

__all__ = ["NameIndex", "name_index"]

_LAST = "\U0010ffff"
_BETWEEN = "\0"  # no name has one
_HITS = 4000  # places in all names that are looked at where a text stands within names


class NameIndex:
    """The names of a run's entities, whatever their case, sorted, and all in one text."""

    def __init__(self, run: Run) -> None:
        prefixes = [f"{one}:" for one in entity_types(run)]
        found: list[tuple[str, int]] = []
        for entity, name in enumerate(run.entities):
            forms = {name.casefold()}
            if prefixes and (prefix := next((one for one in prefixes if name.startswith(one)), None)):
                forms.add(name[len(prefix) :].casefold())
            if (label := run.labels.of(name)) is not None:
                forms.add(label.replace(_BETWEEN, " ").casefold())
            found += [(form, entity) for form in forms]
        found.sort()
        self._forms = [form for form, _ in found]
        self._entities: Int64 = np.array([entity for _, entity in found], np.int64)
        self._text = _BETWEEN.join(self._forms)
        self._starts: Int64 = np.cumsum([0, *(len(form) + 1 for form in self._forms)])[:-1]

    def search(self, text: str, weights: Int64, k: int, allowed: Bool | None = None) -> list[tuple[int, str]]:
        """Return up to k entities with how their names fit, the best fit first, and among equals those of most weight.

        Args:
            text: how a name begins, or what it holds.
            weights: of all entities.
            k: how many.
            allowed: the entities that can be found; by default all.
        """
        wanted = text.strip().casefold()
        start, stop = bisect_left(self._forms, wanted), bisect_left(self._forms, wanted + _LAST)
        first = bisect_left(self._forms, wanted + "\0", start, stop)  # those that are just this
        best: dict[int, str] = {}
        for grade, low, high in (("exact", start, first), ("prefix", first, stop)):
            self._add(best, grade, self._entities[low:high], weights, k, allowed)
        if len(best) < k and wanted and _BETWEEN not in wanted:
            within: dict[str, list[int]] = {"word": [], "substring": []}
            for grade, entity in self._within(wanted):
                within[grade].append(entity)
            for grade, entities in within.items():
                self._add(best, grade, np.array(entities, np.int64), weights, k, allowed)
        return list(best.items())[:k]

    def alike(self, text: str, k: int) -> list[int]:
        """Return up to k entities one of whose names looks like a text."""
        similar = nearest_names(text.strip().casefold(), self._forms, k)
        return list(dict.fromkeys(int(self._entities[bisect_left(self._forms, form)]) for form in similar))

    def _add(self, best: dict[int, str], grade: str, entities: Int64, weights: Int64, k: int, allowed: Bool | None) -> None:
        """Add the entities of most weight that fit so well."""
        if len(best) >= k or not len(entities):
            return
        chosen = np.unique(entities)  # ids follow the order of names
        if allowed is not None:
            chosen = chosen[allowed[chosen]]
        for entity in chosen[np.argsort(-weights[chosen], kind="stable")[: k + len(best)]].tolist():
            best.setdefault(entity, grade)

    def _within(self, wanted: str) -> Iterator[tuple[str, int]]:
        """Yield the entities one of whose names holds a text, and whether a word begins with it."""
        offset = self._text.find(wanted)
        for _ in range(_HITS):
            if offset < 0:
                return
            number = int(np.searchsorted(self._starts, offset, side="right")) - 1
            begins = offset == self._starts[number] or not self._text[offset - 1].isalnum()
            yield ("word" if begins else "substring"), int(self._entities[number])
            offset = self._text.find(wanted, offset + 1)


def name_index(run: Run) -> NameIndex:
    """Return the index of the names of a run's entities, which is built once."""
    return run.remembered("name index", lambda: NameIndex(run))
