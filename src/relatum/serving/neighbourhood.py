"""Where the facts and entities around an entity are drawn: hubs and nodes in columns, so ordered that no spokes cross.

A fact is a small hub between the entity in the middle and its other entities. On a wide drawing facts stand to both sides,
those that share an entity beside each other, so that it is drawn once where that makes no spokes cross. On a narrow one they
hang from a trunk, one below the other. Nothing is drawn at random: the same facts give the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from relatum.resources.references import EntityRef, FactRef

_SWEEPS = 4
_WIDE, _NARROW = 840.0, 360.0  # widths, in pixels of the drawing
_HUB, _NODE = 176.0, 286.0  # distances of hubs and nodes from the middle of a wide drawing
_ROW, _HUB_ROW, _MARGIN = 25.0, 44.0, 26.0  # least distances of nodes, of hubs, and of both from the edge
_TRUNK, _STEM, _TWIG = 20.0, 52.0, 146.0  # of a narrow drawing: where the trunk, hubs and nodes stand


class Node(NamedTuple):
    """An entity, and where it stands; `side` is -1 to the left of the middle and 1 to the right."""

    entity: EntityRef
    x: float
    y: float
    side: int


class Hub(NamedTuple):
    """A fact, and where its hub stands, as a node does."""

    fact: FactRef
    x: float
    y: float
    side: int


class Spoke(NamedTuple):
    """A line from a hub to an entity of its fact, or from the middle to a hub, with the role that the entity has there."""

    hub: Hub
    end: Node | None
    role: str


class Layout(NamedTuple):
    """A drawing: the entity in the middle, hubs, other entities and spokes, and how much room they take."""

    middle: Node
    hubs: list[Hub]
    nodes: list[Node]
    spokes: list[Spoke]
    width: float
    height: float
    narrow: bool


def arrange_wide(centre: EntityRef, facts: Sequence[FactRef]) -> Layout:
    """Return a layout with facts to both sides of an entity."""
    sides = [_Side(centre, part) for part in _halves(centre, _chained(centre, facts))]
    height = max([120.0, *(side.height for side in sides)]) + 2 * _MARGIN
    middle = Node(centre, _WIDE / 2, height / 2, 0)
    hubs, nodes, spokes = list[Hub](), list[Node](), list[Spoke]()
    for side, way in zip(sides, (1, -1), strict=True):
        top = (height - side.height) / 2
        own = [Node(entity, _WIDE / 2 + way * _NODE, top + y, way) for entity, y in side.nodes]
        nodes += own
        for fact, y, ends in zip(side.facts, side.hubs, side.ends, strict=True):
            hub = Hub(fact, _WIDE / 2 + way * _HUB, top + y, way)
            hubs.append(hub)
            for entity, role in zip(fact.entities, fact.roles, strict=True):
                spokes.append(Spoke(hub, None if entity.name == centre.name else own[ends[entity.name]], role))
    return Layout(middle, hubs, nodes, spokes, _WIDE, height, narrow=False)


def arrange_narrow(centre: EntityRef, facts: Sequence[FactRef]) -> Layout:
    """Return a layout for a narrow screen: facts hang from a trunk, each with entities of its own."""
    middle = Node(centre, _TRUNK, _MARGIN, 0)
    hubs, nodes, spokes = list[Hub](), list[Node](), list[Spoke]()
    y = _MARGIN + 46.0
    for fact in facts:
        hub = Hub(fact, _STEM, y, 1)
        hubs.append(hub)
        for entity, role in zip(fact.entities, fact.roles, strict=True):
            if entity.name == centre.name:
                spokes.append(Spoke(hub, None, role))
                continue
            y += _ROW
            nodes.append(Node(entity, _TWIG, y, 1))
            spokes.append(Spoke(hub, nodes[-1], role))
        y += _HUB_ROW
    return Layout(middle, hubs, nodes, spokes, _NARROW, y - _HUB_ROW + _MARGIN, narrow=True)


def _others(centre: EntityRef, fact: FactRef) -> dict[str, EntityRef]:
    return {entity.name: entity for entity in fact.entities if entity.name != centre.name}


def _chained(centre: EntityRef, facts: Sequence[FactRef]) -> list[FactRef]:
    """Return the facts so ordered that those which share an entity follow each other; else they stay as they were."""
    left, found = list(facts), list[FactRef]()
    while left:
        last = _others(centre, found[-1]).keys() if found else set[str]()
        following = next((fact for fact in left if last & _others(centre, fact).keys()), left[0])
        left.remove(following)
        found.append(following)
    return found


def _halves(centre: EntityRef, facts: Sequence[FactRef]) -> tuple[Sequence[FactRef], Sequence[FactRef]]:
    """Return the facts of both sides, about equally high; facts that share an entity stay on one side if they can."""
    rooms = [max(_HUB_ROW, _ROW * len(_others(centre, fact))) for fact in facts]
    half = sum(rooms) / 2

    def cost(cut: int) -> float:
        shared = 0 < cut < len(facts) and _others(centre, facts[cut - 1]).keys() & _others(centre, facts[cut]).keys()
        return abs(sum(rooms[:cut]) - half) + (1.5 * _HUB_ROW if shared else 0.0)

    cut = min(range(len(facts) + 1), key=cost)
    return facts[:cut], facts[cut:]


class _Side:
    """The facts and entities of one side with their heights.

    Attributes:
        facts: from top to bottom.
        hubs: how high each stands.
        nodes: the entities and how high they stand.
        ends: for each fact, which of the nodes is which of its entities.
    """

    def __init__(self, centre: EntityRef, facts: Sequence[FactRef]) -> None:
        self.facts = list(facts)
        self.hubs, self.nodes, self.ends = list[float](), list[tuple[EntityRef, float]](), list[dict[str, int]]()
        others = [_others(centre, fact) for fact in self.facts]
        for index, own in enumerate(others):
            self._add(own, others[index + 1].keys() if index + 1 < len(others) else set())
        self._relax()
        self.height = max([0.0, *self.hubs, *(y for _, y in self.nodes)])

    def _add(self, own: dict[str, EntityRef], following: Set[str]) -> None:
        """Add a fact: an entity that the last node is already comes first, one that the next fact has comes last."""
        last = self.nodes[-1][0].name if self.nodes else None
        shared = last if last is not None and last in own and last in self.ends[-1] else None
        rest = sorted((name for name in own if name != shared), key=lambda name: name in following)
        hub = self.hubs[-1] + _HUB_ROW if self.hubs else 0.0
        ends = {} if shared is None else {shared: len(self.nodes) - 1}
        if rest:
            half = _ROW * (len(rest) - 1) / 2
            y = max(hub - half, self.nodes[-1][1] + _ROW if self.nodes else 0.0)
            hub = max(hub, y + half)
            for name in rest:
                ends[name] = len(self.nodes)
                self.nodes.append((own[name], y))
                y += _ROW
        self.hubs.append(hub)
        self.ends.append(ends)

    def _relax(self) -> None:
        """Move nodes towards the middle of their hubs, as far as their neighbours leave room."""
        wanted = [
            [hub for hub, ends in zip(self.hubs, self.ends, strict=True) if at in ends.values()]
            for at in range(len(self.nodes))
        ]
        rows = [y for _, y in self.nodes]
        for _ in range(_SWEEPS):
            for at, hubs in enumerate(wanted):
                y = sum(hubs) / len(hubs)
                y = min(y, rows[at + 1] - _ROW) if at + 1 < len(rows) else y
                rows[at] = max(y, rows[at - 1] + _ROW if at else 0.0)
        self.nodes = [(entity, y) for (entity, _), y in zip(self.nodes, rows, strict=True)]
