"""Where the boxes and arrows of a graph stand: in layers from left to right, so ordered that few arrows cross.

Boxes that arrows connect form a group; groups stand below and beside each other. Where arrows go in a circle, some lead
backwards. Each arrow ends in a level line of its own, which leaves room for its label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

__all__ = ["Arrow", "Box", "Edge", "Layers", "Picture", "arrange"]

Point = tuple[float, float]
Node = str | tuple[int, int]  # a name; or the number of a link and a layer that it passes

_SWEEPS = 8
_CHARACTER = 6.7  # the width of one, at the size of text that is drawn
_BOX, _LANE, _BETWEEN = 24.0, 19.0, 14.0  # heights: of a box with one arrow, of each more, between boxes
_SLOPE, _MARGIN = 46.0, 12.0


@dataclass(frozen=True)
class Edge:
    """From one box to another; `style` says how it is drawn."""

    source: str
    target: str
    label: str
    style: str = "solid"


@dataclass(frozen=True)
class Box:
    """A named box, by its upper left corner and its size."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Arrow:
    """An edge, by the points it goes through, and where its label begins: above its last, level part."""

    edge: Edge
    points: tuple[Point, ...]
    label: Point


@dataclass
class Picture:
    """Boxes and arrows, and how much room they take."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0

    def add(self, other: Picture, x: float, y: float) -> None:
        """Put another picture in, its upper left corner at a point."""
        self.boxes += [replace(box, x=box.x + x, y=box.y + y) for box in other.boxes]
        for arrow in other.arrows:
            points = tuple((px + x, py + y) for px, py in arrow.points)
            self.arrows.append(Arrow(arrow.edge, points, (arrow.label[0] + x, arrow.label[1] + y)))
        self.width, self.height = max(self.width, x + other.width), max(self.height, y + other.height)


def arrange(edges: Sequence[Edge]) -> Picture:
    """Return the picture of some edges; the same edges give the same picture."""
    groups = sorted((_Group(part).picture() for part in _connected(edges)), key=lambda one: -one.height)
    most = max([1.3 * sum(one.width * one.height for one in groups) ** 0.5, *(one.width for one in groups)], default=0.0)
    whole, x, y, shelf = Picture(), 0.0, 0.0, 0.0
    for one in groups:
        if x and x + one.width > most:
            x, y, shelf = 0.0, y + shelf, 0.0
        whole.add(one, x, y)
        x, shelf = x + one.width, max(shelf, one.height)
    return whole


def _connected(edges: Sequence[Edge]) -> list[list[Edge]]:
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    for edge in edges:
        group[root(edge.source)] = root(edge.target)
    parts: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        parts[root(edge.target)].append(edge)
    return list(parts.values())


class _Group:
    """Connected edges, and the coordinates of what they connect: by layer from left to right, by row from top to bottom."""

    def __init__(self, edges: list[Edge]) -> None:
        self.edges = edges
        self.layers = layers = Layers.of([(edge.source, edge.target) for edge in edges])
        self.arriving: dict[str, list[int]] = {name: [] for name in layers.layer}
        for number, edge in enumerate(edges):
            self.arriving[edge.target].append(number)
        self.heights = {node: self._height(node) for row in layers.rows for node in row}
        sizes = [sum(self.heights[node] + _BETWEEN for node in row) for row in layers.rows]
        self.tops: dict[Node, float] = {}
        for row, size in zip(layers.rows, sizes, strict=True):
            y = _MARGIN + (max(sizes) - size) / 2
            for node in row:
                self.tops[node], y = y, y + self.heights[node] + _BETWEEN
        self.lefts, self.rights, x = list[float](), list[float](), _MARGIN
        for number, row in enumerate(layers.rows):
            self.lefts.append(x)
            self.rights.append(x + max([_width(node) for node in row if isinstance(node, str)], default=0.0))
            x = self.rights[-1] + self._labels(number, True) + self._labels(number + 1, False) + _SLOPE
        self.width, self.height = self.rights[-1] + _MARGIN, max(sizes) + 2 * _MARGIN

    def picture(self) -> Picture:
        found = Picture(width=self.width, height=self.height)
        for name, number in self.layers.layer.items():
            found.boxes.append(Box(name, self.lefts[number], self.tops[name], _width(name), self.heights[name]))
        for name, numbers in self.arriving.items():
            numbers.sort(key=lambda number: self._middle(self._neighbour(number)))
            for lane, number in enumerate(numbers):
                y = self._middle(name) + (lane - (len(numbers) - 1) / 2) * _LANE
                found.arrows.append(self._arrow(number, y))
        return found

    def _arrow(self, number: int, y: float) -> Arrow:
        edge, back = self.edges[number], number in self.layers.backward
        middles = list[Point]()
        for node in self.layers.routes[number][1:-1]:
            if not isinstance(node, str):
                middles += [(side[node[1]], self._middle(node)) for side in (self.lefts, self.rights)]
        x, level = self._side(edge.target, right=back), _CHARACTER * len(edge.label) + 14
        start = (self._side(edge.source, right=not back), self._middle(edge.source))
        bend = x + level if back else x - level
        label = (x + 12 if back else bend + 2, y - 5)
        return Arrow(edge, (start, *(middles[::-1] if back else middles), (bend, y), (x, y)), label)

    def _side(self, name: str, *, right: bool) -> float:
        return self.lefts[self.layers.layer[name]] + (_width(name) if right else 0.0)

    def _middle(self, node: Node) -> float:
        return self.tops[node] + self.heights[node] / 2

    def _neighbour(self, number: int) -> Node:
        """Return the node from which an edge comes to its target."""
        route = self.layers.routes[number]
        return route[1] if number in self.layers.backward else route[-2]

    def _height(self, node: Node) -> float:
        return max(_BOX, _LANE * len(self.arriving[node]) + 7) if isinstance(node, str) else _LANE

    def _labels(self, number: int, backward: bool) -> float:
        """Return the width of the longest label that arrives at a layer, from the left or backwards, from the right."""
        edges = enumerate(self.edges)
        mine = (edge for number, edge in edges if (number in self.layers.backward) == backward)
        return _CHARACTER * max((len(edge.label) for edge in mine if self.layers.layer[edge.target] == number), default=0)


def _width(name: str) -> float:
    return _CHARACTER * len(name) + 16


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
        for name, column in layer.items():
            rows[column].append(name)
        routes = list[list[Node]]()
        for number, (left, right) in enumerate(ends):
            passed: list[Node] = [(number, column) for column in range(layer[left] + 1, layer[right])]
            for column, node in enumerate(passed, layer[left] + 1):
                rows[column].append(node)
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
            ranks = {node: (number + 0.5) / len(before) for number, node in enumerate(before)}
            middles = dict[Node, float]()
            for number, node in enumerate(row):
                linked = [ranks[other] for other in beside[node] if other in ranks]
                middles[node] = sum(linked) / len(linked) if linked else (number + 0.5) / len(row)
            row.sort(key=middles.__getitem__)
