"""Addresses of the server itself: its front page, its versions, its state, and the files that pages load."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from relatum.resources.overview import RunSchema, overview, schema, training
from relatum.serving.errors import RequestError
from relatum.serving.hosted import HostedRun
from relatum.serving.pages import RunCard
from relatum.serving.site import HTML, JSON, Site, json_of, site_of, wants_json
from relatum.version import __version__

server = APIRouter()

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
API_VERSION = 1  # what docs/serving.md promises for a number stays while the number stays


@dataclass(frozen=True, slots=True)
class Versions:
    """What a server is made of.

    Attributes:
        relatum: the version of relatum.
        api: the version of what addresses and fields promise.
        python: the version of Python.
        libraries: the versions of the libraries that compute and serve.
    """

    relatum: str
    api: int
    python: str
    libraries: dict[str, str]


@dataclass(frozen=True, slots=True)
class RunState:
    """A run of a server.

    Attributes:
        name: its name in addresses.
        loaded: whether its model can be asked.
        loads: how often it was loaded, since its directory was replaced so often.
        loaded_at: when it was loaded last, in seconds since 1970; None if it was not.
        problem: why what is in its directory now is not what is served; None if it is.
    """

    name: str
    loaded: bool
    loads: int
    loaded_at: float | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class ServerState:
    """How a server is.

    Attributes:
        ok: whether every run can be asked.
        runs: its runs.
        at_work: requests that are being answered or waiting for that.
        most: how many of these there may be.
        decisions: whether decisions are kept.
    """

    ok: bool
    runs: tuple[RunState, ...]
    at_work: int
    most: int
    decisions: bool


@dataclass(frozen=True, slots=True)
class SchemaOfRun:
    """The schema of a run, by its name in addresses."""

    run: str
    schema: RunSchema


def state_of(site: Site) -> ServerState:
    """Return how a server is."""
    runs = tuple(RunState(one.name, one.is_loaded, one.version, one.loaded_at, one.problem) for one in site.runs.values())
    return ServerState(all(one.loaded for one in runs), runs, site.taken, site.most, site.decisions is not None)


@server.get("/-/health", include_in_schema=False)
@server.get("/-/health.json", response_model=ServerState)
async def server_state(request: Request) -> Response:
    """Return how the server is; it answers at once, however much is at work."""
    return Response(json_of(state_of(site_of(request))), media_type=JSON)


@server.get("/-/versions", include_in_schema=False)
@server.get("/-/versions.json", response_model=Versions)
async def versions(request: Request) -> Response:
    """Return what the server is made of."""
    libraries = {name: version(name) for name in ("torch", "numpy", "numba", "fastapi", "uvicorn")}
    return Response(json_of(Versions(__version__, API_VERSION, platform.python_version(), libraries)), media_type=JSON)


@server.get("/-/schema", include_in_schema=False)
@server.get("/-/schema.json", response_model=tuple[SchemaOfRun, ...])
async def schemas(request: Request) -> Response:
    """Return the relations that can be asked, run by run; a run without a model is left out."""
    site = site_of(request)

    def work() -> bytes:
        loaded = [one for one in site.runs.values() if one.is_loaded]
        return json_of([SchemaOfRun(one.name, schema(one.run())) for one in loaded])

    return Response(await site.at_work(request, work), media_type=JSON)


@server.get("/-/static/{name}", include_in_schema=False)
async def static(request: Request, name: str) -> Response:
    """Return a file that pages load; all of them are in memory."""
    found = static_files().get(name)
    if found is None:
        raise RequestError(404, "there is no such file")
    content, kind = found
    return Response(content, media_type=kind, headers={"cache-control": "public, max-age=3600"})


@server.get("/", include_in_schema=False)
@server.get("/runs.json", response_model=ServerState)
async def front_page(request: Request) -> Response:
    """Return the runs that there are."""
    site = site_of(request)
    if wants_json(request):
        return Response(json_of(state_of(site)), media_type=JSON)
    cards = await site.at_work(request, lambda: [_card(one) for one in site.runs.values()])
    return Response(site.page(request, "home.html", runs=cards), media_type=HTML)


def _card(hosted: HostedRun) -> RunCard:
    """Return a run as the front page shows it, without waiting for one that is being loaded."""
    if hosted.is_loaded:
        return RunCard(hosted.name, overview(hosted.run()))
    return RunCard(hosted.name, training=None if hosted.has_model else training(hosted.folder))


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the files that pages load, by name, each with its type: no request ever touches the file system."""
    folder = files("relatum.serving").joinpath("static")
    return {one.name: (one.read_bytes(), _TYPES[one.name.rpartition(".")[2]]) for one in folder.iterdir()}
