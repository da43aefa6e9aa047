"""Values of plans, and the assignments for which they are largest: bounds tell which need not be tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Bool, Float64, Int64
from relatum.kernels.filters import nothing_excluded
from relatum.reasoning.bounds import PlanValues
from relatum.reasoning.branching import Branching
from relatum.reasoning.plan import AndNot, Atom, Exists, Max, Plan, as_atom, max_projected_variables, projected_variables
from relatum.time_limit import Deadline, check_time

_WIDTH = 1 << 17  # assignments of the first variable that are kept: none of so many entities is lost
_DEEP = 1 << 13  # and of more variables
_WORK = 1 << 31  # facts that values which take a search of their own may try, at the most
_FEWEST = 16  # such values that are searched for all the same
_LOOKED_AT = 1 << 14  # of the best of a part, before assignments of the whole are tried one by one
_CHILDREN = 256  # entities that a partial assignment is extended by
_PART = 64

Key = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Best:
    """The best assignments, int64[variables, found], and their values, best first.

    `missed` is what those that were not tried could reach at most: where it is not above the last value found, there are
    no better ones.
    """

    columns: Tensor
    logits: Float64
    missed: float = -np.inf

    @property
    def proven(self) -> bool:
        """Whether these are surely the best."""
        return bool(self.missed <= (self.logits[-1] if len(self.logits) else -np.inf))


@torch.no_grad()
def evaluate_plan(values: PlanValues, node: Plan, columns: Tensor, limit: Deadline | None = None) -> Float64:
    """Return the values of assignments, [n], of all variables that the plan does not range over by itself.

    Where the limit is reached, the value of a projection is the best that was found.
    """
    limit = limit or Deadline()
    check_time()
    if not columns.shape[1]:
        return np.empty(0)
    if isinstance(node, Atom):
        return values.logits(
            node, values.combine.pairs(values.given_vectors(node, columns, node.variables), torch.zeros(()))
        )
    if isinstance(node, Exists):
        return _largest_part(values, node, columns, limit)
    left, right = evaluate_plan(values, node.left, columns, limit), evaluate_plan(values, node.right, columns, limit)
    return np.maximum(left, right) if isinstance(node, Max) else np.minimum(left, -right)


@torch.no_grad()
def best(
    values: PlanValues,
    node: Plan,
    columns: Tensor,
    open_: Sequence[int],
    k: int,
    excluded: Collection[Key] = (),
    limit: Deadline | None = None,
) -> Best:
    """Return the k best assignments of the open variables.

    `columns`, int64[variables, 1], are the given variables; the others are ignored. One is open at least, and entities
    that are `excluded` are left out there.
    """
    search = _PlanSearch(values, columns, open_, excluded, limit or Deadline())
    found = search.best(node, k)
    if (
        search.limit.stopped and as_atom(node) is None
    ):  # values of parts may be too low, and so those of differences too high
        return replace(found, missed=np.inf)
    return found


@torch.no_grad()
def best_of(values: PlanValues, node: Plan, columns: Tensor, k: int, limit: Deadline | None = None) -> Best:
    """Return the k best of given assignments, int64[variables, n]; what is projected away from an atom is assigned too."""
    limit = limit or Deadline()
    if (one := as_atom(node)) is not None:
        search = Branching(values, one[0], columns, [], one[1], k)
        found, scores, _ = search.run(limit)
        return Best(found, values.logits(one[0], scores), _missed_logit(values, one[0], search.missed))
    logits, missed = np.empty(0), -np.inf
    for start in range(0, columns.shape[1], _PART):
        logits = np.concatenate([logits, evaluate_plan(values, node, columns[:, start : start + _PART], limit)])
        if limit.reached():
            missed = np.inf
            break
    return _chosen(columns[:, : len(logits)], logits, k, missed)


def _missed_logit(values: PlanValues, atom: Atom, score: float) -> float:
    return float(values.logits(atom, torch.tensor([score], dtype=torch.float64))[0]) if np.isfinite(score) else score


@dataclass(frozen=True, eq=False)
class _PlanSearch:
    """A search for the best assignments of the open variables, for any part of a plan."""

    values: PlanValues
    columns: Tensor
    open_: Sequence[int]
    excluded: Collection[Key]
    limit: Deadline

    def best(self, node: Plan, k: int) -> Best:
        check_time()
        if (one := as_atom(node)) is not None:
            return self._best_of_atom(node, *one, k)
        if isinstance(node, Exists) and isinstance(node.part, Max):  # some of either: some of the one or of the other
            left, right = (replace(node, part=part) for part in (node.part.left, node.part.right))
            return self._best_of_max(node, left, right, k)
        if isinstance(node, Max):
            return self._best_of_max(node, node.left, node.right, k)
        found = None
        if isinstance(node, AndNot):
            found = self._best_of_difference(node, k)
        elif isinstance(node, Exists):
            found = self._best_of_projection(node, k)
        return self._searched(node, k) if found is None else found

    def _best_of_atom(self, node: Plan, atom: Atom, dropped: Sequence[int], k: int) -> Best:
        search = Branching(self.values, atom, self.columns, self.open_, dropped, k, self.excluded)
        columns, scores, _ = search.run(self.limit)
        if isinstance(node, Exists) and search.missed == -np.inf:  # these are then the largest values of the projection
            self.values.largest.update(zip(_keys(node, atom, dropped, columns), scores.tolist(), strict=True))
        return Best(columns, self.values.logits(atom, scores), _missed_logit(self.values, atom, search.missed))

    def _best_of_max(self, node: Plan, left: Plan, right: Plan, k: int) -> Best:
        """Return the best by the larger of two values: each is among the best by the value that is the larger one."""
        found = [self.best(side, k) for side in (left, right)]
        both = _distinct(torch.cat([one.columns for one in found], 1), self.columns, self.open_)
        return _chosen(both, evaluate_plan(self.values, node, both, self.limit), k, max(one.missed for one in found))

    def _best_of_difference(self, node: AndNot, k: int) -> Best | None:
        """Return the best by a difference, which lie among the best of its left side; None if they lie too far down."""
        wanted = max(_PART, 4 * k)
        while wanted <= _LOOKED_AT:
            left = self.best(node.left, wanted)
            found = _distinct(left.columns, self.columns, self.open_)
            least = float(left.logits[-1]) if len(left.logits) == wanted else -np.inf  # of those that were not seen
            chosen = _chosen(found, evaluate_plan(self.values, node, found, self.limit), k, left.missed)
            if len(chosen.logits) and chosen.logits[-1] >= least and (len(chosen.logits) == k or least == -np.inf):
                return chosen
            if self.limit.reached():
                return replace(chosen, missed=max(least, left.missed))
            wanted *= 8
        return None

    def _best_of_projection(self, node: Exists, k: int) -> Best | None:
        """Return the best by a projection: those of the best of its part that differ at open variables, each with its best.

        None if too many of the best differ only in what is projected away.
        """
        whole = replace(self, open_=[*self.open_, *node.variables], excluded=())
        wanted = max(_PART, 8 * k)
        while wanted <= _LOOKED_AT:
            part = whole.best(node.part, wanted)
            keys, first = np.unique(part.columns[list(self.open_)].numpy(), axis=1, return_index=True)
            first = np.sort(first[~_among(keys, self.excluded)])[:k]
            found = Best(part.columns[:, torch.from_numpy(first)], part.logits[first], part.missed)
            if len(first) == k or len(part.logits) < wanted:
                return found
            if self.limit.reached():
                return replace(found, missed=max(part.missed, float(part.logits[-1])))
            wanted *= 8
        return None

    def _searched(self, node: Plan, k: int) -> Best:
        """Return the best by bounds from above alone."""
        search = _BoundedSearch(self.values, node, self.columns, self.open_, k + len(self.excluded), self.limit)
        *first, last = self.open_
        partial, reach, missed = self.columns, np.array([np.inf]), -np.inf
        for variable in first:
            partial, reach, lost = search.extend(partial, variable)
            missed = max(missed, lost)
        found = search.finish(partial, reach, last, missed)
        kept = np.flatnonzero(~_among(found.columns[list(self.open_)].numpy(), self.excluded))[:k]
        return Best(found.columns[:, torch.from_numpy(kept)], found.logits[kept], found.missed)


def _among(keys: Int64, excluded: Collection[Key]) -> Bool:
    """Return which assignments, [variables, n], are excluded."""
    return np.array([tuple(key) in excluded for key in keys.T.tolist()], np.bool_)


def _distinct(found: Tensor, columns: Tensor, open_: Sequence[int]) -> Tensor:
    """Return the assignments that differ at open variables, each once, with nothing at what is ranged over."""
    assignments = columns.repeat(1, found.shape[1])
    assignments[list(open_)] = found[list(open_)]
    distinct: Tensor = torch.unique(assignments, dim=1)
    return distinct


def _chosen(columns: Tensor, logits: Float64, k: int, missed: float) -> Best:
    """Return the k best of some assignments, smaller ids first on ties."""
    order = np.lexsort((*columns.numpy()[::-1], -logits))[:k]
    return Best(columns[:, torch.from_numpy(order)], logits[order], missed)


def _largest_part(values: PlanValues, node: Exists, columns: Tensor, limit: Deadline) -> Float64:
    one = as_atom(node)
    if one is None:
        parts = (columns[:, [number]] for number in range(columns.shape[1]))
        return np.array([best(values, node.part, part, node.variables, 1, (), limit).logits[0] for part in parts])
    atom, dropped = one
    if len(dropped) == 1:  # the common case, for all assignments by one kernel
        queries, _ = values.query_vectors(atom, columns, atom.variables, dropped[0])
        candidates = values.candidate_vectors(atom, dropped[0])
        return values.logits(atom, values.combine.top(queries, candidates, 1, nothing_excluded(len(queries)))[1][:, 0])
    keys = _keys(node, atom, dropped, columns)
    missing = list({key: number for number, key in enumerate(keys) if key not in values.largest}.values())
    if missing:
        search = Branching(values, atom, columns[:, missing], [], dropped, len(missing))
        _, scores, rows = search.run(limit)
        values.largest.update((keys[missing[row]], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True))
    return values.logits(atom, torch.tensor([values.largest[key] for key in keys], dtype=torch.float64))


def _keys(node: Exists, atom: Atom, dropped: Sequence[int], columns: Tensor) -> list[tuple[Exists, Key]]:
    """Return what the largest values of a projection are remembered by."""
    given = [variable for variable in atom.variables if variable not in dropped]
    return [(node, tuple(one)) for one in columns[given].T.tolist()]


class _BoundedSearch:
    def __init__(
        self, values: PlanValues, node: Plan, columns: Tensor, open_: Sequence[int], k: int, limit: Deadline
    ) -> None:
        self.values, self.node, self.k, self.limit = values, node, k, limit
        self.given = set(range(len(columns))).difference(open_, projected_variables(node))
        self.columns, self.logits = columns[:, :0], np.empty(0)
        self.tried = 0
        self.most_tried = max(_FEWEST, _WORK // values.model.num_entities ** max_projected_variables(node))

    def extend(self, partial: Tensor, variable: int) -> tuple[Tensor, Float64, float]:
        """Return the most promising assignments of one variable more, what they can reach, and what is lost by the rest."""
        indices, reach, lost = np.empty(0, np.int64), np.empty(0), -np.inf
        width = _WIDTH if partial.shape[1] == 1 else _DEEP
        for found, high, rest in self._reaching(partial, variable):
            indices, reach = np.concatenate([indices, found]), np.concatenate([reach, high])
            kept = _largest(reach, width + 1)
            lost = max(lost, rest, float(reach[kept[width]]) if len(kept) > width else -np.inf)
            indices, reach = indices[kept[:width]], reach[kept[:width]]
        self.given.add(variable)
        return self._assignments(partial, indices, variable), reach, lost

    def _reaching(self, partial: Tensor, variable: int) -> Iterator[tuple[Int64, Float64, float]]:
        """Yield indices in the matrix of partial assignments and entities, what they can reach, and what the rest could."""
        entities = self.values.count(variable)
        atom = _above(self.node) if partial.shape[1] > 1 else None  # of the first variable every entity may be wanted
        size = self.values.rows_at_once if atom is None else 4 * _PART
        for start in range(0, partial.shape[1], size):
            part = partial[:, start : start + size]
            if atom is None:
                high = self.values.bounds(self.node, part, self.given, variable)[1].ravel()
                yield start * entities + np.arange(len(high)), high, -np.inf
                continue
            # The kernel picks the most promising entities of each; without it all bounds would be written and read again.
            k = min(_CHILDREN, entities)
            queries, _ = self.values.query_vectors(atom, part, self.given, variable)
            found, scores = self.values.combine.top(
                queries, self.values.candidate_vectors(atom, variable), k, nothing_excluded(len(queries))
            )
            high = self.values.logits(atom, scores)
            rows = start + np.arange(part.shape[1])[:, None]
            yield (
                (rows * entities + found.numpy()).ravel(),
                high.ravel(),
                (float(high[:, -1].max()) if k < entities else -np.inf),
            )

    def finish(self, partial: Tensor, reach: Float64, variable: int, missed: float) -> Best:
        """Return the best, meeting partial assignments with all entities for as long as they can reach the best so far."""
        size = self.values.rows_at_once
        for start in range(0, partial.shape[1], size):
            if reach[start] <= self._least():
                break
            if self._done():
                missed = max(missed, float(reach[start]))
                break
            part = partial[:, start : start + size]
            missed = max(missed, self._meet(part, variable))
        return Best(self.columns, self.logits, missed)

    def _meet(self, partial: Tensor, variable: int) -> float:
        """Take in the best of all entities at the last variable; return what those that were not tried could reach."""
        low, high = self.values.bounds(self.node, partial, self.given, variable)
        low, high = np.broadcast_to(low, high.shape).ravel(), high.ravel()
        for indices in _falling(high, self.k):
            indices = indices[high[indices] > self._least()]
            if not len(indices):
                break
            if self._done():
                return float(high[indices[0]])
            assignments, found = self._assignments(partial, indices, variable), high[indices]
            open_yet = np.flatnonzero(low[indices] < found)
            if len(open_yet):
                found[open_yet] = evaluate_plan(
                    self.values, self.node, assignments[:, torch.from_numpy(open_yet)], self.limit
                )
                self.tried += len(open_yet)
            self._take(assignments, found)
        return -np.inf

    def _done(self) -> bool:
        """Return whether as much was tried as may be."""
        return self.tried >= self.most_tried or (self.limit.reached() and self.tried > 0)

    def _assignments(self, partial: Tensor, indices: Int64, variable: int) -> Tensor:
        """Return the assignments at indices of a matrix of partial assignments and entities."""
        entities = self.values.count(variable)
        assignments = partial[:, torch.from_numpy(indices // entities)]
        assignments[variable] = self.values.ids(variable)[torch.from_numpy(indices % entities)]
        return assignments

    def _least(self) -> float:
        """Return the value that the next one must be above."""
        return float(self.logits[-1]) if len(self.logits) >= self.k else -np.inf

    def _take(self, columns: Tensor, logits: Float64) -> None:
        """Keep the k best, smaller ids first on ties."""
        better = np.flatnonzero(logits > self._least())
        columns, logits = columns[:, torch.from_numpy(better)], logits[better]
        columns, logits = torch.cat([self.columns, columns], 1), np.concatenate([self.logits, logits])
        found = _chosen(columns, logits, self.k, -np.inf)
        self.columns, self.logits = found.columns, found.logits


def _above(node: Plan) -> Atom | None:
    """Return an atom that no value of the node is above, whatever is assigned to the variables that it has more."""
    while not isinstance(node, Atom):
        if isinstance(node, Max):
            return None
        node = node.part if isinstance(node, Exists) else node.left
    return node


def _falling(values: Float64, k: int) -> Iterator[Int64]:
    """Yield the indices of all values in parts, those of the largest first."""
    size, done = max(_PART, 2 * k), 0
    while done < len(values):
        yield _largest(values, done + size)[done:]
        done, size = done + size, 4 * size


def _largest(values: Float64, count: int) -> Int64:
    """Return the indices of the largest values, largest first, smaller indices first on ties."""
    indices = np.arange(len(values)) if count >= len(values) else np.argpartition(-values, count)[:count]
    return indices[np.lexsort((indices, -values[indices]))]
