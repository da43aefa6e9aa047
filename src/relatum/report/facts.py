"""Facts and questions as they are shown on the page."""

from __future__ import annotations

from collections.abc import Sequence

from relatum.models.base import Model
from relatum.report.markup import Markup, entity, join, tag
from relatum.runs.run import Run

__all__ = ["position_name", "shown_entities", "shown_question"]


def shown_question(run: Run, relation: int, entities: Sequence[int], position: int) -> Markup:
    """Return a question: a fact by name, with a question mark in the place of the entity at `position`."""
    name = entity(run.model.schema[relation].name)
    return tag("span", name, "(", shown_entities(run, entities, position, hidden=True), ")", class_="fact")


def shown_entities(run: Run, entities: Sequence[int], position: int, *, hidden: bool = False) -> Markup:
    """Return entities by name, the one at `position` set apart, or hidden behind a question mark."""
    names = run.model.graph.entities
    arguments = [
        tag("b", "?" if hidden else entity(names[int(one)])) if place == position else entity(names[int(one)])
        for place, one in enumerate(entities)
    ]
    return join(arguments, ", ")


def position_name(model: Model, relation: int, position: int) -> str:
    """Return what a position of a relation is called: its role, or its number from 0."""
    roles = model.schema[relation].roles
    return roles[position] if roles else str(position)
