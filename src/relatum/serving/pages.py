"""Pages: what resources hold as HTML, by templates that escape all they are given and know where all links lead.

What takes long to work out is handed in apart, or is None: then the page says where it can be had, and a script gets it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from relatum.algebra.lexer import as_written, write_arguments
from relatum.report.charts import reliability_curve
from relatum.report.page import templates
from relatum.resources.entity import EntityPage, FactGroup
from relatum.resources.overview import RunOverview, TrainingView
from relatum.resources.references import EntityRef, FactRef
from relatum.resources.relation import RelationPage
from relatum.serving import drawings
from relatum.serving.addresses import PageContext, address

_LONGEST_ADDRESS = 4_000  # bytes: a page has many
_LONGEST_QUESTION = 1000  # characters of one that a page offers
_MOST_EPOCHS = 60  # in the table beside curves


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run in the list of runs: its name in addresses, and what is known of it by now; with neither it is being opened."""

    name: str
    overview: RunOverview | None = None
    training: TrainingView | None = None


def render(template: str, at: PageContext, page: object = None, **shown: Any) -> str:
    """Return a page: a template with the resource that it shows, and with what else it takes."""
    given = {"at": at, "section": None, "question": "", "example": _example(page), "twin": at.twin, "page": page, **shown}
    return _environment().get_template(template).render(given)


@cache
def static_edition() -> str:
    """Return a short text that is another one when a static file is."""
    digest = hashlib.sha256()
    for file in sorted(files(__package__ or "relatum.serving").joinpath("static").iterdir(), key=lambda one: one.name):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@cache
def _environment() -> Environment:
    environment = templates(__package__ or "relatum.serving")
    environment.filters |= {
        "clipped": drawings.clipped,
        "exact": lambda value: Markup("{}").format(value),  # for a field that is sent back: no character is changed
        "readable": _readable,
        "shown": drawings.shown_name,
        "tuple": tuple,
        "zipped": lambda first, second: list(zip(first, second, strict=True)),
    }
    environment.globals |= {
        "address": address,
        "address_of": _address_of,
        "by_epoch": _by_epoch,
        "calibration_curve": reliability_curve,
        "drawn_facts": drawings.drawn_facts,
        "fact_address": _fact_address,
        "facts_address": _facts_address,
        "missing_address": _missing_address,
        "neighbourhood_drawing": lambda page, at: drawings.neighbourhood(
            page.centre, page.facts, at.entity, lambda fact: _fact_address(at, fact)
        ),
        "probability_bar": drawings.probability_bar,
        "question_at": _question_at,
        "questions_around": _questions_around,
        "relation_address": _relation_address,
        "roles_as_columns": lambda roles: [(role, "") for role in roles],
        "static": lambda file: f"/-/static/{file}?v={static_edition()}",
        "with_part": lambda where, part: f"{where}{'&' if '?' in where else '?'}show={part}",
    }
    return environment


def _example(page: object) -> str | None:
    """Return a question that can be asked about what a page shows, for the empty box."""
    if isinstance(page, EntityPage):
        asked = next(filter(None, (_question_at(group, page.entity.name) for group in page.groups)), None)
        return asked and _readable(asked, [page.entity])
    rows = page.relations if isinstance(page, RunOverview) else (page.relation,) if isinstance(page, RelationPage) else ()
    return next((_readable(row.question, row.example or ()) for row in rows if row.question), None)


def _fitting(where: str, otherwise: str) -> str:
    """Return an address, or another one where it is too long."""
    return where if len(where) <= _LONGEST_ADDRESS else otherwise


def _fact_address(at: PageContext, fact: FactRef) -> str:
    return _fitting(at.url("explain", fact=fact.text), _relation_address(at, fact.relation))


def _relation_address(at: PageContext, name: str) -> str:
    return _fitting(at.relation(name), at.url())


def _facts_address(at: PageContext, entity: str, relation: str | None = None, role: str | None = None) -> str:
    return _fitting(at.url("facts", entity=entity, relation=relation, role=role), at.entity(entity))


def _missing_address(at: PageContext, name: str, after: str | None = None) -> str:
    return _fitting(at.url("missing", name, after=after), at.url("missing"))


def _address_of(at: PageContext) -> str:
    """Return the address of a page itself, which its twin's follows from."""
    path, sign, query = at.twin.partition("?")
    return path.removesuffix(".json") + sign + query


def _question_at(group: FactGroup, entity: str) -> str | None:
    """Return the question whose answers have an entity at the position of a group; None where nothing is left to ask."""
    arity = len(group.facts[0].entities) if group.facts else 1
    if arity < 2 or len(group.relation) + len(entity) > _LONGEST_QUESTION:
        return None
    arguments = tuple(entity if position == group.position else None for position in range(arity))
    return as_written(group.relation) + write_arguments(arguments)


def _questions_around(fact: FactRef) -> list[str]:
    """Return the questions that a fact answers, one for each position."""
    names = tuple(one.name for one in fact.entities)
    found = [(*names[:position], None, *names[position + 1 :]) for position in range(len(names))]
    written = [as_written(fact.relation) + write_arguments(arguments) for arguments in found]
    return [text for text in written if len(text) <= _LONGEST_QUESTION]


def _readable(text: str, entities: Iterable[EntityRef | None]) -> str:
    """Return a question or a fact with entities as people call them; what is sent to the server keeps their names."""
    for one in entities:
        if one is not None:
            text = text.replace(as_written(one.name), as_written(drawings.shown_name(one)), 1)
    return text


def _by_epoch(page: TrainingView) -> list[tuple[int, float | None, float | None, float]]:
    """Return the epochs, the latest first, with the loss and the validation MRR; at most as many as can be read."""
    losses, scores = ({point.epoch: point for point in points} for points in (page.losses, page.validations))
    epochs = sorted(scores or losses, reverse=True)
    step = -(-len(epochs) // _MOST_EPOCHS) if epochs else 1
    return [
        (
            epoch,
            losses[epoch].value if epoch in losses else None,
            scores[epoch].value if epoch in scores else None,
            (scores.get(epoch) or losses[epoch]).seconds,
        )
        for epoch in epochs[::step]
    ]
