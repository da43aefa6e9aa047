"""Addresses of a run: each page has a twin of JSON, with `.json` behind its path; some are JSON alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import StringConstraints

from relatum.resources.answers import ExplainedFact, QuestionAnswers, ScoredFact, complete, explain, score
from relatum.resources.entity import EntityPage, Neighbourhood, PredictedFacts, entity_page, neighbourhood, predicted
from relatum.resources.facts import FactPage, facts_of
from relatum.resources.limits import MOST_ANSWERS, MOST_FACTS, MOST_NAMES, MOST_REASONS, MOST_RULES, MOST_TEXT
from relatum.resources.names import FoundEntities, SuggestedNames, find, suggest
from relatum.resources.overview import RunOverview, RunSchema, TrainingView, overview, schema, training
from relatum.resources.quality import DataQualityView, QualityView, data_quality, quality
from relatum.resources.queries import QueryAnswers, is_quick, language_of, query
from relatum.resources.relation import (
    DoubtfulFacts,
    MissingPage,
    RelationPage,
    RelationQuality,
    RelationRules,
    doubtful,
    missing,
    missing_is_known,
    relation_page,
    relation_quality,
    relation_rules,
)
from relatum.resources.rules import RulesView, rules
from relatum.resources.what_if import WhatIf, what_if
from relatum.serving.addresses import address
from relatum.serving.errors import RequestError
from relatum.serving.site import HTML, JSON, json_of, site_of, wants_json

if TYPE_CHECKING:
    from relatum.api import Run

routes = APIRouter()

Text = Annotated[str, Query(max_length=MOST_TEXT)]
Given = Annotated[str | None, Query(max_length=MOST_TEXT)]
# In the path or, where that cannot hold it, behind the question mark.
Name = Annotated[str, StringConstraints(max_length=MOST_TEXT)]
Number = Annotated[int | None, Query(ge=0, lt=1 << 31)]
Token = Annotated[str | None, Query(max_length=200)]
Show = Annotated[tuple[str, ...], Query(max_length=8, description="parts of a page that take long to work out")]
Count = Annotated[int, Query(ge=1, le=MOST_ANSWERS)]
Names = Annotated[int, Query(ge=1, le=MOST_NAMES)]
Limit = Annotated[int, Query(ge=1, le=MOST_FACTS)]
Reasons = Annotated[int, Query(ge=0, le=MOST_REASONS)]
Rules = Annotated[int, Query(ge=1, le=MOST_RULES)]

_PAGE_REASONS = 3  # rules beside each answer of a page; programs say how many they want
_MISSING_REASONS = 2  # the same beside each missing fact
_FOUND = 20  # entities by a name that stands alone in the question box


@routes.get("/{run}/ask", include_in_schema=False)
@routes.get("/{run}/ask.json", response_model=QuestionAnswers | QueryAnswers)
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
    site, page = site_of(request), not wants_json(request)
    if not q.strip():
        if not page:
            raise RequestError(400, "q: a question is missing, such as sold(drew, ?, book)")
        return Response(status_code=303, headers={"location": address(site.runs[run].name)})

    def is_name(loaded: Run) -> bool:
        plain = page and not any(sign in q for sign in "()[]") and q.strip() not in loaded.schema
        return plain and language_of(loaded, q) != "sql"

    def work(loaded: Run) -> tuple[str, QuestionAnswers | QueryAnswers | FoundEntities]:
        language = language_of(loaded, q)
        if is_name(loaded):
            return "found.html", find(loaded, q.strip(), _FOUND)
        if language != "question":
            return "query.html", query(loaded, q, k, new_only=new_only, seconds=site.seconds)
        most = reasons or (_PAGE_REASONS if page else 0)
        found = complete(loaded, q, k, new_only=new_only, reasons=most, seconds=site.seconds, coverage=coverage)
        return "answers.html", found

    def written(loaded: Run) -> bytes:
        template, found = work(loaded)
        return site.page(request, template, run, page=found) if page else json_of(found)

    slow = lambda loaded: not (is_name(loaded) or is_quick(loaded, q))  # noqa: E731
    return Response(await site.of_run(request, run, written, slow=slow), media_type=HTML if page else JSON)


@routes.get("/{run}/query.json", response_model=QueryAnswers)
async def query_rows(request: Request, run: str, q: Text, k: Count = 10, new_only: bool = False) -> Response:
    """Return the rows that answer a query of SQL or relational algebra, or a question, each with its witness."""
    site = site_of(request)
    work = lambda loaded: query(loaded, q, k, new_only=new_only, seconds=site.seconds)  # noqa: E731
    return await site.show(request, run, work, slow=True)


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


@routes.post("/{run}/what_if.json", response_model=WhatIf)
async def what_if_true(request: Request, run: str, assumed: Assumptions) -> Response:
    """Return the rows that answer a query if some facts were true and some relations defined; nothing is kept."""
    site, one = site_of(request), assumed

    def work(loaded: Run) -> WhatIf:
        return what_if(loaded, one.q, one.facts, one.definitions, one.k, new_only=one.new_only, seconds=site.seconds / 2)

    return await site.show(request, run, work, slow=True)


@routes.get("/{run}/score.json", response_model=ScoredFact)
async def score_fact(request: Request, run: str, fact: Text) -> Response:
    """Return what a run thinks of a fact such as `sold(drew, alex, book)`."""
    return await site_of(request).show(request, run, lambda loaded: score(loaded, fact))


@routes.get("/{run}/explain", include_in_schema=False)
@routes.get("/{run}/explain.json", response_model=ExplainedFact)
async def explain_fact(
    request: Request, run: str, fact: Text, k: Annotated[int, Query(ge=1, le=MOST_REASONS)] = 5
) -> Response:
    """Return what speaks for a fact and what against it: rules with the facts that they rest on, objections."""
    return await site_of(request).show(request, run, lambda loaded: explain(loaded, fact, k), "fact.html")


@routes.get("/{run}/names.json", response_model=SuggestedNames)
async def names(
    request: Request,
    run: str,
    text: Text = "",
    cursor: Annotated[int | None, Query(ge=0, le=MOST_TEXT)] = None,
    k: Names = 10,
) -> Response:
    """Return names that complete what is being typed at the cursor: relations, roles, entities."""
    return await site_of(request).show(request, run, lambda loaded: suggest(loaded, text, cursor, k))


@routes.get("/{run}/find", include_in_schema=False)
@routes.get("/{run}/find.json", response_model=FoundEntities)
async def find_names(request: Request, run: str, text: Text, k: Names = 20) -> Response:
    """Return entities by a part of their name or label, or a name that looks alike."""
    return await site_of(request).show(request, run, lambda loaded: find(loaded, text, k), "found.html")


@routes.get("/{run}", include_in_schema=False)
@routes.get("/{run}.json", response_model=RunOverview)
async def run_overview(request: Request, run: str) -> Response:
    """Return what a run is: its model, data, relations and quality."""
    return await site_of(request).show(request, run, overview, "overview.html")


@routes.get("/{run}/schema.json", response_model=RunSchema)
async def run_schema(request: Request, run: str) -> Response:
    """Return the relations that can be asked, with their roles, and the relations that were defined."""
    return await site_of(request).show(request, run, schema)


async def _named(request: Request, run: str, name: str | None, number: int | None) -> str:
    """Return the name of an entity that an address gives behind its question mark, or the number of."""
    if (name is None) == (number is None):
        raise RequestError(400, "give the name of an entity, or its number")
    if name is not None:
        return name

    def found(loaded: Run) -> str:
        if number is None or number >= len(loaded.entities):
            raise RequestError(404, f"number: there are {len(loaded.entities):,} entities, numbered from 0")
        return loaded.entities[number]

    return await site_of(request).of_run(request, run, found)


@routes.get("/{run}/entity/{name:path}", include_in_schema=False)
@routes.get("/{run}/entity/{name:path}.json", response_model=EntityPage)
async def entity(request: Request, run: str, name: Name, show: Show = ()) -> Response:
    """Return an entity: its facts by relation and role, and entities like it."""

    def parts(loaded: Run) -> dict[str, object]:
        return {
            "predicted": predicted(loaded, name, reasons=1) if "predicted" in show else None,
            "neighbourhood": neighbourhood(loaded, name) if "neighbourhood" in show else None,
        }

    work = lambda loaded: entity_page(loaded, name)  # noqa: E731
    return await site_of(request).show(request, run, work, "entity.html", parts, slow=bool(show))


@routes.get("/{run}/entity", include_in_schema=False)
@routes.get("/{run}/entity.json", response_model=EntityPage)
async def entity_given(request: Request, run: str, name: Given = None, number: Number = None, show: Show = ()) -> Response:
    """Return an entity whose name a path cannot hold, by its name or its number."""
    return await entity(request, run, await _named(request, run, name, number), show)


@routes.get("/{run}/predicted.json", response_model=PredictedFacts)
async def predicted_facts(
    request: Request, run: str, name: Given = None, number: Number = None, k: Count = 10, reasons: Reasons = 0
) -> Response:
    """Return the most likely new facts with an entity."""
    named = await _named(request, run, name, number)
    return await site_of(request).show(request, run, lambda loaded: predicted(loaded, named, k, reasons=reasons), slow=True)


@routes.get("/{run}/neighbourhood.json", response_model=Neighbourhood)
async def neighbours(request: Request, run: str, name: Given = None, number: Number = None) -> Response:
    """Return the facts around an entity, known and predicted, to be drawn."""
    named = await _named(request, run, name, number)
    return await site_of(request).show(request, run, lambda loaded: neighbourhood(loaded, named), slow=True)


@routes.get("/{run}/facts", include_in_schema=False)
@routes.get("/{run}/facts.json", response_model=FactPage)
async def known_facts(
    request: Request,
    run: str,
    entity: Given = None,
    relation: Given = None,
    role: Given = None,
    after: Token = None,
    limit: Limit = 50,
) -> Response:
    """Return known facts page by page: of an entity, of a relation, of an entity at a role, or all."""
    work = lambda loaded: facts_of(loaded, entity, relation, role, after=after, limit=limit)  # noqa: E731
    return await site_of(request).show(request, run, work, "facts.html")


@routes.get("/{run}/relation/{name:path}", include_in_schema=False)
@routes.get("/{run}/relation/{name:path}.json", response_model=RelationPage)
@routes.get("/{run}/relation", include_in_schema=False)
@routes.get("/{run}/relation.json", response_model=RelationPage)
async def relation(
    request: Request, run: str, name: Name, after: Token = None, limit: Limit = 20, show: Show = ()
) -> Response:
    """Return a relation: its schema, its size and its facts."""

    def parts(loaded: Run) -> dict[str, object]:
        return {
            "quality": relation_quality(loaded, name) if "quality" in show else None,
            "rules": relation_rules(loaded, name) if "rules" in show else None,
            "doubtful": doubtful(loaded, name) if "doubtful" in show else None,
            "missing": missing(loaded, name, limit=10) if "missing" in show else None,
        }

    work = lambda loaded: relation_page(loaded, name, after=after, limit=limit)  # noqa: E731
    return await site_of(request).show(request, run, work, "relation.html", parts, slow=bool(show))


@routes.get("/{run}/missing/{name:path}", include_in_schema=False)
@routes.get("/{run}/missing/{name:path}.json", response_model=MissingPage)
@routes.get("/{run}/missing.json", response_model=MissingPage)
async def missing_facts(
    request: Request, run: str, name: Name, after: Token = None, limit: Limit = 20, reasons: Reasons = 0
) -> Response:
    """Return facts of a relation that are likely true but not known, the most likely first."""
    site, most = site_of(request), reasons or (0 if wants_json(request) else _MISSING_REASONS)

    def parts(loaded: Run) -> dict[str, object]:
        kept = site.decisions
        return {"decided": {} if kept is None else kept.of_relation(run, loaded.schema[name].name)}

    work = lambda loaded: missing(loaded, name, after=after, limit=limit, reasons=most)  # noqa: E731
    slow = lambda loaded: not missing_is_known(loaded, name)  # noqa: E731
    return await site.show(request, run, work, "missing.html", parts, slow=slow)


@routes.get("/{run}/missing", include_in_schema=False)
async def missing_page(
    request: Request, run: str, name: Given = None, after: Token = None, limit: Limit = 20, reasons: Reasons = 0
) -> Response:
    """Return what is missing of a relation or, without one, the relations to choose from."""
    if name is not None:
        return await missing_facts(request, run, name, after, limit, reasons)
    return await site_of(request).show(request, run, overview, "missing_relations.html")


@routes.get("/{run}/doubtful.json", response_model=DoubtfulFacts)
async def doubtful_facts(request: Request, run: str, name: Text, k: Count = 10) -> Response:
    """Return the known facts of a relation that are most doubtful."""
    return await site_of(request).show(request, run, lambda loaded: doubtful(loaded, name, k), slow=True)


@routes.get("/{run}/relation_quality.json", response_model=RelationQuality)
async def quality_of_relation(request: Request, run: str, name: Text) -> Response:
    """Return how the held-out facts of a relation rank, by role."""
    return await site_of(request).show(request, run, lambda loaded: relation_quality(loaded, name), slow=True)


@routes.get("/{run}/relation_rules.json", response_model=RelationRules)
async def rules_of_relation(request: Request, run: str, name: Text, k: Rules = 20) -> Response:
    """Return the rules that conclude facts of a relation, and those that read them."""
    return await site_of(request).show(request, run, lambda loaded: relation_rules(loaded, name, k), slow=True)


@routes.get("/{run}/rules", include_in_schema=False)
@routes.get("/{run}/rules.json", response_model=RulesView)
async def all_rules(request: Request, run: str, relation: Given = None, k: Rules = 20) -> Response:
    """Return the most notable rules of a run, or of a relation."""
    return await site_of(request).show(request, run, lambda loaded: rules(loaded, relation, k), "rules.html", slow=True)


@routes.get("/{run}/quality.json", response_model=QualityView)
async def run_quality(request: Request, run: str) -> Response:
    """Return how good a run is on held-out facts: by arity, relation and position; how probabilities are calibrated."""
    return await site_of(request).show(request, run, quality, slow=True)


@routes.get("/{run}/quality", include_in_schema=False)
async def quality_page(request: Request, run: str, show: Show = ()) -> Response:
    """Return how good a run is and what may spoil its data; what takes long only if it is wanted, or is there."""

    def measured(loaded: Run) -> QualityView | None:
        return quality(loaded) if "evaluation" in show or loaded.remembers("quality") else None

    def parts(loaded: Run) -> dict[str, object]:
        return {"data": data_quality(loaded) if "data" in show or loaded.remembers("data quality") else None}

    return await site_of(request).show(request, run, measured, "quality.html", parts, slow=True)


@routes.get("/{run}/data_quality.json", response_model=DataQualityView)
async def run_data_quality(request: Request, run: str) -> Response:
    """Return what may spoil training on the data, or results from it."""
    return await site_of(request).show(request, run, data_quality, slow=True)


@routes.get("/{run}/training", include_in_schema=False)
@routes.get("/{run}/training.json", response_model=TrainingView)
async def run_training(request: Request, run: str) -> Response:
    """Return how training went, or goes: its curves, the settings and the provenance; also while there is no model yet."""
    site, as_json = site_of(request), wants_json(request)
    folder = site.runs[run].folder

    def written() -> bytes:
        found = training(folder)
        return json_of(found) if as_json else site.page(request, "training.html", run, page=found)

    return Response(await site.at_work(request, written), media_type=JSON if as_json else HTML)
