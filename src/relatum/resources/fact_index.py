"""An index of the known facts of a run: which facts an entity stands in, and which split part holds a fact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from relatum.api import Run
from relatum.arrays import Int32, Int64
from relatum.data.sorting import differs_from_previous
from relatum.resources.references import FactRef, fact_ref


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an entity stands: at a position of a relation, in these facts, by number."""

    relation: int
    position: int
    facts: Int64


class FactIndex:
    """The distinct stored facts of a run, numbered by relation and then by entities.

    Args:
        run: the run whose facts they are.
    """

    def __init__(self, run: Run) -> None:
        self._run, names = run, list(run.split.parts)
        self.parts = names
        columns: list[list[Int32]] = [[] for _ in run.model.schema]
        sources: list[list[Int32]] = [[] for _ in run.model.schema]
        for number, relation in enumerate(run.model.schema):
            for part, graph in enumerate(run.split.parts.values()):
                found = graph.table(relation.name).columns
                columns[number].append(found)
                sources[number].append(np.full(found.shape[1], part, np.int32))
        self._tables: list[Int32] = []
        self._sources: list[Int32] = []
        for each, parts in zip(columns, sources, strict=True):
            table, part_of = np.concatenate(each, axis=1), np.concatenate(parts)
            order = np.lexsort([part_of, *table[::-1]])  # of a fact in several parts the first one counts
            table, part_of = table[:, order], part_of[order]
            first = differs_from_previous(list(table))
            self._tables.append(np.ascontiguousarray(table[:, first]))
            self._sources.append(part_of[first])
        sizes = [table.shape[1] for table in self._tables]
        self.starts: Int64 = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._index_entities(len(run.entities))

    def _index_entities(self, count: int) -> None:
        """Sort every cell of every fact by its entity."""
        cells = [np.empty((4, 0), np.int64)]
        for relation, table in enumerate(self._tables):
            facts = np.arange(table.shape[1]) + self.starts[relation]
            for position, column in enumerate(table):
                rows = np.full(len(column), relation), np.full(len(column), position)
                cells.append(np.stack([column.astype(np.int64), *rows, facts]))
        whole = np.concatenate(cells, axis=1)
        whole = whole[:, np.argsort(whole[0], kind="stable")]  # the cells come by relation, position and fact already
        self._cells: Int64 = np.ascontiguousarray(whole[1:])
        self._offsets: Int64 = np.searchsorted(whole[0], np.arange(count + 1))

    def __len__(self) -> int:
        return int(self.starts[-1])

    def standings(self, entity: int) -> list[Standing]:
        """Return where an entity stands, by relation and position in their order."""
        relations, positions, facts = self._cells[:, self._offsets[entity] : self._offsets[entity + 1]]
        if not len(facts):
            return []
        cut = np.flatnonzero(differs_from_previous([relations, positions]))
        return [
            Standing(int(relations[start]), int(positions[start]), facts[start:stop])
            for start, stop in zip(cut.tolist(), [*cut[1:].tolist(), len(facts)], strict=True)
        ]

    def count(self, entity: int) -> int:
        """Return in how many facts an entity stands; one that has it twice counts once."""
        return len(np.unique(self._cells[2, self._offsets[entity] : self._offsets[entity + 1]]))

    def degrees(self) -> Int64:
        """Return how many cells hold each entity, int64[entities]."""
        return np.diff(self._offsets)

    def of_relation(self, relation: int) -> range:
        """Return the numbers of the facts of a relation."""
        return range(int(self.starts[relation]), int(self.starts[relation + 1]))

    def table(self, relation: int) -> Int32:
        """Return the facts of a relation, int32[arity, n], in the order of their numbers."""
        return self._tables[relation]

    def refs(self, facts: Sequence[int]) -> Iterator[FactRef]:
        """Yield the facts of some numbers."""
        run = self._run
        for fact in facts:
            relation = int(np.searchsorted(self.starts, fact, side="right")) - 1
            row = fact - int(self.starts[relation])
            names = [run.entities[entity] for entity in self._tables[relation][:, row].tolist()]
            yield fact_ref(run, run.model.schema[relation].name, names, source=self.parts[int(self._sources[relation][row])])

    def source(self, relation: int, fact: Sequence[int]) -> str | None:
        """Return the split part that holds a fact, or None."""
        table, low, high = self._tables[relation], 0, self._tables[relation].shape[1]
        for column, entity in zip(table, fact, strict=True):
            part = column[low:high]
            low, high = low + int(np.searchsorted(part, entity)), low + int(np.searchsorted(part, entity, side="right"))
        return self.parts[int(self._sources[relation][low])] if low < high else None


def fact_index(run: Run) -> FactIndex:
    """Return the index of the known facts of a run, which is built once."""
    return run.remembered("fact index", lambda: FactIndex(run))


def known_fact(run: Run, relation: str, entities: Sequence[str]) -> FactRef:
    """Return the reference to a fact of a stored relation, by whole names, with the split part that holds it, if any."""
    ids = run.entities.ids(entities).tolist()
    return fact_ref(run, relation, entities, source=fact_index(run).source(run.model.schema.id(relation), ids))
