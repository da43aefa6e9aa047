"""Addresses of decisions about predicted facts: the only ones that write, and only where `--decisions` names a file."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, cast
from urllib.parse import parse_qs

from fastapi import APIRouter, Header, Query, Request, Response

from relatum.runs.answers import Question
from relatum.serving.decisions import Decision, Decisions, Verdict
from relatum.serving.errors import RequestError
from relatum.serving.site import HTML, JSON, Site, json_of, site_of, wants_json

if TYPE_CHECKING:
    from relatum.api import Run

decided = APIRouter()

Token = Annotated[str, Header(alias="x-relatum-csrf", max_length=200)]


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision about a predicted fact.

    Attributes:
        relation: the relation of the fact.
        entities: the whole names of its entities, in the order of the positions.
        verdict: `accept` or `reject`.
    """

    relation: str
    entities: list[str]
    verdict: Literal["accept", "reject"]


@dataclass(frozen=True, slots=True)
class Undo:
    """The number of a decision that is not to stand any more."""

    id: int


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """Decisions on a run that stand, the latest first.

    Attributes:
        run: the name of the run.
        accepted: how many facts were accepted.
        rejected: how many were rejected.
        decisions: those of this page.
        next: the number that leads to the next page, as `before`; None on the last one.
        csrf: what a request that decides must send as `x-relatum-csrf`.
    """

    run: str
    accepted: int
    rejected: int
    decisions: tuple[Decision, ...]
    next: int | None
    csrf: str


@decided.get("/{run}/decisions", include_in_schema=False)
@decided.get("/{run}/decisions.json", response_model=DecisionPage)
async def decisions(
    request: Request,
    run: str,
    before: Annotated[int | None, Query(ge=1, lt=1 << 62)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """Return the decisions that stand, the latest first, and what a request that decides must send."""
    site = site_of(request)
    kept, name = site.require_decisions(), site.runs[run].name

    def work() -> bytes:
        page = _page(kept, name, before, limit)
        return json_of(page) if wants_json(request) else site.page(request, "decisions.html", run, decisions=page.decisions)

    return Response(await site.at_work(request, work), media_type=JSON if wants_json(request) else HTML)


@decided.get("/{run}/decisions.tsv", include_in_schema=False)
async def export(request: Request, run: str) -> Response:
    """Return the accepted facts as a file that `relatum update` reads."""
    site = site_of(request)
    kept, name = site.require_decisions(), site.runs[run].name

    def work(loaded: Run) -> bytes:
        def named(relation: str, entities: tuple[str, ...]) -> Sequence[str]:
            """Return the entities that numbers and dates are in, which facts are shown by."""
            if not loaded.shown_values.columns(relation):
                return entities
            return [loaded.entities[one] for one in loaded.entities_of(Question(relation, entities))[:, 0].tolist()]

        return "".join(kept.accepted(name, named)).encode()

    body = await site.of_run(request, run, work, slow=True)
    headers = {"content-disposition": f'attachment; filename="{name}-accepted.tsv"'}
    return Response(body, media_type="text/tab-separated-values; charset=utf-8", headers=headers)


@decided.post("/{run}/decisions.json", response_model=Decision)
async def decide(request: Request, run: str, decision: NewDecision, csrf: Token) -> Response:
    """Keep a decision about a predicted fact; it is on disk when the answer comes, and replaces the one that stood."""
    site = site_of(request)
    _require_secret(site, csrf)
    found = await _decide(request, run, decision.relation, decision.entities, decision.verdict)
    return Response(json_of(found), media_type=JSON)


@decided.post("/{run}/decisions/undo.json", response_model=Decision)
async def undo(request: Request, run: str, decision: Undo, csrf: Token) -> Response:
    """Undo a decision; the answer is the decision that does not stand any more."""
    site = site_of(request)
    kept, name = _require_secret(site, csrf), site.runs[run].name
    found = await site.at_work(request, lambda: kept.undo(name, decision.id))
    return Response(json_of(found), media_type=JSON)


@decided.post("/{run}/decisions", include_in_schema=False)
async def decide_by_form(request: Request, run: str) -> Response:
    """Keep or undo a decision that a form sends, and go back to the page that it was on."""
    site = site_of(request)
    fields = await _form(request)
    _require_secret(site, fields.get("csrf", [""])[0])
    kept, name = site.require_decisions(), site.runs[run].name
    verdict = fields.get("verdict", [""])[0]
    if verdict == "undo":
        number = fields.get("id", [""])[0]
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise RequestError(400, "id: must be the number of a decision")
        await site.at_work(request, lambda: kept.undo(name, int(number)))
    else:
        await _decide(request, run, fields.get("relation", [""])[0], fields.get("entity", []), verdict)
    back = fields.get("back", [""])[0]
    # Only to a page of this run: a forged form must not lead elsewhere.
    inside = back.startswith(f"/{name}/") and back.isascii() and back.isprintable() and "\\" not in back
    return Response(status_code=303, headers={"location": back if inside else f"/{name}/decisions"})


async def _decide(request: Request, run: str, relation: str, entities: Sequence[str], verdict: str) -> Decision:
    """Return a decision that is kept; the run must know relation and entities."""
    site = site_of(request)
    kept, name = site.require_decisions(), site.runs[run].name
    if verdict not in ("accept", "reject"):
        raise RequestError(400, "verdict: must be accept or reject")

    def work(loaded: Run) -> Decision:
        schema = loaded.schema[relation]
        if len(entities) != schema.arity:
            raise RequestError(400, f"entities: {relation} has {schema.arity}, not {len(entities)}")
        grouped = loaded.shown_values.columns(relation)
        for position, one in enumerate(entities):
            if position not in grouped:
                loaded.entities.id(one)  # refuses what is no whole name
        names = tuple(name or "" for name in loaded.given_names(Question(relation, tuple(entities))))
        found = loaded.score(Question(relation, names))
        return kept.decide(name, relation, names, cast(Verdict, verdict), found.probability)

    return await site.of_run(request, run, work)


def _page(kept: Decisions, run: str, before: int | None, limit: int) -> DecisionPage:
    counts = kept.counts(run)
    found = kept.standing(run, before=before, limit=limit)
    following = found[-1].id if len(found) == limit else None
    return DecisionPage(run, counts["accept"], counts["reject"], tuple(found), following, kept.secret)


def _require_secret(site: Site, given: str) -> Decisions:
    """Return the decisions, if a request shows that it comes from a page of this server or has read one."""
    kept = site.require_decisions()
    if not hmac.compare_digest(given.encode("utf-8", "replace"), kept.secret.encode()):
        raise RequestError(403, "the request does not carry what decisions.json has as `csrf`; load the page again")
    return kept


async def _form(request: Request) -> dict[str, list[str]]:
    """Return the fields of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise RequestError(400, "the body must be a form; programs send JSON to decisions.json")
    try:
        body = (await request.body()).decode("utf-8", "replace")
        return parse_qs(body, keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise RequestError(400, "the form has too many fields") from None
