"""The best assignments of one atom, with the best at what is projected away: by branch and bound.

A node is a partial assignment: the open variables first, then the dropped ones, the one with the most candidates last, which
a kernel meets with all of them. Nodes with the highest upper bound are expanded first; those that cannot reach the best
found so far are pruned.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from relatum.arrays import Bool, Float64, Int64
from relatum.data.vocabulary import Ids
from relatum.kernels.filters import excluded_pairs, nothing_excluded
from relatum.reasoning.bounds import PlanValues, reach_of
from relatum.reasoning.plan import Atom
from relatum.time_limit import Deadline

Key = tuple[int, ...]

_NODES = 128  # expanded at once
_BYTES = 1 << 26  # of the bounds of their children
_FRONTIER = 1 << 20  # nodes of one depth that are kept
_SPARE = 1024  # assignments that are remembered beside the k best


@dataclass
class _Nodes:
    """Partial assignments of one depth: the row that each began from, indices of candidates, and what it can reach."""

    rows: Int64
    indices: Int64
    reach: Float64


@dataclass(eq=False)
class Branching:
    """A search for the k best assignments, of one of several rows of given variables.

    `columns`, int64[variables, n], are the given variables of each row. The variables `open_` are assigned, without the
    `excluded` entities; at those that are `dropped` the best entity will do.
    """

    values: PlanValues
    atom: Atom
    columns: Tensor
    open_: Sequence[int]
    dropped: Sequence[int]
    k: int
    excluded: Collection[Key] = ()
    missed: float = -np.inf
    _found: dict[Key, tuple[float, Key]] = field(default_factory=dict)
    _least: float = -np.inf

    def __post_init__(self) -> None:
        self._variables = [*self.open_, *sorted(self.dropped, key=self.values.count)]
        self._ids = [self.values.ids(one).numpy() for one in self._variables]
        self._vectors = [self.values.candidate_vectors(self.atom, one) for one in self._variables]
        given = set(range(len(self.columns))).difference(self._variables)
        self._given = self.values.given_vectors(self.atom, self.columns, given)
        sigma = self.values.model.settings.sigma
        self._sigma, twice = ("sigmoid", 2.0) if sigma == "tanh" else (sigma, 1.0)
        branching = len(self._variables) > 1  # else the kernel does it all
        self._sets = [twice * one.double().numpy() for one in self._vectors] if branching else []
        self._rows = twice * self._given.double().numpy()
        self._hidden = self._excluded_indices()
        self._hidden_last: dict[Key, list[int]] = {}
        for *above, last in self._hidden:
            self._hidden_last.setdefault(tuple(above), []).append(last)

    def run(self, limit: Deadline) -> tuple[Tensor, Tensor, Tensor]:
        """Return the best assignments, best first, smaller ids first on ties: int64[variables, found], scores, and rows.

        `missed` is then what those that were not tried could score at most.
        """
        size = len(self._given)
        empty = np.zeros((size, 0), np.int64)
        frontier = {0: _Nodes(np.arange(size), empty, np.full(size, np.inf))}
        if len(self._variables) > 1:
            self._begin_from_facts()
        while frontier:
            depth = max(frontier, key=lambda one: (frontier[one].reach[0], one))
            if limit.reached() and 0 not in frontier and self._found:  # each row has something by then
                self.missed = max(self.missed, *(self._score(nodes.reach[0]) for nodes in frontier.values()))
                break
            nodes = frontier.pop(depth)
            now, later = self._split(nodes, depth)
            if len(later.reach) and later.reach[0] > self._least:
                frontier[depth] = later
            if len(now.reach) and (children := self._expand(now, depth)) is not None:
                frontier[depth + 1] = self._merged(frontier.get(depth + 1), children)
        return self._best()

    def _begin_from_facts(self) -> None:
        """Take in the stored facts that agree with what is given, and what the best entities make of the best of them."""
        stored = self.values.stored(self.atom)
        given = [variable for variable in self.atom.variables if variable not in self._variables]
        numbers = {key: row for row, key in enumerate(map(tuple, self.columns[given].T.tolist()))}
        keys = np.stack([stored[one] for one in given], 1).tolist() if given else [()] * len(stored[self._variables[0]])
        rows = np.array([numbers.get(tuple(key), -1) for key in keys], np.int64)
        there, indices = rows >= 0, np.empty((len(rows), len(self._variables)), np.int64)
        for level, (variable, ids) in enumerate(zip(self._variables, self._ids, strict=True)):
            indices[:, level], among = _indices(ids, stored[variable])
            there &= among
        rows, indices = rows[there], indices[there]
        if not len(rows):
            return
        sums = self._sum(self.values.combine.pairs(self._queries(rows, indices), torch.zeros(())).double().numpy())
        self._take(rows, indices, sums)
        chosen = np.argsort(-sums, kind="stable")[:_NODES]
        rows, indices = rows[chosen], indices[chosen]
        for level in range(len(self.open_), len(self._variables)):
            queries = self._queries(rows, indices, without=level)
            found, scores = self.values.combine.top(queries, self._vectors[level], 1, nothing_excluded(len(queries)))
            indices[:, level] = found[:, 0].numpy()
            self._take(rows, indices, self._sum(scores[:, 0].double().numpy()))

    def _queries(self, rows: Int64, indices: Int64, without: int | None = None) -> Tensor:
        """Return what the first assigned variables of nodes, but one, contribute together, [n, windows]."""
        queries = self._given.numpy()[rows]  # by NumPy: so little work is not worth waking threads
        for level in range(indices.shape[1]):
            if level != without:
                queries = queries + self._vectors[level].numpy()[indices[:, level]]
        return torch.from_numpy(queries)

    def _split(self, nodes: _Nodes, depth: int) -> tuple[_Nodes, _Nodes]:
        """Return the first nodes, without those that cannot reach more than was found, and the rest."""
        following = len(self._ids[depth]) if depth < len(self._ids) else 1
        count = max(1, min(_NODES if depth else len(nodes.reach), _BYTES // (8 * following)))
        now, later = _cut(nodes, slice(0, count)), _cut(nodes, slice(count, None))
        return _cut(now, now.reach > self._least_of(now, depth)), later

    def _least_of(self, nodes: _Nodes, depth: int) -> Float64:
        """Return what nodes must be above: the k-th best, and what was found with the same entities at open variables."""
        if depth < len(self.open_):
            return np.full(len(nodes.reach), self._least)
        return np.array([max(self._least, self._found.get(key, (-np.inf,))[0]) for key in self._keys(nodes)])

    def _expand(self, nodes: _Nodes, depth: int) -> _Nodes | None:
        """Return the children of nodes that can reach enough; where one variable is left, take in what they reach."""
        if depth >= len(self._variables) - 1:
            self._meet(nodes, depth)
            return None
        sums = sum((one[nodes.indices[:, level]] for level, one in enumerate(self._sets[:depth])), self._rows[nodes.rows])
        reach = reach_of(self._sigma, sums, self._sets[depth:])
        self._take(nodes.rows, np.column_stack([nodes.indices, reach.choice]), reach.low)
        high = np.minimum(reach.children, nodes.reach[:, None])
        parents, indices = np.nonzero(high > self._least_of(nodes, depth)[:, None])
        if not len(parents):
            return None
        children = _Nodes(nodes.rows[parents], np.column_stack([nodes.indices[parents], indices]), high[parents, indices])
        if depth + 1 == len(self.open_) and self.excluded:
            allowed = np.array([key[1:] not in self._hidden for key in self._keys(children)], np.bool_)
            children = _cut(children, allowed)
        return children if len(children.reach) else None

    def _meet(self, nodes: _Nodes, depth: int) -> None:
        """Let the kernel pick the best at the last variable."""
        queries = self._queries(nodes.rows, nodes.indices)
        if depth == len(self._variables):  # all is given
            scores = self.values.combine.pairs(queries, torch.zeros(()))
            self._take(nodes.rows, nodes.indices, self._sum(scores.double().numpy()))
            return
        last_is_open = not self.dropped
        candidates = self._vectors[depth]
        count = min(self.k if last_is_open else 1, len(candidates))
        hidden = nothing_excluded(len(queries))
        if last_is_open and self._hidden:
            above = enumerate(self._keys(nodes, depth))
            pairs = sorted((row, index) for row, key in above for index in self._hidden_last.get(key[1:], ()))
            if pairs:
                rows, last = np.array(pairs).T
                hidden = excluded_pairs(rows, last, len(queries))
        found, scores = self.values.combine.top(queries, candidates, count, hidden)
        indices = np.column_stack([nodes.indices.repeat(count, 0), found.numpy().ravel()])
        there = indices[:, -1] >= 0
        sums = self._sum(scores.double().numpy().ravel())
        self._take(nodes.rows.repeat(count)[there], indices[there], sums[there])

    def _take(self, rows: Int64, indices: Int64, sums: Float64) -> None:
        """Remember whole assignments that are better than what was found with the same entities at open variables."""
        always = len(self._found) < self.k
        chosen = np.flatnonzero((sums >= self._least) | always)
        width = len(self.open_)
        parts = rows[chosen].tolist(), indices[chosen].tolist(), sums[chosen].tolist()
        for row, whole, total in zip(*parts, strict=True):
            key = (row, *whole[:width])
            if key[1:] not in self._hidden and total > self._found.get(key, (-np.inf,))[0]:
                self._found[key] = (total, (row, *whole))
        if len(self._found) >= self.k:
            best = heapq.nlargest(self.k, (total for total, _ in self._found.values()))
            self._least = best[-1]
            if len(self._found) > 4 * self.k + _SPARE:
                self._found = {key: one for key, one in self._found.items() if one[0] >= self._least}

    def _merged(self, nodes: _Nodes | None, more: _Nodes) -> _Nodes:
        """Return nodes of one depth together, those that can reach the most first."""
        if nodes is not None:
            more = _Nodes(
                np.concatenate([nodes.rows, more.rows]),
                np.concatenate([nodes.indices, more.indices]),
                np.concatenate([nodes.reach, more.reach]),
            )
        order = np.argsort(-more.reach, kind="stable")
        if len(order) > _FRONTIER:
            self.missed = max(self.missed, self._score(more.reach[order[_FRONTIER]]))
            order = order[:_FRONTIER]
        return _cut(more, order)

    def _best(self) -> tuple[Tensor, Tensor, Tensor]:
        whole = [one for _, one in self._found.values()]
        rows = torch.tensor([one[0] for one in whole], dtype=torch.int64)
        columns = self.columns[:, rows].clone()
        for level, variable in enumerate(self._variables):
            ids = self._ids[level][np.array([one[1 + level] for one in whole], np.int64)]
            columns[variable] = torch.from_numpy(ids)
        scores = self.values.combine.pairs(
            self.values.given_vectors(self.atom, columns, self.atom.variables), torch.zeros(())
        )
        if len(self._variables) == 1:  # by the kernel's own scores, whose last bits order completions
            scores = torch.tensor([self._score(total) for total, _ in self._found.values()], dtype=torch.float64)
        order = np.lexsort((*columns[list(self.open_)].numpy()[::-1], rows.numpy(), -scores.numpy()))[: self.k]
        chosen = torch.from_numpy(order)
        return columns[:, chosen], scores[chosen], rows[chosen]

    def _keys(self, nodes: _Nodes, width: int | None = None) -> list[Key]:
        width = len(self.open_) if width is None else width
        return list(map(tuple, np.column_stack([nodes.rows, nodes.indices[:, :width]]).tolist()))

    def _excluded_indices(self) -> set[Key]:
        """Return the excluded assignments as indices among the candidates, where they are candidates."""
        if not self.excluded or not self.open_:
            return set()
        found = np.array(list(self.excluded), np.int64)
        indices, there = np.empty_like(found), np.ones(len(found), np.bool_)
        for level, ids in enumerate(self._ids[: len(self.open_)]):
            indices[:, level], among = _indices(ids, found[:, level])
            there &= among
        return set(map(tuple, indices[there].tolist()))

    def _sum(self, scores: Float64) -> Float64:
        """Return the sums of sigmas that make scores."""
        sums = scores / self.values.combine.factor
        return (sums + self.values.model.windows) / 2 if self.values.model.settings.sigma == "tanh" else sums

    def _score(self, total: float) -> float:
        tanh = self.values.model.settings.sigma == "tanh"
        return self.values.combine.factor * float(2 * total - self.values.model.windows if tanh else total)


def _indices(ids: Int64, entities: Ids | Int64) -> tuple[Int64, Bool]:
    """Return the indices of entities among ascending ids, and whether they are there."""
    indices = np.minimum(np.searchsorted(ids, entities), len(ids) - 1)
    return indices, ids[indices] == entities


def _cut(nodes: _Nodes, chosen: slice | Int64 | Bool) -> _Nodes:
    return _Nodes(nodes.rows[chosen], nodes.indices[chosen], nodes.reach[chosen])
