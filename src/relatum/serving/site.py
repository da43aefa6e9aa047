"""What all addresses of a server share: its runs, the threads that work on answers, decisions, and how answers go out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from relatum.serving.addresses import PageContext
from relatum.serving.decisions import Decisions
from relatum.serving.errors import RequestError
from relatum.serving.hosted import HostedRuns
from relatum.serving.pages import render
from relatum.serving.security import ServerSettings
from relatum.serving.workers import Workers
from relatum.version import __version__

if TYPE_CHECKING:
    from relatum.api import Run

HTML, JSON = "text/html; charset=utf-8", "application/json"

_Found = TypeVar("_Found")
_INSIDE = 0.8  # of the time of a request, for the search for answers: then they are what was found by then
_MOST_INSIDE = 30.0  # seconds


def json_of(value: object) -> bytes:
    """Return a value as JSON in ASCII: dataclasses become objects, what is not a finite number becomes null."""
    return to_json(value, ensure_ascii=True, inf_nan_mode="null")


class Site:
    """A server's runs and all that addresses share."""

    def __init__(self, folders: Iterable[Path], settings: ServerSettings) -> None:
        self.settings, self.runs = settings, HostedRuns(folders, settings.candidate_bytes)
        self.decisions = None if settings.decisions is None else Decisions(settings.decisions)
        threads, most, seconds = settings.threads, settings.waiting, settings.seconds
        self._workers = Workers(threads, most, max(1, most // 2), seconds)
        # What may take seconds has threads of its own, so that quick answers do not wait behind it.
        self._slow_workers = Workers(threads, max(1, most // 4), max(1, most // 32), seconds, others=1)

    @property
    def taken(self) -> int:
        """How many requests are being answered or waiting for that."""
        return self._workers.taken + self._slow_workers.taken

    @property
    def most(self) -> int:
        """How many of these there may be."""
        return self._workers.most + self._slow_workers.most

    @property
    def seconds(self) -> float:
        """How long the search for answers may take."""
        return min(_MOST_INSIDE, _INSIDE * self.settings.seconds)

    async def at_work(self, request: Request, work: Callable[[], _Found], *, slow: bool = False) -> _Found:
        """Return what some work gives that a request asks for, in a thread; `slow` is what may take seconds."""
        return await (self._slow_workers if slow else self._workers).run(client_of(request), work)

    async def of_run(
        self, request: Request, name: str, work: Callable[[Run], _Found], *, slow: bool | Callable[[Run], bool] = False
    ) -> _Found:
        """Return what some work gives on a run, in a thread; a run that is not loaded yet is waited for."""
        hosted = self.runs[name]
        is_slow = not hosted.is_loaded or (slow if isinstance(slow, bool) else slow(hosted.run()))
        return await self.at_work(request, lambda: work(hosted.run()), slow=is_slow)

    def shown(self, text: str) -> str:
        """Return a message as clients may see it, without the paths of runs."""
        for hosted in self.runs.values():
            text = hosted.without_path(text)
        return text

    def require_decisions(self) -> Decisions:
        """Return the decisions; refuse where none are kept."""
        if self.decisions is None:
            raise RequestError(409, "decisions are not kept; start the server with --decisions FILE")
        return self.decisions

    def context(self, request: Request, run: str = "") -> PageContext:
        """Return what a page shows beside its resource."""
        path, query = request.scope["path"], request.scope["query_string"].decode("latin-1")
        twin = (request.scope.get("raw_path") or path.encode()).decode("latin-1").partition("?")[0] + ".json"
        number_of = self.runs[run].run().entities.id if run and self.runs[run].is_loaded else None
        return PageContext(
            run,
            tuple(self.runs),
            __version__,
            twin + (f"?{query}" if query else ""),
            self.decisions is not None,
            "" if self.decisions is None else self.decisions.secret,
            number_of,
        )

    async def show(
        self,
        request: Request,
        run: str,
        work: Callable[[Run], object],
        template: str = "",
        parts: Callable[[Run], dict[str, object]] = lambda _: {},
        *,
        slow: bool | Callable[[Run], bool] = False,
    ) -> Response:
        """Return a resource of a run as JSON or, with what else its template takes, as a page, by the address."""
        as_json = wants_json(request)

        def written(loaded: Run) -> bytes:
            found = work(loaded)
            return json_of(found) if as_json else self.page(request, template, run, page=found, **parts(loaded))

        return Response(await self.of_run(request, run, written, slow=slow), media_type=JSON if as_json else HTML)

    def page(self, request: Request, template: str, run: str = "", **shown: object) -> bytes:
        """Return a page: a template with what it shows."""
        return render(template, self.context(request, run), **shown).encode("utf-8", "replace")

    def close(self) -> None:
        """Stop working and close the decisions."""
        self._workers.close()
        self._slow_workers.close()
        self.runs.later.close()
        if self.decisions is not None:
            self.decisions.close()


def site_of(request: Request) -> Site:
    """Return the site that a request is sent to."""
    site: Site = request.app.state.site
    return site


def client_of(request: Request) -> str:
    """Return who sends a request, as far as shares go: an address or, since hosts have many of IPv6, the network of one."""
    host = "" if request.client is None else request.client.host
    if ":" not in host:
        return host
    address = IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped or address.exploded[:19])


def wants_json(request: Request) -> bool:
    """Return whether an address is that of JSON."""
    path: str = request.scope["path"]
    return path.endswith(".json")
