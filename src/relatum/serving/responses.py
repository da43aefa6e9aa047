"""How refusals go out: one shape, as JSON at addresses of JSON and as a page at those of pages."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from relatum.errors import RelatumError
from relatum.resources.limits import MOST_TEXT
from relatum.serving import pages
from relatum.serving.errors import STATUSES, RequestError, refusal_of, retry_after
from relatum.serving.json_text import json_of
from relatum.serving.site import HTML, JSON, site_of, wants_json

_LOG = logging.getLogger("relatum.serving")
_MOST_LISTED = 20


def add_handlers(app: FastAPI) -> None:
    """Let every error of an app go out in the one shape."""
    for kind in (RequestError, RelatumError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handled)


async def _handled(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        error = _invalid(error)
    elif isinstance(error, HTTPException):
        if error.status_code == 404:
            error = RequestError(404, "there is nothing at this address; /-/openapi.json lists what there is")
        elif error.status_code == 405:
            error = RequestError(405, STATUSES[405])
        else:
            error = RequestError(error.status_code, str(error.detail))
    found = refused(request, error)
    if found.status_code == 500:
        _LOG.error("%s failed", request.scope["path"], exc_info=error)
    return found


def refused(request: Request, error: Exception) -> Response:
    """Return the refusal that an error becomes."""
    site = site_of(request)
    refusal = refusal_of(error, site.shown)
    seconds = retry_after(error)
    headers = {} if seconds is None else {"retry-after": str(seconds)}
    if wants_json(request) or request.scope["path"].startswith("/-/") or request.method == "POST":
        return Response(json_of(refusal), refusal.status, headers, JSON)
    run = request.path_params.get("run", "")
    context = site.context(request, run if run in site.runs else "")
    question = request.query_params.get("q", "")[:MOST_TEXT]
    return Response(pages.render_error(refusal, context, question=question), refusal.status, headers, HTML)


def _invalid(error: RequestValidationError) -> RequestError:
    found = []
    for one in error.errors()[:_MOST_LISTED]:
        where = ".".join(map(str, one["loc"][1:])) or str(one["loc"][0])
        found.append(f"{where}: {one['msg']}")
    return RequestError(400, "; ".join(found) or "the request cannot be used as it is", found)
