"""The server as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from relatum.kernels import parallel
from relatum.resources.prepare import keep_candidates, prepare
from relatum.serving.description import describe
from relatum.serving.hosted import HostedRun
from relatum.serving.quick_answers import QuickAnswers
from relatum.serving.responses import add_handlers
from relatum.serving.routes_answers import answers
from relatum.serving.routes_decisions import decided
from relatum.serving.routes_facts import facts
from relatum.serving.routes_relations import relations
from relatum.serving.routes_server import API_VERSION, server
from relatum.serving.security import App, Guard
from relatum.serving.settings import ServerSettings
from relatum.serving.site import Site

__all__ = ["create_app", "inner_app"]

_LOG = logging.getLogger("relatum.serving")
_PAUSE = 0.5  # seconds until runs are looked at again whose candidates might be packed


def create_app(folders: Iterable[Path], settings: ServerSettings | None = None) -> App:
    """Return a server of the runs in some directories, with all that requests must pass before."""
    settings = settings or ServerSettings()
    site = Site(folders, settings)
    return Guard(QuickAnswers(inner_app(site), site), settings)


def inner_app(site: Site) -> FastAPI:
    """Return what answers requests the long way; without what they must pass before."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(each(site)) for each in (_watch, _keep_candidates)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
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
    describe(app)
    return app


async def _watch(site: Site) -> None:
    """Load the runs, and load again those whose directories are replaced, as long as the server runs."""
    seconds = site.settings.reload_seconds
    for hosted in site.runs.values():
        try:
            await asyncio.to_thread(lambda one: prepare(one.run()), hosted)
        except Exception as error:  # the request that needs the run says the same
            _LOG.warning("%s: %s", hosted.name, error)
    while seconds:
        await asyncio.sleep(seconds)
        for hosted in site.runs.values():
            try:
                await asyncio.to_thread(hosted.refresh)
            except Exception:
                _LOG.exception("%s: could not be looked at", hosted.name)


async def _keep_candidates(site: Site) -> None:
    """Pack the candidates of runs that were loaded, by one thread and beside requests, as long as the server runs."""
    versions: dict[str, int] = {}

    def work(hosted: HostedRun) -> None:
        run, version = hosted.run(), hosted.version
        with parallel.single_threaded():
            keep_candidates(run, goes_on=lambda: site.is_open and hosted.version == version)

    while True:
        for hosted in site.runs.values():
            if hosted.is_loaded and versions.get(hosted.name) != hosted.version:
                versions[hosted.name] = hosted.version
                try:
                    await asyncio.to_thread(work, hosted)
                except Exception:
                    _LOG.exception("%s: its candidates could not be packed", hosted.name)
        await asyncio.sleep(_PAUSE)
