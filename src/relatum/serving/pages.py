"""Pages: what resources hold as HTML, by templates that escape all they are given.

Each page is a function of resources and of where it stands. What takes long to work out is handed in apart, or is None: the
page then says where it can be had, and its script fetches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relatum.resources.answers import ExplainedFact, QuestionAnswers
from relatum.resources.entity import EntityPage, Neighbourhood, PredictedFacts
from relatum.resources.facts import FactPage
from relatum.resources.missing import MissingPage
from relatum.resources.names import FoundEntities
from relatum.resources.overview import RunOverview
from relatum.resources.quality import DataQualityView, QualityView
from relatum.resources.queries import QueryAnswers
from relatum.resources.relation import DoubtfulFacts, RelationPage, RelationQuality, RelationRules
from relatum.resources.rules import RulesView
from relatum.resources.training import TrainingView
from relatum.serving.addresses import PageContext, address
from relatum.serving.decisions import Decision
from relatum.serving.errors import Refusal
from relatum.serving.templating import fill_template, question_at, readable


@dataclass(frozen=True, slots=True)
class RunCard:
    """A run in the list of runs: its name in addresses, and what is known of it by now; with neither it is being opened."""

    name: str
    overview: RunOverview | None = None
    training: TrainingView | None = None


def render_home(runs: Sequence[RunCard], at: PageContext) -> str:
    """Return the list of runs."""
    return fill_template("home.html", at, runs=runs, twin="/runs.json")


def render_overview(page: RunOverview, at: PageContext) -> str:
    """Return a run at a glance."""
    example = next((readable(one.question, one.example or ()) for one in page.relations if one.question), None)
    return fill_template("overview.html", at, "", page=page, example=example)


def render_answers(page: QuestionAnswers, at: PageContext) -> str:
    """Return the answers to a question."""
    return fill_template("answers.html", at, page=page, question=page.question)


def render_query(page: QueryAnswers, at: PageContext) -> str:
    """Return the rows that answer a query of SQL or algebra."""
    return fill_template("query.html", at, page=page, question=page.text)


def render_fact(page: ExplainedFact, at: PageContext) -> str:
    """Return what speaks for a fact and what against it."""
    return fill_template("fact.html", at, page=page)


def render_entity(
    page: EntityPage,
    at: PageContext,
    *,
    predicted: PredictedFacts | None = None,
    neighbourhood: Neighbourhood | None = None,
) -> str:
    """Return an entity with its facts, what is predicted about it, entities like it, and its neighbourhood."""
    example = next(filter(None, (question_at(group, page.entity.name) for group in page.groups)), None)
    shown = {"predicted": predicted, "neighbourhood": neighbourhood}
    return fill_template("entity.html", at, page=page, example=example and readable(example, [page.entity]), **shown)


def render_relation(
    page: RelationPage,
    at: PageContext,
    *,
    quality: RelationQuality | None = None,
    rules: RelationRules | None = None,
    doubtful: DoubtfulFacts | None = None,
    missing: MissingPage | None = None,
) -> str:
    """Return a relation with its facts, its quality, its rules, and facts that are doubtful or likely missing."""
    one = page.relation
    example = one.question and readable(one.question, one.example or ())
    parts = {"quality": quality, "rules": rules, "doubtful": doubtful, "missing": missing}
    return fill_template("relation.html", at, page=page, example=example, **parts)


def render_facts(page: FactPage, at: PageContext) -> str:
    """Return known facts, a page of them."""
    return fill_template("facts.html", at, page=page)


def render_missing(page: MissingPage, at: PageContext, decided: Mapping[tuple[str, ...], Decision] | None = None) -> str:
    """Return the facts of a relation that are likely missing, with what was decided on them, by their entities' names."""
    return fill_template("missing.html", at, "missing", page=page, decided=decided or {})


def render_missing_relations(page: RunOverview, at: PageContext) -> str:
    """Return the relations of which facts may be missing."""
    return fill_template("missing_relations.html", at, "missing", page=page, twin=address(at.run, "schema", json=True))


def render_decisions(decisions: Sequence[Decision], at: PageContext) -> str:
    """Return the decisions on predicted facts that stand."""
    return fill_template("decisions.html", at, "missing", decisions=decisions)


def render_rules(page: RulesView, at: PageContext) -> str:
    """Return the rules of a run."""
    return fill_template("rules.html", at, "rules", page=page)


def render_quality(page: QualityView | None, at: PageContext, data: DataQualityView | None = None) -> str:
    """Return how good a run is; None stands for what is to be worked out."""
    return fill_template("quality.html", at, "quality", page=page, data=data)


def render_training(page: TrainingView, at: PageContext) -> str:
    """Return how the training of a run went or goes."""
    return fill_template("training.html", at, "training", page=page)


def render_found(page: FoundEntities, at: PageContext) -> str:
    """Return entities by a name that was typed."""
    twin = address(at.run, "find", json=True, text=page.text)
    return fill_template("found.html", at, page=page, question=page.text, twin=twin)


def render_error(refusal: Refusal, at: PageContext, *, question: str = "") -> str:
    """Return what went wrong, with the question if it was one."""
    return fill_template("error.html", at, refusal=refusal, question=question)
