"""Where the facts and entities around an entity are drawn: hubs and nodes in columns, so ordered that few spokes cross.

A fact is a small hub between the entity in the middle and its other entities. On a wide drawing facts stand to both sides;
on a narrow one they hang from a trunk, one below the other. Nothing is drawn at random: the same facts give the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relatum.resources.references import EntityRef, FactRef

__all__ = ["Hub", "Layout", "Node", "Spoke", "arrange_narrow", "arrange_wide"]

_SWEEPS = 6
_WIDE, _NARROW = 800.0, 360.0  # widths, in pixels of the drawing
_HUB, _NODE = 168.0, 268.0  # distances of hubs and nodes from the middle of a wide drawing
_ROW, _HUB_ROW, _MARGIN = 25.0, 44.0, 26.0  # least distances of nodes, of hubs, and of both from the edge
_TRUNK, _STEM, _TWIG = 20.0, 52.0, 146.0  # of a narrow drawing: where the trunk, hubs and nodes stand


@dataclass(frozen=True, slots=True)
class Hub:
    """A fact, and where its hub stands; `side` is -1 to the left of the middle and 1 to the right."""

    fact: FactRef
    x: float
    y: float
    side: int


@dataclass(frozen=True, slots=True)
class Node:
    """An entity, and where it stands."""

    entity: EntityRef
    x: float
    y: float
    side: int


@dataclass(frozen=True, slots=True)
class Spoke:
    """A line from a hub to an entity of its fact, or from the middle to a hub, with the role that the entity has there."""

    hub: Hub
    end: Node | None
    role: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing: the entity in the middle, hubs, other entities and spokes, and how much room they take."""

    middle: Node
    hubs: tuple[Hub, ...]
    nodes: tuple[Node, ...]
    spokes: tuple[Spoke, ...]
    width: float
    height: float
    narrow: bool


def arrange_wide(centre: EntityRef, facts: Sequence[FactRef]) -> Layout:
    """Return a layout with facts to both sides of an entity; one that several facts of a side have is drawn once there."""
    sides = [_Side(centre, part) for part in _sides(centre, facts)]
    height = max([120.0, *(side.height for side in sides)]) + 2 * _MARGIN
    middle = Node(centre, _WIDE / 2, height / 2, 0)
    hubs, nodes, spokes = list[Hub](), list[Node](), list[Spoke]()
    for side, way in zip(sides, (1, -1), strict=True):
        top = (height - side.height) / 2
        drawn = {
            name: Node(entity, _WIDE / 2 + way * _NODE, top + side.rows[name], way) for name, entity in side.entities.items()
        }
        nodes += drawn.values()
        for fact, y in zip(side.facts, side.hub_rows, strict=True):
            hub = Hub(fact, _WIDE / 2 + way * _HUB, top + y, way)
            hubs.append(hub)
            for entity, role in zip(fact.entities, fact.roles, strict=True):
                spokes.append(Spoke(hub, None if entity.name == centre.name else drawn[entity.name], role))
    return Layout(middle, tuple(hubs), tuple(nodes), tuple(spokes), _WIDE, height, narrow=False)


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
    return Layout(middle, tuple(hubs), tuple(nodes), tuple(spokes), _NARROW, y - _HUB_ROW + _MARGIN, narrow=True)


def _sides(centre: EntityRef, facts: Sequence[FactRef]) -> tuple[list[FactRef], list[FactRef]]:
    """Return the facts of both sides: those of one relation together where that leaves the sides about even."""
    groups = dict[tuple[str, tuple[int, ...]], list[FactRef]]()
    for fact in facts:
        where = tuple(index for index, entity in enumerate(fact.entities) if entity.name == centre.name)
        groups.setdefault((fact.relation, where), []).append(fact)
    sides: tuple[list[FactRef], list[FactRef]] = ([], [])
    heights = [0.0, 0.0]
    half = sum(map(_room, facts)) / 2
    for group in sorted(groups.values(), key=lambda one: -sum(map(_room, one))):
        for fact in group:
            # A group stays on the side of its first fact until that side has its half.
            shorter = 0 if heights[0] <= heights[1] else 1
            side = next((way for way in (0, 1) if group[0] in sides[way] and heights[way] < half), shorter)
            sides[side].append(fact)
            heights[side] += _room(fact)
    return sides


def _room(fact: FactRef) -> float:
    return max(_HUB_ROW, _ROW * (len(fact.entities) - 1))


class _Side:
    """The facts and entities of one side, in the order in which few spokes cross, with their heights."""

    def __init__(self, centre: EntityRef, facts: Sequence[FactRef]) -> None:
        self.facts = list(facts)
        self.entities = {
            entity.name: entity for fact in self.facts for entity in fact.entities if entity.name != centre.name
        }
        self._names = {
            id(fact): [entity.name for entity in fact.entities if entity.name != centre.name] for fact in self.facts
        }
        for _ in range(_SWEEPS):
            self._order()
        self.rows = dict[str, float]()
        self.hub_rows = list[float]()
        self._settle()
        self.height = max([0.0, *self.rows.values(), *self.hub_rows])

    def _order(self) -> None:
        """Put entities where their facts are on average, and facts where their entities are."""
        at = {id(fact): index for index, fact in enumerate(self.facts)}
        known = dict[str, list[int]]()
        for fact in self.facts:
            for name in self._names[id(fact)]:
                known.setdefault(name, []).append(at[id(fact)])
        names = sorted(self.entities, key=lambda name: sum(known[name]) / len(known[name]))
        self.entities = {name: self.entities[name] for name in names}
        row = {name: index for index, name in enumerate(names)}

        def height(fact: FactRef) -> float:
            own = self._names[id(fact)]
            return sum(row[name] for name in own) / len(own) if own else at[id(fact)]

        self.facts.sort(key=height)

    def _settle(self) -> None:
        """Put hubs and nodes into rows, neither closer to each other than they may be."""
        y, first = 0.0, dict[str, int]()
        for index, fact in enumerate(self.facts):
            for name in self._names[id(fact)]:
                first.setdefault(name, index)
        for index, fact in enumerate(self.facts):
            own = [name for name in self.entities if first[name] == index]
            start = y
            for name in own:
                self.rows[name] = y
                y += _ROW
            middle = [self.rows[name] for name in self._names[id(fact)]]
            hub = sum(middle) / len(middle) if middle else y
            if self.hub_rows:
                hub = max(hub, self.hub_rows[-1] + _HUB_ROW)
            if own and hub > (start + y - _ROW) / 2 and set(own) == set(self._names[id(fact)]):
                # The entities of this fact alone go down with their hub.
                shift = hub - (start + y - _ROW) / 2
                for name in own:
                    self.rows[name] += shift
                y += shift
            self.hub_rows.append(hub)
            y = max(y, hub + (0.0 if own else _ROW))
