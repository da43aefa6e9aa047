"""Pages: what resources hold as HTML, by templates that escape all they are given.

Each page is a function of resources and of where it stands. What takes long to work out is handed in apart, or is None: the
page then says where it can be had, and its script fetches it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from relatum.algebra.lexer import as_written, write_arguments
from relatum.formatting import count, duration, listed, number, percent, score, visible
from relatum.report import charts
from relatum.resources.answers import ExplainedFact, QuestionAnswers
from relatum.resources.entity import EntityPage, FactGroup, Neighbourhood, PredictedFacts
from relatum.resources.facts import FactPage
from relatum.resources.missing import MissingPage
from relatum.resources.names import FoundEntities
from relatum.resources.overview import RunOverview
from relatum.resources.quality import CalibrationView, DataQualityView, QualityView
from relatum.resources.queries import QueryAnswers
from relatum.resources.references import EntityRef, FactRef
from relatum.resources.relation import DoubtfulFacts, RelationPage, RelationQuality, RelationRules
from relatum.resources.rules import RulesView, SoftRuleItem
from relatum.resources.training import CurvePoint, TrainingView
from relatum.serving import drawings
from relatum.serving.addresses import PageContext, address
from relatum.serving.decisions import Decision
from relatum.serving.errors import Refusal

__all__ = [
    "RunCard",
    "render_answers",
    "render_decisions",
    "render_entity",
    "render_error",
    "render_fact",
    "render_facts",
    "render_found",
    "render_home",
    "render_missing",
    "render_missing_relations",
    "render_overview",
    "render_quality",
    "render_query",
    "render_relation",
    "render_rules",
    "render_training",
    "static_edition",
]

_LONGEST = 96  # characters of a name that are shown; the whole name is in its title
_BREAKABLE = 24  # characters of a name that stand in one line
_LONGEST_ADDRESS = 1000  # characters of a name or a fact in an address: up to twelve bytes each
_MOST_EPOCHS = 60  # in the table beside curves


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run in the list of runs: its name in addresses, and what is known of it by now; with neither it is being opened."""

    name: str
    overview: RunOverview | None = None
    training: TrainingView | None = None


def render_home(runs: Sequence[RunCard], at: PageContext) -> str:
    """Return the list of runs."""
    return _page("home.html", at, runs=runs, twin="/runs.json")


def render_overview(page: RunOverview, at: PageContext) -> str:
    """Return a run at a glance."""
    example = next((_readable(one.question, one.example or ()) for one in page.relations if one.question), None)
    return _page("overview.html", at, "", page=page, example=example)


def render_answers(page: QuestionAnswers, at: PageContext) -> str:
    """Return the answers to a question."""
    return _page("answers.html", at, page=page, question=page.question)


def render_query(page: QueryAnswers, at: PageContext) -> str:
    """Return the rows that answer a query of SQL or algebra."""
    return _page("query.html", at, page=page, question=page.text)


def render_fact(page: ExplainedFact, at: PageContext) -> str:
    """Return what speaks for a fact and what against it."""
    return _page("fact.html", at, page=page)


def render_entity(
    page: EntityPage,
    at: PageContext,
    *,
    predicted: PredictedFacts | None = None,
    neighbourhood: Neighbourhood | None = None,
) -> str:
    """Return an entity with its facts, what is predicted about it, entities like it, and its neighbourhood."""
    example = next(filter(None, (_question_at(group, page.entity.name) for group in page.groups)), None)
    shown = {"predicted": predicted, "neighbourhood": neighbourhood}
    return _page("entity.html", at, page=page, example=example and _readable(example, [page.entity]), **shown)


def render_relation(
    page: RelationPage,
    at: PageContext,
    *,
    quality: RelationQuality | None = None,
    rules: RelationRules | None = None,
    doubtful: DoubtfulFacts | None = None,
    missing: MissingPage | None = None,
) -> str:
    """Return a relation with its facts, its quality, its rules, and facts that are doubtful or likely missing."""
    one = page.relation
    example = one.question and _readable(one.question, one.example or ())
    parts = {"quality": quality, "rules": rules, "doubtful": doubtful, "missing": missing}
    return _page("relation.html", at, page=page, example=example, **parts)


def render_facts(page: FactPage, at: PageContext) -> str:
    """Return known facts, a page of them."""
    return _page("facts.html", at, page=page)


def render_missing(page: MissingPage, at: PageContext, decided: Mapping[tuple[str, ...], Decision] | None = None) -> str:
    """Return the facts of a relation that are likely missing, with what was decided on them, by their entities' names."""
    return _page("missing.html", at, "missing", page=page, decided=decided or {})


def render_missing_relations(page: RunOverview, at: PageContext) -> str:
    """Return the relations of which facts may be missing."""
    return _page("missing_relations.html", at, "missing", page=page, twin=address(at.run, "schema", json=True))


