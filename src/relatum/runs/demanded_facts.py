"""What a run knows and believes of the rows that meet a demand on their cells, as joins need it.

A row whose cell is stored meets a demand or does not. With an empty cell it does as likely as the values that meet it are
together: those in a group of numbers or dates share its probability as the stored values of the group do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.row_store import EMPTY, RowStore
from relatum.data.vocabulary import Ids
from relatum.joins.truths import BestFacts, Ranked, Truths
from relatum.runs.join_truths import CAP, FLOOR
from relatum.runs.joining import run_truths
from relatum.runs.stored_rows import stored_rows
from relatum.runs.trained import Trained
from relatum.sql.catalog import Catalog
from relatum.sql.demands import DemandedRelation
from relatum.time_limit import Deadline


class ListedFacts:
    """All facts of a relation that count anything, the best first; each has its entities once."""

    def __init__(self, columns: Ids, values: Float64, known: Bool) -> None:
        order = np.lexsort((*columns[::-1], -values))
        self.columns, self.values, self.known = columns[:, order], values[order], known[order]
        self._numbers = {fact: number for number, fact in enumerate(map(tuple, self.columns.T.tolist()))}

    def where(self, given: Sequence[int | None]) -> Int64:
        """Return which facts hold the given entities, None being open."""
        there = np.ones(len(self.values), np.bool_)
        for column, entity in zip(self.columns, given, strict=True):
            if entity is not None:
                there &= column == entity
        return np.flatnonzero(there)

    def find(self, facts: Ids) -> Int64:
        """Return the number of each fact, -1 for one that counts nothing."""
        return np.array([self._numbers.get(fact, -1) for fact in map(tuple, facts.T.tolist())], np.int64)

    def of_known(self) -> ListedFacts:
        """Return the known facts alone."""
        return ListedFacts(self.columns[:, self.known], np.ones(int(self.known.sum())), self.known[self.known])


class DemandedTruths:
    """Truths that know demanded relations too; the others are those of `base`."""

    def __init__(self, base: Truths, listed: Mapping[str, ListedFacts]) -> None:
        self._base, self._listed = base, listed

    @property
    def size(self) -> int:
        """How many entities there are."""
        return self._base.size

    def entity(self, name: str) -> int:
        """Return the number of an entity."""
        return self._base.entity(name)

    def best(self, relation: str, position: int, questions: Ids, k: int) -> Ranked:
        """Return at least the k best answers at a position to questions, where there are so many."""
        if (listed := self._listed.get(relation)) is None:
            return self._base.best(relation, position, questions, k)
        found = []
        for question in questions.T.tolist():
            found.append(listed.where([None if at == position else entity for at, entity in enumerate(question)]))
        width = max((len(one) for one in found), default=0)
        entities, values = np.full((len(found), width), -1, np.int32), np.zeros((len(found), width))
        for number, one in enumerate(found):
            entities[number, : len(one)], values[number, : len(one)] = listed.columns[position][one], listed.values[one]
        return Ranked(entities, values, np.zeros(len(found)))

    def values(self, relation: str, position: int, facts: Ids) -> Float64:
        """Return the values of facts as answers at a position."""
        if relation not in self._listed:
            return self._base.values(relation, position, facts)
        return self.fact_values(relation, facts)

    def best_facts(self, relation: str, given: Sequence[int | None], k: int, limit: Deadline) -> BestFacts:
        """Return the best facts that hold the given entities."""
        if (listed := self._listed.get(relation)) is None:
            return self._base.best_facts(relation, given, k, limit)
        found = listed.where(given)
        return BestFacts(listed.columns[:, found], listed.values[found], 0.0)

    def fact_values(self, relation: str, facts: Ids) -> Float64:
        """Return the values of facts that answer no question."""
        if (listed := self._listed.get(relation)) is None:
            return self._base.fact_values(relation, facts)
        numbers = listed.find(facts)
        return np.where(numbers >= 0, np.append(listed.values, 0.0)[numbers], 0.0)

    def known(self, relation: str, facts: Ids) -> Bool:
        """Return which facts are known."""
        if (listed := self._listed.get(relation)) is None:
            return self._base.known(relation, facts)
        numbers = listed.find(facts)
        found: Bool = (numbers >= 0) & np.append(listed.known, False)[numbers]
        return found


def listed_facts(run: Trained, demanded: DemandedRelation, catalog: Catalog) -> ListedFacts:
    """Return the facts of a demanded relation, known and predicted."""
    rows = run.split.rows
    if rows is None:  # no query demands anything of what was no table
        raise ValueError(demanded.table)
    table = rows[demanded.table]
    meets = stored_rows(run).meets(demanded.table, demanded.sql, catalog)
    entities = _entities_of(run, rows)
    keys = entities[table.column(table.schema.row_key or "")]
    single = demanded.columns[0] if len(demanded.columns) == 1 and table.schema.has(demanded.columns[0]) else None
    cells = table.column(single) if single is not None else np.full(len(table), EMPTY, np.int32)
    if demanded.relation is None:
        known = np.unique(keys[meets & (keys >= 0)])[None]
    else:
        there = meets & (keys >= 0) & (entities[cells] >= 0)
        known = np.unique(np.stack([keys[there], entities[cells[there]]]), axis=1)
    new, values = _predicted(run, demanded, rows, single, meets)
    facts = np.concatenate([known, new], axis=1).astype(np.int32)
    counts = np.append(np.ones(known.shape[1]), values)
    return ListedFacts(facts, counts, np.arange(len(counts)) < known.shape[1])


def _predicted(
    run: Trained, demanded: DemandedRelation, rows: RowStore, column: str | None, meets: Bool
) -> tuple[Ids, Float64]:
    """Return the facts about rows whose cell is empty, and how likely these meet the demand."""
    arity = demanded.schema.arity
    nothing = np.empty((arity, 0), np.int32), np.empty(0)
    table = rows[demanded.table]
    relation = None if column is None else table.schema.column(column).relation
    if column is None or relation is None or relation not in run.model.schema:
        return nothing
    entities = _entities_of(run, rows)
    keys, cells = entities[table.column(table.schema.row_key or "")], table.column(column)
    empty = np.unique(keys[(cells == EMPTY) & (keys >= 0)]).astype(np.int32)
    cells_of = run_truths(run).column(relation)
    if cells_of is None or not len(empty):
        return nothing
    found, likely, _ = cells_of.best(1, np.stack([empty, np.zeros_like(empty)]), 1)
    # What share of the stored values of each entity meets the demand: all or none, unless the entity is a group.
    stored = np.flatnonzero((cells >= 0) & (entities[cells] >= 0))
    all_of = np.bincount(entities[cells[stored]], minlength=len(run.entities))
    share = np.bincount(entities[cells[stored]], meets[stored], minlength=len(run.entities)) / np.maximum(all_of, 1)
    values = np.where(found >= 0, likely * share[found], 0.0)
    if demanded.relation is None:
        together = np.minimum(values.sum(1), CAP)
        kept = together >= FLOOR
        return empty[kept][None], together[kept]
    which, at = np.nonzero(values >= FLOOR)
    return np.stack([empty[which], found[which, at]]), np.minimum(values[which, at], CAP)


def _entities_of(run: Trained, rows: RowStore) -> Int64:
    """Return the entity of each name in the cells of tables, -1 for none; the last two are of cells without a value."""
    found = np.full(len(rows.names) + 2, -1, np.int64)
    cells = run.entity_cells
    there = cells >= 0
    found[cells[there]] = np.flatnonzero(there)
    return found
