"""Scores and ranks where each worker has some of the entities: exact, for counts of better and equal candidates add up.

Every worker knows the questions. The rows of the entities in them are fetched from who has them, so all have the same query
sides; each counts among its own entities. What the kernels must know of all candidates, their extremes, is found first, so
that scores have the bits that they have in one process.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Float32, Int64
from relatum.data.vocabulary import Ids
from relatum.errors import NumericError
from relatum.inference.scoring import among, bonus_among, score
from relatum.inference.tiled_counts import indices_in
from relatum.kernels.filters import Bonus, Excluded, bonus_part, excluded_part
from relatum.memory import budget
from relatum.models.base import Model, Parameters
from relatum.models.partial_counts import counter_of, extremes_of
from relatum.workers.group import Group, Shares, current_group, packed, unpacked

_FACTS = 1 << 14  # whose rows are fetched at once


def scorer_of_group(model: Model, parameters: Parameters) -> SharedScorer | None:
    """Return what ranks by whole parameters, each worker among its share of the entities; None where there is no group."""
    group = current_group()
    if group is None or model.reads_facts:
        return None
    shares = Shares(model.num_entities, group.count, group.number)
    own = {name: parameters[name][shares.first : shares.last].clone() for name in model.entity_tables}
    return SharedScorer(group, shares, model, {**parameters, **own})


class SharedScorer:
    """Scores facts by parameters that are shared out among workers, all of which call the same methods in the same order.

    The model reads no facts, and `parameters` are what this worker has of them.
    """

    def __init__(self, group: Group, shares: Shares, model: Model, parameters: Parameters) -> None:
        self._group, self._shares, self._model, self._parameters = group, shares, model, parameters
        self._indices_of = partial(indices_in, shares.first, shares.last)
        with torch.no_grad():
            self._own = model.encode(parameters)

    @torch.no_grad()
    def count_better(
        self, relation: int, columns: Ids, position: int, excluded: Excluded, bonus: Bonus | None
    ) -> tuple[Int64, Int64]:
        """Return the counts among all entities, from those of all workers."""
        one = torch.tensor(relation)
        candidates = self._model.candidates(self._own, one, position, None)
        extremes = extremes_of(self._model.combine(self._own), candidates)
        if extremes is not None:
            extremes = self._group.extremes(*extremes)
        counts = np.zeros((2, columns.shape[1]), np.int64)
        size = self._questions_at_once(len(columns), candidates)
        failed = False
        for start in range(0, columns.shape[1], size):
            part = slice(start, start + size)
            tables, given = self._fetched(columns[:, part])
            queries = self._model.queries(tables, one.expand(given.shape[1]), given, position)
            targets = self._indices_of(columns[position, part])
            own_bonus = None if bonus is None else bonus_among(bonus_part(bonus, part), self._indices_of)
            try:
                counter = counter_of(self._model.combine(self._own), queries, candidates, extremes, own_bonus)
                bars, finite = counter.bars(targets), 1.0
            except FloatingPointError:
                bars, finite = np.zeros(len(targets), np.float32), 0.0
            # One more number says whether all scores are finite: a worker that raised would be waited for.
            found = self._group.sums(np.append(bars, np.float32(1 - finite)))
            failed = failed or found[-1] > 0
            try:
                if not failed:
                    counts[:, part] = counter.count(
                        found[:-1], targets, among(excluded_part(excluded, part), self._indices_of)
                    )
            except FloatingPointError:
                failed = True
        total = self._group.sums(np.append(counts.ravel(), int(failed)))
        if total[-1]:
            name = self._model.schema[relation].name
            raise NumericError(
                "not-finite", f"a score of relation {name!r} is not a finite number: the parameters have grown too large"
            )
        better, equal = total[:-1].reshape(2, -1)
        return better, equal

    def score(self, relation: int, columns: Ids) -> Float32:
        """Return the scores of facts, by rows from all workers; every worker gets all of them."""
        found = []
        for start in range(0, columns.shape[1], _FACTS):
            tables, given = self._fetched(columns[:, start : start + _FACTS])
            ids = torch.full((given.shape[1],), relation)
            found.append(score(self._model, tables, ids, given).numpy())
        return np.concatenate(found)

    @torch.no_grad()
    def _fetched(self, columns: Ids) -> tuple[Parameters, Tensor]:
        """Return tables of the entities of some facts alone, and the facts with indices among these."""
        ids = np.unique(columns).astype(np.int64)
        mine = torch.from_numpy(ids[self._shares.cut(ids)[self._group.number]] - self._shares.first)
        names = self._model.entity_tables
        sent = [self._parameters[name].index_select(0, mine).numpy() for name in names]
        parts = [unpacked(message) for message in self._group.share(packed(sent))]
        rows = {
            name: torch.from_numpy(np.concatenate(pieces))
            for name, pieces in zip(names, zip(*parts, strict=True), strict=True)
        }
        given = torch.from_numpy(np.searchsorted(ids, columns))
        return self._model.encode({**self._parameters, **rows}), given

    def _questions_at_once(self, arity: int, candidates: Tensor) -> int:
        """Return how many questions all workers take at once, so that each of them has the memory for it."""
        features = math.prod(candidates.shape[1:])
        row = 4 * max(1, arity * features, len(candidates))
        return max(1, min(_FACTS, self._group.smallest(budget() // row)))
