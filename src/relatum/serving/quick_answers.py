"""The short way of a question: from the address to the answer as JSON, past all that most requests need not.

It takes `GET /RUN/ask.json?q=...&k=...&new_only=...` where the run is loaded and nothing else is given; anything else, and
all that is wrong, goes the long way, which knows every rule and words every refusal. Both give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from relatum.errors import RelatumError
from relatum.kernels import parallel
from relatum.resources.answers import complete_each
from relatum.resources.limits import MOST_ANSWERS, MOST_TEXT
from relatum.resources.queries import language_of
from relatum.serving.answer_cache import AnswerCache
from relatum.serving.batching import Batcher
from relatum.serving.errors import RequestError, refusal_of, retry_after
from relatum.serving.hosted import HostedRun
from relatum.serving.json_text import json_of
from relatum.serving.security import App, Receive, Scope, Send
from relatum.serving.site import Site

if TYPE_CHECKING:
    from relatum.api import Run

__all__ = ["QuickAnswers"]

_PAGE = "/ask.json"
_TRUE, _FALSE = ("true", "1"), ("false", "0")
Sort = tuple["Run", int, bool]


class QuickAnswers:
    """Answers questions the short way, and hands on all else.

    Args:
        app: what knows the long way.
        site: the runs and the threads.
    """

    def __init__(self, app: App, site: Site) -> None:
        self._app, self._runs, self._seconds = app, dict(site.runs), site.seconds
        self._shown = site.shown
        self._caches = {name: AnswerCache() for name in self._runs}
        self._batcher: Batcher[Sort, str, bytes | None] = Batcher(site.workers, self._answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].endswith(_PAGE):
            hosted = self._runs.get(scope["path"][1 : -len(_PAGE)])
            wanted = None if hosted is None or not hosted.is_loaded else _wanted(scope["query_string"])
            if hosted is not None and wanted is not None:
                found = await self._found(hosted, *wanted)
                if found is not None:
                    await _send(send, *found)
                    return
        await self._app(scope, receive, send)

    async def _found(self, hosted: HostedRun, question: str, k: int, new_only: bool) -> tuple[int, bytes, int | None] | None:
        """Return status and body of an answer, and when to try again; None where the long way must be taken."""
        run, cache = hosted.run(), self._caches[hosted.name]
        if (kept := cache.get(run, (question, k, new_only))) is not None:
            return 200, kept, None
        try:
            body = await self._batcher.ask((run, k, new_only), question)
        except (RelatumError, RequestError) as error:
            refusal = refusal_of(error, self._shown)
            return refusal.status, json_of(refusal), retry_after(error)
        if body is None:
            return None
        cache.put(run, (question, k, new_only), body)
        return 200, body, None

    def _answer(self, sort: Sort, questions: Sequence[str]) -> list[bytes | Exception | None]:
        run, k, new_only = sort
        are_questions = [language_of(run, one) == "question" for one in questions]
        wanted = [one for one, is_question in zip(questions, are_questions, strict=True) if is_question]
        with parallel.single_threaded():  # others work beside it; handing over parts of so little costs more than it gains
            answers = iter(complete_each(run, wanted, k, new_only=new_only, seconds=self._seconds) if wanted else ())
        # What is no question but a query goes the long way.
        found = [next(answers) if is_question else None for is_question in are_questions]
        return [one if one is None or isinstance(one, RelatumError) else json_of(one) for one in found]


def _wanted(query: bytes) -> tuple[str, int, bool] | None:
    """Return question, k and whether only new answers are wanted; None where anything is not plain."""
    question, k, new_only = "", 10, False
    for part in query.decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if name == "q" and not question:
            question = unquote_plus(value)
        elif name == "k" and value.isascii() and value.isdigit() and len(value) < 6:
            k = int(value)
        elif name == "new_only" and value in (*_TRUE, *_FALSE):
            new_only = value in _TRUE
        else:
            return None
    plain = question.strip() and len(question) <= MOST_TEXT and 1 <= k <= MOST_ANSWERS
    return (question, k, new_only) if plain else None


async def _send(send: Send, status: int, body: bytes, seconds: int | None) -> None:
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
    if seconds is not None:
        headers.append((b"retry-after", b"%d" % seconds))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
