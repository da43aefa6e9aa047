"""Exact values of meanings, and the assignments for which they are largest: bounds say what need not be tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.kernels.known import nothing_known
from relatum.reasoning.heights import Floats
from relatum.reasoning.meaning import Atom, Largest, Less, Meaning, Some, most_projected, projected
from relatum.reasoning.values import Values

__all__ = ["Best", "best", "exact"]

_WIDTH = 1 << 17  # assignments of the first variable that are kept: none of so many entities is lost
_DEEP = 1 << 13  # and of more variables
_WORK = 1 << 31  # facts that values which take a search of their own may try, at the most
_FEWEST = 16  # such values that are searched for all the same
_LOOKED_AT = 1 << 14  # of the best of a part, before assignments of the whole are tried one by one
_CHILDREN = 256  # entities that a partial assignment is extended by
_PART = 64


@dataclass(frozen=True, eq=False)
class Best:
    """The best assignments, int64[variables, found], and their values, best first.

    `missed` is what those that were not tried could reach at most: where it is not above the last value found, there are
    no better ones.
    """

    columns: Tensor
    heights: Floats
    missed: float = -np.inf

    @property
    def proven(self) -> bool:
        """Whether these are surely the best."""
        return bool(self.missed <= (self.heights[-1] if len(self.heights) else -np.inf))


@torch.no_grad()
def exact(values: Values, node: Meaning, columns: Tensor) -> Floats:
    """Return the values of assignments, [n], of all variables that the meaning does not range over by itself."""
    if isinstance(node, Atom):
        queries, _ = values.asked(node, columns, node.variables, None)
        return values.height(node, values.combine.pairs(queries, torch.zeros(())))
    if isinstance(node, Some):
        return _largest_part(values, node, columns)
    left, right = exact(values, node.left, columns), exact(values, node.right, columns)
    return np.maximum(left, right) if isinstance(node, Largest) else np.minimum(left, -right)


@torch.no_grad()
def best(values: Values, node: Meaning, columns: Tensor, open_: Sequence[int], k: int) -> Best:
    """Return the k best assignments of the open variables.

    Args:
        values: the model.
        node: what is to be large.
        columns: int64[variables, 1], the given variables; what stands at the others is not looked at.
        open_: the variables to be assigned, at least one.
        k: how many.
    """
    if isinstance(node, Some) and isinstance(node.part, Largest):  # some of either is some of the one or some of the other
        sides = (replace(node, part=part) for part in (node.part.left, node.part.right))
        return _best_of_either(values, node, columns, open_, k, *sides)
    if isinstance(node, Largest):
        return _best_of_either(values, node, columns, open_, k, node.left, node.right)
    if isinstance(node, Less) and (found := _best_of_less(values, node, columns, open_, k)):
        return found
    if isinstance(node, Some) and (found := _best_of_some(values, node, columns, open_, k)):
        return found
    search = _Search(values, node, columns, open_, k)
    *first, last = open_
    partial, reach, missed = columns, np.array([np.inf]), -np.inf
    for variable in first:
        partial, reach, lost = search.extend(partial, variable)
        missed = max(missed, lost)
    return search.finish(partial, reach, last, missed)


def _best_of_either(
    values: Values, node: Meaning, columns: Tensor, open_: Sequence[int], k: int, left: Meaning, right: Meaning
) -> Best:
    """Return the best by the larger of two values: each of them is among the best by the value that is the larger one."""
    found = [best(values, side, columns, open_, k) for side in (left, right)]
    both = _distinct(torch.cat([one.columns for one in found], 1), columns, open_)
    return _chosen(both, exact(values, node, both), k, max(one.missed for one in found))


def _best_of_less(values: Values, node: Less, columns: Tensor, open_: Sequence[int], k: int) -> Best | None:
    """Return the best by a difference, which lie among the best of its left side; None if they lie too far down."""
    wanted = max(_PART, 4 * k)
    while wanted <= _LOOKED_AT:
        left = best(values, node.left, columns, open_, wanted)
        found = _distinct(left.columns, columns, open_)
        least = float(left.heights[-1]) if len(left.heights) == wanted else -np.inf  # of those that were not seen
        chosen = _chosen(found, exact(values, node, found), k, left.missed)
        if len(chosen.heights) and chosen.heights[-1] >= least and (len(chosen.heights) == k or least == -np.inf):
            return chosen
        wanted *= 8
    return None


def _best_of_some(values: Values, node: Some, columns: Tensor, open_: Sequence[int], k: int) -> Best | None:
    """Return the best by a projection: those of the best of its part that differ at open variables, each with its best.

    None if too many of the best differ only in what is projected away.
    """
    wanted = max(_PART, 8 * k)
    while wanted <= _LOOKED_AT:
        part = best(values, node.part, columns, [*open_, *node.variables], wanted)
        _, first = np.unique(part.columns[list(open_)].numpy(), axis=1, return_index=True)
        first = np.sort(first)[:k]
        if len(first) == k or len(part.heights) < wanted:
            return Best(part.columns[:, torch.from_numpy(first)], part.heights[first], part.missed)
        wanted *= 8
    return None


def _distinct(found: Tensor, columns: Tensor, open_: Sequence[int]) -> Tensor:
    """Return the assignments that differ at open variables, each once, with nothing at what is ranged over."""
    made = columns.repeat(1, found.shape[1])
    made[list(open_)] = found[list(open_)]
    distinct: Tensor = torch.unique(made, dim=1)
    return distinct


def _chosen(columns: Tensor, heights: Floats, k: int, missed: float) -> Best:
    """Return the k best of some assignments, smaller ids first on ties."""
    order = np.lexsort((*columns.numpy()[::-1], -heights))[:k]
    return Best(columns[:, torch.from_numpy(order)], heights[order], missed)


def _largest_part(values: Values, node: Some, columns: Tensor) -> Floats:
    if isinstance(node.part, Atom) and len(node.variables) == 1:  # the common case, for all assignments by one kernel
        (variable,) = node.variables
        queries, _ = values.asked(node.part, columns, node.part.variables, variable)
        offered = values.offered(node.part, variable)
        return values.height(node.part, values.combine.top(queries, offered, 1, nothing_known(len(queries)))[1][:, 0])
    parts = (columns[:, [number]] for number in range(columns.shape[1]))
    return np.array([best(values, node.part, part, node.variables, 1).heights[0] for part in parts])


class _Search:
    def __init__(self, values: Values, node: Meaning, columns: Tensor, open_: Sequence[int], k: int) -> None:
        self.values, self.node, self.k = values, node, k
        self.entities = values.model.entity_count
        self.given = set(range(len(columns))).difference(open_, projected(node))
        self.columns, self.heights = columns[:, :0], np.empty(0)
        self.tried, self.most_tried = 0, max(_FEWEST, _WORK // self.entities ** most_projected(node))

    def extend(self, partial: Tensor, variable: int) -> tuple[Tensor, Floats, float]:
        """Return the most promising assignments of one variable more, what they can reach, and what is lost by the rest."""
        places, reach, lost = np.empty(0, np.int64), np.empty(0), -np.inf
        width = _WIDTH if partial.shape[1] == 1 else _DEEP
        for found, high, rest in self._reaching(partial, variable):
            places, reach = np.concatenate([places, found]), np.concatenate([reach, high])
            kept = _largest(reach, width + 1)
            lost = max(lost, rest, float(reach[kept[width]]) if len(kept) > width else -np.inf)
            places, reach = places[kept[:width]], reach[kept[:width]]
        self.given.add(variable)
        return self._made(partial, places, variable), reach, lost

    def _reaching(self, partial: Tensor, variable: int) -> Iterator[tuple[npt.NDArray[np.int64], Floats, float]]:
        """Yield places in the matrix of partial assignments and entities, what they can reach, and what the rest could."""
        atom = _above(self.node) if partial.shape[1] > 1 else None  # of the first variable every entity may be wanted
        size = self.values.rows_at_once if atom is None else 4 * _PART
        for start in range(0, partial.shape[1], size):
            part = partial[:, start : start + size]
            if atom is None:
                high = self.values.between(self.node, part, self.given, variable)[1].ravel()
                yield start * self.entities + np.arange(len(high)), high, -np.inf
                continue
            # The kernel picks the most promising entities of each; without it all bounds would be written and read again.
            k = min(_CHILDREN, self.entities)
            queries, _ = self.values.asked(atom, part, self.given, variable)
            found, scores = self.values.combine.top(
                queries, self.values.offered(atom, variable), k, nothing_known(len(queries))
            )
            high = self.values.height(atom, scores)
            rows = start + np.arange(part.shape[1])[:, None]
            yield (
                (rows * self.entities + found.numpy()).ravel(),
                high.ravel(),
                (float(high[:, -1].max()) if k < self.entities else -np.inf),
            )

    def finish(self, partial: Tensor, reach: Floats, variable: int, missed: float) -> Best:
        """Return the best, meeting partial assignments with all entities for as long as they can reach the best so far."""
        size = 4 * _PART if isinstance(self.node, Atom) else self.values.rows_at_once
        for start in range(0, partial.shape[1], size):
            if reach[start] <= self._least():
                break
            if self.tried >= self.most_tried:
                missed = max(missed, float(reach[start]))
                break
            part = partial[:, start : start + size]
            missed = max(missed, self._meet(part, variable))
        return Best(self.columns, self.heights, missed)

    def _meet(self, partial: Tensor, variable: int) -> float:
        """Take in the best of all entities at the last variable; return what those that were not tried could reach."""
        if isinstance(self.node, Atom):
            self._meet_atom(self.node, partial, variable)
            return -np.inf
        low, high = self.values.between(self.node, partial, self.given, variable)
        low, high = np.broadcast_to(low, high.shape).ravel(), high.ravel()
        for places in _falling(high, self.k):
            places = places[high[places] > self._least()]
            if not len(places):
                break
            if self.tried >= self.most_tried:
                return float(high[places[0]])
            made, found = self._made(partial, places, variable), high[places]
            open_yet = np.flatnonzero(low[places] < found)
            if len(open_yet):
                found[open_yet] = exact(self.values, self.node, made[:, torch.from_numpy(open_yet)])
                self.tried += len(open_yet)
            self._take(made, found)
        return -np.inf

    def _meet_atom(self, atom: Atom, partial: Tensor, variable: int) -> None:
        """Let the kernel pick: no score is kept."""
        queries, _ = self.values.asked(atom, partial, self.given, variable)
        k = min(self.k, self.entities)
        offered = self.values.offered(atom, variable)
        places, scores = self.values.combine.top(queries, offered, k, nothing_known(len(queries)))
        made = partial.repeat_interleave(k, 1)
        made[variable] = places.flatten()
        self._take(made, self.values.height(atom, scores.flatten()))

    def _made(self, partial: Tensor, places: npt.NDArray[np.int64], variable: int) -> Tensor:
        """Return the assignments that stand at places of a matrix of partial assignments and entities."""
        made = partial[:, torch.from_numpy(places // self.entities)]
        made[variable] = torch.from_numpy(places % self.entities)
        return made

    def _least(self) -> float:
        """Return the value that the next one must be above."""
        return float(self.heights[-1]) if len(self.heights) >= self.k else -np.inf

    def _take(self, columns: Tensor, heights: Floats) -> None:
        """Keep the k best, smaller ids first on ties."""
        better = np.flatnonzero(heights > self._least())
        columns, heights = columns[:, torch.from_numpy(better)], heights[better]
        columns, heights = torch.cat([self.columns, columns], 1), np.concatenate([self.heights, heights])
        found = _chosen(columns, heights, self.k, -np.inf)
        self.columns, self.heights = found.columns, found.heights


def _above(node: Meaning) -> Atom | None:
    """Return an atom that no value of the node is above, whatever is assigned to the variables that it has more."""
    while not isinstance(node, Atom):
        if isinstance(node, Largest):
            return None
        node = node.part if isinstance(node, Some) else node.left
    return node


def _falling(values: Floats, k: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield the places of all values in parts, those of the largest first."""
    size, done = max(_PART, 2 * k), 0
    while done < len(values):
        yield _largest(values, done + size)[done:]
        done, size = done + size, 4 * size


def _largest(values: Floats, count: int) -> npt.NDArray[np.int64]:
    """Return the places of the largest values, largest first, smaller places first on ties."""
    places = np.arange(len(values)) if count >= len(values) else np.argpartition(-values, count)[:count]
    return places[np.lexsort((places, -values[places]))]
