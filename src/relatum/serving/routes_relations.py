"""Addresses of a run's relations, its rules, what it misses, how good it is and how it was trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import StringConstraints

from relatum.resources.limits import MOST_ANSWERS, MOST_REASONS, MOST_RULES, MOST_TEXT
from relatum.resources.missing import MissingPage, missing
from relatum.resources.overview import overview
from relatum.resources.quality import DataQualityView, QualityView, data_quality, quality
from relatum.resources.relation import (
    DoubtfulFacts,
    RelationPage,
    RelationQuality,
    RelationRules,
    doubtful,
    relation_page,
    relation_quality,
    relation_rules,
)
from relatum.resources.rules import RulesView, rules
from relatum.resources.training import TrainingView, training
from relatum.serving import pages
from relatum.serving.addresses import PageContext
from relatum.serving.json_text import json_of
from relatum.serving.routes_facts import GivenName, Limit, Show, Token
from relatum.serving.site import HTML, JSON, site_of, wants_json

if TYPE_CHECKING:
    from relatum.api import Run

relations = APIRouter()

Name = Annotated[
    str, StringConstraints(max_length=MOST_TEXT)
]  # in the path or, where that cannot hold it, behind the question mark
Given = Annotated[str, Query(max_length=MOST_TEXT)]
Reasons = Annotated[int, Query(ge=0, le=MOST_REASONS)]
Rules = Annotated[int, Query(ge=1, le=MOST_RULES)]

_PAGE_REASONS = 2  # rules beside each fact of a page; programs say how many they want


@relations.get("/{run}/relation/{name:path}", include_in_schema=False)
@relations.get("/{run}/relation/{name:path}.json", response_model=RelationPage)
@relations.get("/{run}/relation", include_in_schema=False)
@relations.get("/{run}/relation.json", response_model=RelationPage)
async def relation(
    request: Request, run: str, name: Name, after: Token = None, limit: Limit = 20, show: Show = ()
) -> Response:
    """Return a relation: its schema, its size and its facts."""

    def render(page: RelationPage, context: PageContext) -> str:
        loaded = site.runs[run].run()
        return pages.render_relation(
            page,
            context,
            quality=relation_quality(loaded, name) if "quality" in show else None,
            rules=relation_rules(loaded, name) if "rules" in show else None,
            doubtful=doubtful(loaded, name) if "doubtful" in show else None,
            missing=missing(loaded, name, limit=10) if "missing" in show else None,
        )

    site = site_of(request)
    work = lambda loaded: relation_page(loaded, name, after=after, limit=limit)  # noqa: E731
    return await site.show(request, run, work, render, slow=bool(show))


@relations.get("/{run}/missing/{name:path}", include_in_schema=False)
@relations.get("/{run}/missing/{name:path}.json", response_model=MissingPage)
@relations.get("/{run}/missing.json", response_model=MissingPage)
async def missing_facts(
    request: Request,
    run: str,
    name: Name,
    after: Token = None,
    limit: Limit = 20,
    reasons: Reasons = 0,
) -> Response:
    """Return facts of a relation that are likely true but not known, the most likely first."""
    site = site_of(request)

    def render(page: MissingPage, context: PageContext) -> str:
        kept = site.decisions
        return pages.render_missing(page, context, None if kept is None else kept.of_relation(run, page.relation))

    rules = reasons or (0 if wants_json(request) else _PAGE_REASONS)
    work = lambda loaded: missing(loaded, name, after=after, limit=limit, reasons=rules)  # noqa: E731
    return await site.show(request, run, work, render, slow=True)


@relations.get("/{run}/missing", include_in_schema=False)
async def missing_page(
    request: Request, run: str, name: GivenName = None, after: Token = None, limit: Limit = 20, reasons: Reasons = 0
) -> Response:
    """Return what is missing of a relation or, without one, the relations to choose from."""
    if name is not None:
        return await missing_facts(request, run, name, after, limit, reasons)
    return await site_of(request).show(request, run, overview, pages.render_missing_relations)


@relations.get("/{run}/doubtful.json", response_model=DoubtfulFacts)
async def doubtful_facts(
    request: Request, run: str, name: Given, k: Annotated[int, Query(ge=1, le=MOST_ANSWERS)] = 10
) -> Response:
    """Return the known facts of a relation that are most doubtful."""
    return await _json(request, run, lambda loaded: doubtful(loaded, name, k))


@relations.get("/{run}/relation_quality.json", response_model=RelationQuality)
async def quality_of_relation(request: Request, run: str, name: Given) -> Response:
    """Return how the held-out facts of a relation rank, by role."""
    return await _json(request, run, lambda loaded: relation_quality(loaded, name))


@relations.get("/{run}/relation_rules.json", response_model=RelationRules)
async def rules_of_relation(request: Request, run: str, name: Given, k: Rules = 20) -> Response:
    """Return the rules that conclude facts of a relation, and those that read them."""
    return await _json(request, run, lambda loaded: relation_rules(loaded, name, k))


@relations.get("/{run}/rules", include_in_schema=False)
@relations.get("/{run}/rules.json", response_model=RulesView)
async def all_rules(request: Request, run: str, relation: GivenName = None, k: Rules = 20) -> Response:
    """Return the most notable rules of a run, or of a relation."""
    return await site_of(request).show(
        request, run, lambda loaded: rules(loaded, relation, k), pages.render_rules, slow=True
    )


@relations.get("/{run}/quality.json", response_model=QualityView)
async def run_quality(request: Request, run: str) -> Response:
    """Return how good a run is on held-out facts: by arity, relation and position; how probabilities are calibrated."""
    return await _json(request, run, quality)


@relations.get("/{run}/quality", include_in_schema=False)
async def quality_page(request: Request, run: str, show: Show = ()) -> Response:
    """Return how good a run is and what may spoil its data; what takes long only if it is wanted, or is there."""

    def page(loaded: Run) -> QualityView | None:
        return quality(loaded) if "evaluation" in show or loaded.remembers("quality") else None

    def render(found: QualityView | None, context: PageContext) -> str:
        loaded = site.runs[run].run()
        data = data_quality(loaded) if "data" in show or loaded.remembers("data quality") else None
        return pages.render_quality(found, context, data)

    site = site_of(request)
    return await site.show(request, run, page, render, slow=True)


@relations.get("/{run}/data_quality.json", response_model=DataQualityView)
async def run_data_quality(request: Request, run: str) -> Response:
    """Return what may spoil training on the data, or results from it."""
    return await _json(request, run, data_quality)


async def _json(request: Request, run: str, work: Callable[[Run], object]) -> Response:
    body = await site_of(request).of_run(run, lambda loaded: json_of(work(loaded)), slow=True)
    return Response(body, media_type=JSON)


@relations.get("/{run}/training", include_in_schema=False)
@relations.get("/{run}/training.json", response_model=TrainingView)
async def run_training(request: Request, run: str) -> Response:
    """Return how training went, or goes: its curves, the settings and the provenance; also while there is no model yet."""
    site = site_of(request)
    folder = site.runs[run].folder
    if wants_json(request):
        return Response(await site.slow_workers.run(lambda: json_of(training(folder))), media_type=JSON)
    page = await site.slow_workers.run(lambda: pages.render_training(training(folder), site.context(request, run)))
    return Response(page, media_type=HTML)
