"""Addresses of what a run is about: itself, its entities, its facts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from relatum.resources.entity import (
    EntityPage,
    Neighbourhood,
    PredictedFacts,
    entity_page,
    neighbourhood,
    predicted,
)
from relatum.resources.facts import FactPage, facts_of
from relatum.resources.limits import MOST_ANSWERS, MOST_FACTS, MOST_REASONS, MOST_TEXT
from relatum.resources.overview import RunOverview, RunSchema, overview, schema
from relatum.serving import pages
from relatum.serving.addresses import PageContext
from relatum.serving.errors import RequestError
from relatum.serving.json_text import json_of
from relatum.serving.site import JSON, Site, site_of

facts = APIRouter()

Name = Annotated[str, Path(max_length=MOST_TEXT)]
GivenName = Annotated[str | None, Query(max_length=MOST_TEXT)]
Number = Annotated[int | None, Query(ge=0, lt=1 << 31)]
Token = Annotated[str | None, Query(max_length=200)]
Show = Annotated[tuple[str, ...], Query(max_length=8, description="parts of a page that take long to work out")]
Limit = Annotated[int, Query(ge=1, le=MOST_FACTS)]


async def _named(site: Site, run: str, name: str | None, number: int | None) -> str:
    """Return the name of an entity that an address gives behind its question mark, or the number of."""
    if (name is None) == (number is None):
        raise RequestError(400, "give the name of an entity, or its number")
    if name is not None:
        return name

    def found(loaded: object) -> str:
        entities = loaded.entities  # type: ignore[attr-defined]
        if number is None or number >= len(entities):
            raise RequestError(404, f"number: there are {len(entities):,} entities, numbered from 0")
        return str(entities[number])

    return await site.of_run(run, found)


@facts.get("/{run}", include_in_schema=False)
@facts.get("/{run}.json", response_model=RunOverview)
async def run_overview(request: Request, run: str) -> Response:
    """Return what a run is: its model, data, relations and quality."""
    return await site_of(request).show(request, run, overview, pages.render_overview)


@facts.get("/{run}/schema.json", response_model=RunSchema)
async def run_schema(request: Request, run: str) -> Response:
    """Return the relations that can be asked, with their roles, and the relations that were defined."""
    body = await site_of(request).of_run(run, lambda loaded: json_of(schema(loaded)))
    return Response(body, media_type=JSON)


@facts.get("/{run}/entity/{name:path}", include_in_schema=False)
@facts.get("/{run}/entity/{name:path}.json", response_model=EntityPage)
async def entity(request: Request, run: str, name: Name, show: Show = ()) -> Response:
    """Return an entity: its facts by relation and role, and entities like it."""

    def render(page: EntityPage, context: PageContext) -> str:
        loaded, own = site.runs[run].run(), page.entity.name
        return pages.render_entity(
            page,
            context,
            predicted=predicted(loaded, own, reasons=1) if "predicted" in show else None,
            neighbourhood=neighbourhood(loaded, own) if "neighbourhood" in show else None,
        )

    site = site_of(request)
    return await site.show(request, run, lambda loaded: entity_page(loaded, name), render, slow=bool(show))


@facts.get("/{run}/entity", include_in_schema=False)
@facts.get("/{run}/entity.json", response_model=EntityPage)
async def entity_given(
    request: Request, run: str, name: GivenName = None, number: Number = None, show: Show = ()
) -> Response:
    """Return an entity whose name a path cannot hold, by its name or its number."""
    return await entity(request, run, await _named(site_of(request), run, name, number), show)


@facts.get("/{run}/predicted.json", response_model=PredictedFacts)
async def predicted_facts(
    request: Request,
    run: str,
    name: GivenName = None,
    number: Number = None,
    k: Annotated[int, Query(ge=1, le=MOST_ANSWERS)] = 10,
    reasons: Annotated[int, Query(ge=0, le=MOST_REASONS)] = 0,
) -> Response:
    """Return the most likely new facts with an entity."""
    site = site_of(request)
    named = await _named(site, run, name, number)
    work = lambda loaded: json_of(predicted(loaded, named, k, reasons=reasons))  # noqa: E731
    return Response(await site.of_run(run, work, slow=True), media_type=JSON)


@facts.get("/{run}/neighbourhood.json", response_model=Neighbourhood)
async def neighbours(request: Request, run: str, name: GivenName = None, number: Number = None) -> Response:
    """Return the facts around an entity, known and predicted, to be drawn."""
    site = site_of(request)
    named = await _named(site, run, name, number)
    body = await site.of_run(run, lambda loaded: json_of(neighbourhood(loaded, named)), slow=True)
    return Response(body, media_type=JSON)


@facts.get("/{run}/facts", include_in_schema=False)
@facts.get("/{run}/facts.json", response_model=FactPage)
async def known_facts(
    request: Request,
    run: str,
    entity: GivenName = None,
    relation: GivenName = None,
    role: GivenName = None,
    after: Token = None,
    limit: Limit = 50,
) -> Response:
    """Return known facts page by page: of an entity, of a relation, of an entity at a role, or all."""
    return await site_of(request).show(
        request,
        run,
        lambda loaded: facts_of(loaded, entity, relation, role, after=after, limit=limit),
        pages.render_facts,
    )
