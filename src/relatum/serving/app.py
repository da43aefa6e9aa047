"""The server as an ASGI application, on a socket that listens: one process, or several that share the socket."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from relatum.errors import RelatumError
from relatum.listening import serve_until_signal, settings_of
from relatum.progress import silence
from relatum.resources.limits import MOST_TEXT
from relatum.serving.attended import Attended
from relatum.serving.decisions import Decisions
from relatum.serving.errors import STATUSES, Refusal, RequestError, refusal_of
from relatum.serving.hosted import candidate_memory, prepare
from relatum.serving.routes import routes
from relatum.serving.routes_decisions import decided
from relatum.serving.routes_server import API_VERSION, server
from relatum.serving.security import BODY_BYTES, Guard, ServerSettings
from relatum.serving.site import HTML, JSON, Site, json_of, site_of, wants_json
from relatum.time_limit import TimeOverError

_LOG = logging.getLogger("relatum.serving")
_MOST_LISTED = 20  # things that are wrong with one request
_PATIENCE = 60  # seconds in which a process must show that it is alive: loading a run takes some
_RELOAD_SECONDS = 1.0  # how often the directories of runs are looked at

_as_long_as_the_process = ExitStack()


class Served:
    """Runs that are served as soon as there is a socket; what is wrong with them or the settings is an error before that."""

    def __init__(self, folders: Sequence[Path], settings: ServerSettings) -> None:
        self._folders, self._settings = folders, settings
        self._app = create_app(folders, settings) if settings.processes == 1 else None
        if self._app is None and settings.decisions is not None:
            Decisions(settings.decisions).close()  # created once, and refused here if it is something else

    def run(self, listening: socket.socket) -> None:
        """Serve until a signal comes."""
        if self._app is not None:
            torch.set_num_threads(1)  # requests run beside each other; its threads would spin against the kernels'
            serve_until_signal(self._config(self._app), listening)
            return
        each = candidate_memory(self._settings.candidate_bytes) // self._settings.processes
        app = partial(_app_of_process, self._folders, replace(self._settings, candidate_bytes=each))
        Multiprocess(self._config(app), sockets=[listening]).run()

    def _config(self, app: object) -> uvicorn.Config:
        processes = self._settings.processes
        several = {"factory": True, "workers": processes, "timeout_worker_healthcheck": _PATIENCE} if processes > 1 else {}
        return settings_of(app, BODY_BYTES, **several)


def _app_of_process(folders: Sequence[Path], settings: ServerSettings) -> ASGIApp:
    """Return the server of one of several processes; uvicorn calls this in each."""
    torch.set_num_threads(1)
    _as_long_as_the_process.enter_context(silence())
    return create_app(folders, settings)


def create_app(folders: Iterable[Path], settings: ServerSettings | None = None) -> ASGIApp:
    """Return a server of the runs in some directories, with all that requests must pass before."""
    settings = settings or ServerSettings()
    return Guard(Attended(_inner_app(Site(folders, settings))), settings)


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

    app = _Described(
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
    for kind in (RequestError, RelatumError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handled)
    for addresses in (server, decided, routes):  # the first match counts
        app.include_router(addresses)
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


class _Described(FastAPI):
    """An app that describes itself when it is asked to; as models of each address, refusals would make it start slowly."""

    def openapi(self) -> dict[str, Any]:
        """Return a description in which every address may refuse; what cannot be used gets 400, never 422."""
        if self.openapi_schema is not None:
            return self.openapi_schema
        description = super().openapi()
        content = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
        refusals = {str(status): {"description": text, "content": content} for status, (_, text) in STATUSES.items()}
        for methods in description["paths"].values():
            for operation in methods.values():
                operation["responses"].pop("422", None)
                operation["responses"].update(refusals)
        schemas = description["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas["Refusal"] = TypeAdapter(Refusal).json_schema()
        return description


async def _handled(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        error = _invalid(error)
    elif isinstance(error, HTTPException):
        if error.status_code == 404:
            error = RequestError(404, "there is nothing at this address; /-/openapi.json lists what there is")
        elif error.status_code == 405:
            error = RequestError(405, STATUSES[405][1])
        else:
            error = RequestError(error.status_code, str(error.detail))
    found = _refused(request, error)
    if found.status_code == 500:
        _LOG.error("%s failed", request.scope["path"], exc_info=error)
    return found


def _refused(request: Request, error: Exception) -> Response:
    """Return the refusal that an error becomes."""
    site = site_of(request)
    refusal = refusal_of(error, site.shown)
    seconds = 1 if isinstance(error, TimeOverError) else getattr(error, "retry_after", None)
    headers = {} if seconds is None else {"retry-after": str(seconds)}
    if wants_json(request) or request.scope["path"].startswith("/-/") or request.method == "POST":
        return Response(json_of(refusal), refusal.status, headers, JSON)
    run = request.path_params.get("run", "")
    question = request.query_params.get("q", "")[:MOST_TEXT]
    page = site.page(request, "error.html", run if run in site.runs else "", refusal=refusal, question=question)
    return Response(page, refusal.status, headers, HTML)


def _invalid(error: RequestValidationError) -> RequestError:
    found = []
    for one in error.errors()[:_MOST_LISTED]:
        where = ".".join(map(str, one["loc"][1:])) or str(one["loc"][0])
        found.append(f"{where}: {one['msg']}")
    return RequestError(400, "; ".join(found) or "the request cannot be used as it is", found)
