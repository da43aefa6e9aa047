"""What all addresses of a server share: its runs, the threads that work on answers, decisions, and how answers go out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
from relatum.time_limit import Deadline, TimeOverError
from relatum.version import __version__

if TYPE_CHECKING:
    from relatum.api import Run

HTML, JSON = "text/html; charset=utf-8", "application/json"

_Found = TypeVar("_Found")
_INSIDE = 0.8  # of the time of a request, for the search for answers: then they are what was found by then
_MOST_INSIDE = 30.0  # seconds
_RETRY_AFTER = 1  # seconds


def json_of(value: object) -> bytes:
    """Return a value as JSON in ASCII: dataclasses become objects, what is not a finite number becomes null."""
    return to_json(value, ensure_ascii=True, inf_nan_mode="null")


class Workers:
    """A pool of threads that takes so much work at once and refuses more.

    Work that takes too long is answered with a refusal, and given up where it next looks at the clock. So is work whose
    client has gone. Until then it counts as taken.

    Args:
        threads: that work.
        most: pieces of work that are taken at once, at work or waiting.
        seconds: after which a caller gets a refusal.
    """

    def __init__(self, threads: int, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self.taken = 0  # only the event loop writes it
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="relatum-answer")

    async def run(self, work: Callable[[], _Found]) -> _Found:
        """Return what some work gives; it runs in a thread, and an error that it raises is raised here."""
        if self.taken >= self.most:
            raise RequestError(503, "too many requests are at work; try again in a second", retry_after=_RETRY_AFTER)
        loop = asyncio.get_running_loop()

        def ended() -> None:
            self.taken -= 1

        def end(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # a server that has stopped meanwhile needs it no more
                loop.call_soon_threadsafe(ended)

        deadline = Deadline(self.seconds)

        def timed() -> _Found:
            with deadline:
                return work()

        self.taken += 1
        at_work = self._pool.submit(timed)
        at_work.add_done_callback(end)
        try:
            async with asyncio.timeout(self.seconds) as clock:
                return await asyncio.wrap_future(at_work)  # what waits is not begun once nobody waits for it
        except (TimeoutError, TimeOverError) as error:
            if isinstance(error, TimeoutError) and not clock.expired():  # it is the work's own
                raise
            text = f"the answer takes longer than {self.seconds:g} seconds; ask for less, or start the server with --seconds"
            raise RequestError(503, text, retry_after=_RETRY_AFTER) from None
        finally:
            deadline.cancel()  # nobody waits any more

    def close(self) -> None:
        """Take no more work; what is at work ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Site:
    """A server's runs and all that addresses share.

    Args:
        folders: the run directories.
        settings: those of the server.
    """

    def __init__(self, folders: Iterable[Path], settings: ServerSettings) -> None:
        self.settings, self.runs = settings, HostedRuns(folders, settings.candidate_bytes)
        self.decisions = None if settings.decisions is None else Decisions(settings.decisions)
        self.workers = Workers(settings.threads, settings.waiting, settings.seconds)
        # What may take seconds has threads of its own, so that quick answers do not wait behind it.
        self.slow_workers = Workers(settings.threads, max(1, settings.waiting // 4), settings.seconds)

    @property
    def seconds(self) -> float:
        """How long the search for answers may take."""
        return min(_MOST_INSIDE, _INSIDE * self.settings.seconds)

    async def of_run(self, name: str, work: Callable[[Run], _Found], *, slow: bool = False) -> _Found:
        """Return what some work gives on a run, in a thread; a run that is not loaded yet is waited for."""
        hosted = self.runs[name]
        threads = self.slow_workers if slow or not hosted.is_loaded else self.workers
        return await threads.run(lambda: work(hosted.run()))

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
        slow: bool = False,
    ) -> Response:
        """Return a resource of a run as JSON or, with what else its template takes, as a page, by the address."""
        as_json = wants_json(request)

        def written(loaded: Run) -> bytes:
            found = work(loaded)
            return json_of(found) if as_json else self.page(request, template, run, page=found, **parts(loaded))

        return Response(await self.of_run(run, written, slow=slow), media_type=JSON if as_json else HTML)

    def page(self, request: Request, template: str, run: str = "", **shown: object) -> bytes:
        """Return a page: a template with what it shows."""
        return render(template, self.context(request, run), **shown).encode("utf-8", "replace")

    def close(self) -> None:
        """Stop working and close the decisions."""
        self.workers.close()
        self.slow_workers.close()
        self.runs.later.close()
        if self.decisions is not None:
            self.decisions.close()


def site_of(request: Request) -> Site:
    """Return the site that a request is sent to."""
    site: Site = request.app.state.site
    return site


def wants_json(request: Request) -> bool:
    """Return whether an address is that of JSON."""
    path: str = request.scope["path"]
    return path.endswith(".json")