def render_decisions(decisions: Sequence[Decision], at: PageContext) -> str:
    """Return the decisions on predicted facts that stand."""
    return _page("decisions.html", at, "missing", decisions=decisions)


def render_rules(page: RulesView, at: PageContext) -> str:
    """Return the rules of a run."""
    return _page("rules.html", at, "rules", page=page)


def render_quality(page: QualityView | None, at: PageContext, data: DataQualityView | None = None) -> str:
    """Return how good a run is; None stands for what is to be worked out."""
    return _page("quality.html", at, "quality", page=page, data=data)


def render_training(page: TrainingView, at: PageContext) -> str:
    """Return how the training of a run went or goes."""
    return _page("training.html", at, "training", page=page)


def render_found(page: FoundEntities, at: PageContext) -> str:
    """Return entities by a name that was typed."""
    twin = address(at.run, "find", json=True, text=page.text)
    return _page("found.html", at, page=page, question=page.text, twin=twin)


def render_error(refusal: Refusal, at: PageContext, *, question: str = "") -> str:
    """Return what went wrong, with the question if it was one."""
    return _page("error.html", at, refusal=refusal, question=question)


@cache
def static_edition() -> str:
    """Return a short text that is another one when a static file is."""
    digest = hashlib.sha256()
    for file in sorted(files(__package__ or "relatum.serving").joinpath("static").iterdir(), key=lambda one: one.name):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _page(template: str, at: PageContext, section: str | None = None, /, **shown: Any) -> str:
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
        finalize=_finalized,
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
        "name": _name,
        "shortened": _shortened,
        "tuple": tuple,
        "zipped": lambda first, second: list(zip(first, second, strict=True)),
        "number": number,
        "percent": lambda share, digits=1: _unbroken(percent(share, digits)),
        "readable": _readable,
        "score": score,
        "shown": drawings.shown_name,
        "unbroken": _unbroken,
    }
    environment.globals |= {
        "bar": charts.bar,
        "by_epoch": _by_epoch,
        "calibration_curve": _calibration_curve,
        "interval_line": charts.interval_line,
        "learning_curve": _learning_curve,
        "neighbourhood_drawing": _neighbourhood,
        "probability_bar": drawings.probability_bar,
        "question_at": _question_at,
        "questions_around": _questions_around,
        "roles_as_columns": lambda roles: [(role, "") for role in roles],
        "rule_drawing": _rule_drawing,
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


def _finalized(value: Any) -> Any:
    """Return what a template puts out: markup as it is, anything else as text whose control characters can be seen."""
    return value if isinstance(value, Markup) else visible(str(value))


def _unbroken(text: str) -> str:
    """Return a text that stays on one line."""
    return text.replace(" ", "\u00a0")


def _name(name: str, longest: int = _LONGEST) -> Markup:
    """Return a name from the data: its direction of writing stays its own, and a very long one is shortened."""
    short = _shortened(name, longest)
    if len(short) <= _BREAKABLE:
        return Markup("<bdi>{}</bdi>").format(visible(short))
    words = re.split(r"(?<=[_./|(:])(?=[^_./|(:])", short)
    shown = Markup("<wbr>").join(escape(visible(word)) for word in words)
    title = "" if short == name else Markup(' title="{}"').format(visible(_shortened(name, 1000)))
    return Markup('<bdi class="long"{}>{}</bdi>').format(title, shown)


def _shortened(name: str, longest: int = _LONGEST) -> str:
    """Return a name, without its middle if it is longer than so many characters."""
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def _address_of(at: PageContext) -> str:
    """Return the address of a page itself, which its twin's follows from."""
    path, sign, query = at.twin.partition("?")
    return path.removesuffix(".json") + sign + query


def _with_part(where: str, part: str) -> str:
    """Return the address of a page with a part that takes a while to work out."""
    return f"{where}{'&' if '?' in where else '?'}show={part}"


def _question_at(group: FactGroup, entity: str) -> str | None:
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


def _neighbourhood(page: Neighbourhood, at: PageContext) -> Markup:
    return drawings.neighbourhood(page.centre, page.facts, at.entity, lambda fact: _fact_address(at, fact))


def _rule_drawing(rules: Sequence[SoftRuleItem], at: PageContext) -> Markup:
    return drawings.rule_drawing(
        [(one.head, one.body, one.confidence) for one in rules], lambda name: _relation_address(at, name)
    )


def _learning_curve(title: str, points: Sequence[CurvePoint], digits: int, best: CurvePoint | None = None) -> Markup:
    """Return the curve of the loss or of the validation MRR by epoch."""
    marked = next((index for index, point in enumerate(points) if best is not None and point.epoch == best.epoch), None)
    values = [(point.epoch, point.value) for point in points]
    return charts.curve(title, "epochs", values, digits, marked, zero=best is not None)


def _calibration_curve(page: CalibrationView) -> Markup:
    return charts.reliability_curve([(point.predicted, point.observed, point.share) for point in page.points])
