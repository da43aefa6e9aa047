"""Templates filled with what a page shows: they escape all they are given, and know the addresses of all they link to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from relatum.algebra.lexer import as_written, write_arguments
from relatum.formatting import count, duration, listed, number, percent, score
from relatum.report import charts
from relatum.report.page import finalized, name_of, shortened, unbroken
from relatum.resources.entity import FactGroup, Neighbourhood
from relatum.resources.quality import CalibrationView
from relatum.resources.references import EntityRef, FactRef
from relatum.resources.training import CurvePoint, TrainingView
from relatum.serving import drawings
from relatum.serving.addresses import PageContext, address

_LONGEST_ADDRESS = 1000  # characters of a name or a fact in an address: up to twelve bytes each
_MOST_EPOCHS = 60  # in the table beside curves


@cache
def static_edition() -> str:
    """Return a short text that is another one when a static file is."""
    digest = hashlib.sha256()
    for file in sorted(files(__package__ or "relatum.serving").joinpath("static").iterdir(), key=lambda one: one.name):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def fill_template(template: str, at: PageContext, section: str | None = None, /, **shown: Any) -> str:
    """Return a page: a template with what it shows, and which of the run's sections it belongs to."""
    given = {"at": at, "section": section, "question": "", "example": None, "twin": at.twin, **shown}
    return _environment().get_template(template).render(given)


def _fact_address(at: PageContext, fact: FactRef) -> str:
    """Return the address of what speaks for a fact; that of its relation where its names are too long for an address."""
    return at.url("explain", fact=fact.text) if len(fact.text) <= _LONGEST_ADDRESS else _relation_address(at, fact.relation)


def _relation_address(at: PageContext, name: str) -> str:
    """Return the address of a relation; that of the run where its name is too long for an address."""
    return at.relation(name) if len(name) <= _LONGEST_ADDRESS else at.url()


def _facts_address(at: PageContext, entity: str, relation: str | None = None, role: str | None = None) -> str:
    """Return the address of an entity's facts; that of the entity where its name is too long for an address."""
    short = len(entity) + len(relation or "") <= _LONGEST_ADDRESS
    return at.url("facts", entity=entity, relation=relation, role=role) if short else at.entity(entity)


def _missing_address(at: PageContext, name: str, after: str | None = None) -> str:
    return at.url("missing", name, after=after) if len(name) <= _LONGEST_ADDRESS else at.url("missing")


@cache
def _environment() -> Environment:
    """Return the templates with what they can call; whatever they are given is escaped, and is text that does nothing."""
    environment = Environment(
        loader=PackageLoader(__package__ or "relatum.serving"),
        autoescape=True,
        finalize=finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": count,
        "clipped": drawings.clipped,
        "duration": duration,
        "exact": lambda value: Markup("{}").format(value),  # for a field that is sent back: no character is changed
        "listed": listed,
        "name": name_of,
        "shortened": shortened,
        "tuple": tuple,
        "zipped": lambda first, second: list(zip(first, second, strict=True)),
        "number": number,
        "percent": lambda share, digits=1: unbroken(percent(share, digits)),
        "readable": readable,
        "score": score,
        "shown": drawings.shown_name,
        "unbroken": unbroken,
    }
    environment.globals |= {
        "bar": charts.bar,
        "by_epoch": _by_epoch,
        "calibration_curve": _calibration_curve,
        "interval_line": charts.interval_line,
        "learning_curve": _learning_curve,
        "neighbourhood_drawing": _neighbourhood,
        "probability_bar": drawings.probability_bar,
        "question_at": question_at,
        "questions_around": _questions_around,
        "roles_as_columns": lambda roles: [(role, "") for role in roles],
        "with_part": _with_part,
        "drawn_facts": drawings.drawn_facts,
        "address": address,
        "address_of": _address_of,
        "fact_address": _fact_address,
        "facts_address": _facts_address,
        "missing_address": _missing_address,
        "relation_address": _relation_address,
        "static": lambda file: f"/-/static/{file}?v={static_edition()}",
    }
    return environment


def _address_of(at: PageContext) -> str:
    """Return the address of a page itself, which its twin's follows from."""
    path, sign, query = at.twin.partition("?")
    return path.removesuffix(".json") + sign + query


def _with_part(where: str, part: str) -> str:
    """Return the address of a page with a part that takes a while to work out."""
    return f"{where}{'&' if '?' in where else '?'}show={part}"


def question_at(group: FactGroup, entity: str) -> str | None:
    """Return the question whose answers have an entity at the position of a group; None where nothing is left to ask."""
    arity = len(group.facts[0].entities) if group.facts else 1
    if arity < 2 or len(group.relation) + len(entity) > _LONGEST_ADDRESS:
        return None
    arguments = tuple(entity if position == group.position else None for position in range(arity))
    return as_written(group.relation) + write_arguments(arguments)


def _questions_around(fact: FactRef) -> list[str]:
    """Return the questions that a fact answers, one for each position."""
    names = tuple(one.name for one in fact.entities)
    found = [(*names[:position], None, *names[position + 1 :]) for position in range(len(names))]
    written = [as_written(fact.relation) + write_arguments(arguments) for arguments in found]
    return [text for text in written if len(text) <= _LONGEST_ADDRESS]


def readable(text: str, entities: Iterable[EntityRef | None]) -> str:
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


def _neighbourhood(page: Neighbourhood, at: PageContext) -> Markup:
    return drawings.neighbourhood(page.centre, page.facts, at.entity, lambda fact: _fact_address(at, fact))


def _learning_curve(title: str, points: Sequence[CurvePoint], digits: int, best: CurvePoint | None = None) -> Markup:
    """Return the curve of the loss or of the validation MRR by epoch."""
    marked = next((index for index, point in enumerate(points) if best is not None and point.epoch == best.epoch), None)
    values = [(point.epoch, point.value) for point in points]
    return charts.curve(title, "epochs", values, digits, marked, zero=best is not None)


def _calibration_curve(page: CalibrationView) -> Markup:
    return charts.reliability_curve([(point.predicted, point.observed, point.share) for point in page.points])
