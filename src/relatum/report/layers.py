"""Nodes of a graph in layers from left to right, so ordered that few links cross."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Layers", "Node"]

Node = str | tuple[int, int]  # a name; or the number of a link and a layer that it passes

_SWEEPS = 8


@dataclass(frozen=True)
class Layers:
    """Where nodes stand.

    Attributes:
        layer: the layer of each named node, from 0; links lead to the right, but for those in `backward`.
        rows: the nodes of each layer from top to bottom; a link that passes a layer has a node of its own there.
        routes: the nodes that each link goes through, from left to right.
        backward: the links that lead to the left, since links go in circles.
    """

    layer: dict[str, int]
    rows: list[list[Node]]
    routes: list[list[Node]]
    backward: set[int]

    @classmethod
    def of(cls, links: Sequence[tuple[str, str]]) -> Layers:
        """Return the layers of a graph, given by the source and the target of each link."""
        backward = _backward(links)
        ends = [link[::-1] if number in backward else link for number, link in enumerate(links)]
        layer = _longest(ends)
        rows: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
        for name, place in layer.items():
            rows[place].append(name)
        routes = list[list[Node]]()
        for number, (left, right) in enumerate(ends):
            passed: list[Node] = [(number, place) for place in range(layer[left] + 1, layer[right])]
            for place, node in enumerate(passed, layer[left] + 1):
                rows[place].append(node)
            routes.append([left, *passed, right])
        _untangle(rows, routes)
        return cls(layer, rows, routes, backward)


def _backward(links: Sequence[tuple[str, str]]) -> set[int]:
    """Return links without which there are no circles: those that a walk finds to lead back to where it came from."""
    leaving: dict[str, list[int]] = defaultdict(list)
    for number, (source, _) in enumerate(links):
        leaving[source].append(number)
    found, done = set[int](), set[str]()
    for start in dict.fromkeys(source for source, _ in links):
        path, walk = {start: None}, [(start, iter(leaving[start]))]
        while walk and start not in done:
            name, rest = walk[-1]
            number = next(rest, -1)
            if number < 0:
                walk.pop()
                done.add(name)
                del path[name]
            elif (target := links[number][1]) in path:
                found.add(number)
            elif target not in done:
                path[target] = None
                walk.append((target, iter(leaving[target])))
    return found


def _longest(links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return for each node how many links the longest way to it has, in a graph without circles of more than one node."""
    layer = dict.fromkeys((name for link in links for name in link), 0)
    changed = True
    while changed:
        changed = False
        for left, right in links:
            if layer[right] <= layer[left] and left != right:
                layer[right], changed = layer[left] + 1, True
    return layer


def _untangle(rows: list[list[Node]], routes: Sequence[Sequence[Node]]) -> None:
    """Order each layer by where what its nodes are linked with stands in the layer before, from either side in turn."""
    beside: dict[Node, list[Node]] = defaultdict(list)
    for route in routes:
        for one, other in pairwise(route):
            beside[one].append(other)
            beside[other].append(one)
    for sweep in range(_SWEEPS):
        for before, row in pairwise(rows if sweep % 2 == 0 else rows[::-1]):
            places = {node: (number + 0.5) / len(before) for number, node in enumerate(before)}
            middles = dict[Node, float]()
            for number, node in enumerate(row):
                linked = [places[other] for other in beside[node] if other in places]
                middles[node] = sum(linked) / len(linked) if linked else (number + 0.5) / len(row)
            row.sort(key=middles.__getitem__)
