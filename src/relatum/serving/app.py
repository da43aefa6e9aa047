"""The server as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from relatum.serving.errors import STATUSES, Refusal
from relatum.serving.hosted import prepare
from relatum.serving.responses import add_handlers
from relatum.serving.routes_answers import answers
from relatum.serving.routes_decisions import decided
from relatum.serving.routes_facts import facts
from relatum.serving.routes_relations import relations
from relatum.serving.routes_server import API_VERSION, server
from relatum.serving.security import App, Guard
from relatum.serving.settings import ServerSettings
from relatum.serving.site import Site

_LOG = logging.getLogger("relatum.serving")
_REFUSAL = "#/components/schemas/Refusal"
_RELOAD_SECONDS = 1.0  # how often the directories of runs are looked at


def create_app(folders: Iterable[Path], settings: ServerSettings | None = None) -> App:
    """Return a server of the runs in some directories, with all that requests must pass before."""
    settings = settings or ServerSettings()
    return Guard(_inner_app(Site(folders, settings)), settings)


def _inner_app(site: Site) -> FastAPI:
    """Return what answers requests, without what they must pass before."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(_watch(site))
        try:
            yield
        finally:
            watching.cancel()
            site.close()

    app = FastAPI(
        title="relatum",
        version=str(API_VERSION),
        description="Questions, facts and predictions of trained runs. The server only reads, but for decisions.",
        openapi_url="/-/openapi.json",
        docs_url=None,  # these pages load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.site = site
    add_handlers(app)
    for routes in (answers, server, decided, relations, facts):  # the first match counts, so twins come first
        app.include_router(routes)
    _describe(app)
    return app


async def _watch(site: Site) -> None:
    """Load the runs, and load again those whose directories are replaced, as long as the server runs."""
    for hosted in site.runs.values():
        try:
            await asyncio.to_thread(lambda one: prepare(one.run()), hosted)
        except Exception as error:  # the request that needs the run says the same
            _LOG.warning("%s: %s", hosted.name, error)
    while True:
        await asyncio.sleep(_RELOAD_SECONDS)
        for hosted in site.runs.values():
            try:
                await asyncio.to_thread(hosted.refresh)
            except Exception:
                _LOG.exception("%s: could not be looked at", hosted.name)


def _describe(app: FastAPI) -> None:
    """Let an app describe itself when it is asked to; as models of each address, refusals would make it start slowly."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_refusals(described())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI's own guide has it


def _with_refusals(description: dict[str, Any]) -> dict[str, Any]:
    """Return a description in which every address may refuse; what cannot be used is refused with 400, never with 422."""
    content = {"application/json": {"schema": {"$ref": _REFUSAL}}}
    refusals = {str(status): {"description": text, "content": content} for status, text in STATUSES.items()}
    for methods in description["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            operation["responses"].update(refusals)
    schemas = description["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Refusal"] = TypeAdapter(Refusal).json_schema()
    return description
