"""Addresses that answer: questions, queries, names as they are typed, what a run thinks of a fact and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response

from relatum.resources.answers import ExplainedFact, QuestionAnswers, ScoredFact, complete, explain, score
from relatum.resources.limits import MOST_ANSWERS, MOST_NAMES, MOST_REASONS, MOST_TEXT
from relatum.resources.names import FoundEntities, SuggestedNames, find, suggest
from relatum.resources.queries import QueryAnswers, language_of, query
from relatum.resources.what_if import WhatIf, what_if
from relatum.serving import pages
from relatum.serving.addresses import PageContext, address
from relatum.serving.errors import RequestError
from relatum.serving.json_text import json_of
from relatum.serving.site import JSON, site_of, wants_json

if TYPE_CHECKING:
    from relatum.api import Run

answers = APIRouter()

Text = Annotated[str, Query(max_length=MOST_TEXT)]
Count = Annotated[int, Query(ge=1, le=MOST_ANSWERS)]
Reasons = Annotated[int, Query(ge=0, le=MOST_REASONS)]

_PAGE_REASONS = 3  # rules beside each answer of a page; programs say how many they want
_FOUND = 20  # entities by a name that stands alone in the question box


@answers.get("/{run}/ask", include_in_schema=False)
@answers.get("/{run}/ask.json", response_model=QuestionAnswers | QueryAnswers)
async def ask(
    request: Request,
    run: str,
    q: Text = "",
    k: Count = 10,
    new_only: bool = False,
    reasons: Reasons = 0,
    coverage: Annotated[float | None, Query(gt=0, lt=1)] = None,
) -> Response:
    """Return the answers to a question such as `sold(drew, ?, book)`, or the rows of a query of SQL or algebra."""
    site = site_of(request)
    if not q.strip():
        if wants_json(request):
            raise RequestError(400, "q: a question is missing, such as sold(drew, ?, book)")
        return Response(status_code=303, headers={"location": address(site.runs[run].name)})

    page = not wants_json(request)

    def work(loaded: Run) -> QuestionAnswers | QueryAnswers | FoundEntities:
        if (
            page
            and not any(sign in q for sign in "()[]")
            and language_of(loaded, q) != "sql"
            and q.strip() not in loaded.schema
        ):
            return find(loaded, q.strip(), _FOUND)
        if language_of(loaded, q) == "question":
            rules = reasons or (_PAGE_REASONS if page else 0)
            return complete(loaded, q, k, new_only=new_only, reasons=rules, seconds=site.seconds, coverage=coverage)
        return query(loaded, q, k, new_only=new_only, seconds=site.seconds)

    return await site.show(request, run, work, _rendered, slow=True)


def _rendered(found: QuestionAnswers | QueryAnswers | FoundEntities, context: PageContext) -> str:
    if isinstance(found, FoundEntities):
        return pages.render_found(found, context)
    if isinstance(found, QuestionAnswers):
        return pages.render_answers(found, context)
    return pages.render_query(found, context)


@answers.get("/{run}/query.json", response_model=QueryAnswers)
async def query_rows(request: Request, run: str, q: Text, k: Count = 10, new_only: bool = False) -> Response:
    """Return the rows that answer a query of SQL or relational algebra, or a question, each with its witness."""
    site = site_of(request)
    work = lambda loaded: json_of(query(loaded, q, k, new_only=new_only, seconds=site.seconds))  # noqa: E731
    return Response(await site.of_run(run, work, slow=True), media_type=JSON)


@answers.get("/{run}/score.json", response_model=ScoredFact)
async def score_fact(request: Request, run: str, fact: Text) -> Response:
    """Return what a run thinks of a fact such as `sold(drew, alex, book)`."""
    body = await site_of(request).of_run(run, lambda loaded: json_of(score(loaded, fact)))
    return Response(body, media_type=JSON)


@answers.get("/{run}/explain", include_in_schema=False)
@answers.get("/{run}/explain.json", response_model=ExplainedFact)
async def explain_fact(
    request: Request, run: str, fact: Text, k: Annotated[int, Query(ge=1, le=MOST_REASONS)] = 5
) -> Response:
    """Return what speaks for a fact and what against it: rules with the facts that they rest on, objections."""
    work = lambda loaded: explain(loaded, fact, k)  # noqa: E731
    return await site_of(request).show(request, run, work, pages.render_fact, slow=True)


@answers.get("/{run}/names.json", response_model=SuggestedNames)
async def names(
    request: Request,
    run: str,
    text: Text = "",
    cursor: Annotated[int | None, Query(ge=0, le=MOST_TEXT)] = None,
    k: Annotated[int, Query(ge=1, le=MOST_NAMES)] = 10,
) -> Response:
    """Return names that complete what is being typed at the cursor: relations, roles, entities."""
    body = await site_of(request).of_run(run, lambda loaded: json_of(suggest(loaded, text, cursor, k)))
    return Response(body, media_type=JSON)


@answers.get("/{run}/find", include_in_schema=False)
@answers.get("/{run}/find.json", response_model=FoundEntities)
async def find_names(request: Request, run: str, text: Text, k: Annotated[int, Query(ge=1, le=MOST_NAMES)] = 20) -> Response:
    """Return entities by a part of their name or label, or a name that looks alike."""
    return await site_of(request).show(request, run, lambda loaded: find(loaded, text, k), pages.render_found)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is taken as true for one query, and the query.

    Attributes:
        q: a question, or a query of SQL or algebra.
        facts: facts that are taken as true, such as `sold(drew, alex, book)`.
        definitions: expressions of relations that are defined for this query alone, by name.
        k: how many rows.
        new_only: leave out rows that follow from what is known or assumed.
    """

    q: str
    facts: list[str] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)
    k: int = 10
    new_only: bool = False


@answers.post("/{run}/what_if.json", response_model=WhatIf)
async def what_if_true(request: Request, run: str, assumed: Assumptions) -> Response:
    """Return the rows that answer a query if some facts were true and some relations defined; nothing is kept."""
    site, one = site_of(request), assumed

    def work(loaded: Run) -> bytes:
        found = what_if(loaded, one.q, one.facts, one.definitions, one.k, new_only=one.new_only, seconds=site.seconds / 2)
        return json_of(found)

    return Response(await site.of_run(run, work, slow=True), media_type=JSON)
