"""Resources of a small shop, written by hand, and the pages that show them: each page once, with all of its parts."""

from __future__ import annotations

from collections.abc import Callable

from relatum.algebra.lexer import as_written, write_arguments
from relatum.report.quality import Breakdown, ColumnErrors, Errors, Measured, RankShare, WorstFact
from relatum.resources.answers import (
    AnswerItem,
    ExplainedFact,
    QuestionAnswers,
    ReasonItem,
    ScoredFact,
    SimilarFactItem,
)
from relatum.resources.entity import EntityPage, FactGroup, Neighbourhood, PredictedFacts, SimilarItem
from relatum.resources.facts import FactPage
from relatum.resources.names import EntityHit, FoundEntities, StandsIn
from relatum.resources.overview import (
    ColumnRow,
    DefinitionRow,
    PartSize,
    RelationRow,
    RunOverview,
    Setting,
    SettingSection,
    TrainingView,
)
from relatum.resources.quality import (
    CalibrationPoint,
    CalibrationView,
    CountOf,
    DataQualityView,
    QualityView,
)
from relatum.resources.queries import QueryAnswers, QueryItem, WitnessItem
from relatum.resources.references import EntityRef, FactRef
from relatum.resources.relation import (
    DoubtfulFacts,
    DoubtfulItem,
    MissingFact,
    MissingPage,
    RelationPage,
    RelationQuality,
    RelationRules,
)
from relatum.resources.rules import ExactRule, RulesView, SoftRuleItem
from relatum.runs.journal import HistoryPoint
from relatum.serving.addresses import PageContext
from relatum.serving.decisions import Decision
from relatum.serving.errors import Refusal
from relatum.serving.pages import RunCard, render

__all__ = ["entity", "fact", "sample_pages"]

_ROLES = ("seller", "buyer", "item")


def entity(name: str, label: str | None = None) -> EntityRef:
    """Return an entity; one of a name such as `people:drew` has the type `people`."""
    return EntityRef(name, label, name.partition(":")[0] if ":" in name else None)


def fact(relation: str, *names: str, roles: tuple[str, ...] | None = None, probability: float | None = None) -> FactRef:
    """Return a fact: predicted if it has a probability, else known."""
    known = probability is None
    given = roles or _ROLES[: len(names)]
    text = as_written(relation) + write_arguments(names)
    return FactRef(relation, tuple(map(entity, names)), given, text, known, probability, "train" if known else None)


def sample_pages(
    name: Callable[[str], str] = str, *, decisions: bool = True, run: str = "shop"
) -> dict[str, Callable[[], str]]:
    """Return each page by its path, drawn when it is called; `name` changes the names of entities and relations."""
    at = PageContext(run, (run, "jf17k"), "1.0", f"/{run}/x.json", decisions, "secret", lambda one: 17)
    sold, drew = name("sold"), name("people:drew")
    others = [name(f"people:{one}") for one in ("alex", "sam", "kim", "toni", "robin", "maria theresia")]
    items = [name(f"items:{one}") for one in ("book", "lamp", "chair", "a very long name of a thing that nobody buys")]
    known = [fact(sold, drew, other, items[index % 4]) for index, other in enumerate(others)]
    reason = ReasonItem(
        f"{sold}(X, Y, Z) :- {sold}(Y, X, Z).", "buyer", 0.82, 41, 50, (f"{sold}({others[1]}, lamp)",), 2, (known[1],)
    )
    new = [fact(sold, drew, items[2], items[index % 4], probability=0.93 / (index + 1)) for index in range(4)]
    answers = [
        *(AnswerItem((one.entities[1],), one, 0.9, True, "train", 8.0) for one in known),
        *(
            AnswerItem((one.entities[1],), one, one.probability, False, None, 7.0, (reason,) if index else ())
            for index, one in enumerate(new)
        ),
    ]
    columns = tuple(ColumnRow(index, role, "people", "text") for index, role in enumerate(_ROLES))
    row = RelationRow(sold, 3, columns, 1234, known[0].entities, f"{as_written(sold)}({as_written(drew)}, ?, ?)", None)
    lent = RelationRow(name("lent_to"), 2, columns[:2], 7, None, None, "project[0, 1](sold)")
    measured = [
        Measured(role, "test", 120, 0.61 - index / 10, 0.55 - index / 10, 0.66, 0.5, 0.84)
        for index, role in enumerate(_ROLES)
    ]
    soft = [
        SoftRuleItem(
            f"{sold}(X, Y, Z) :- {other}(Y, X).", "buyer", 0.7, 70, 100, 5, ("for example",), "not so", sold, (other,)
        )
        for other in (name("lent_to"), name("owns"), sold)
    ]
    exact = ExactRule("bought = permute[1, 0](sold)", name("bought"), "equal", "permute[1, 0](sold)", (sold,), 40, 0.98, 1.0)
    rules = RulesView(tuple(soft), (exact,), truncated=True)
    missing = MissingPage(
        sold, _ROLES, tuple(MissingFact(one, 1, 5.0, (reason,)) for one in new), 40, "token", truncated=True
    )
    decided = [
        Decision(7, run, sold, tuple(one.name for one in new[1].entities), "accept", 0.4, 0.0),
        Decision(8, run, sold, tuple(one.name for one in new[2].entities), "reject", 0.4, 0.0),
    ]
    doubtful = DoubtfulItem(known[0], 1, "buyer", known[0].entities[1], entity(others[2]), 4.2, (reason,), ())
    page = EntityPage(
        entity(drew),
        61,
        (FactGroup(sold, "seller", 0, 61, tuple(known)),),
        tuple(SimilarItem(entity(one), 0.8) for one in others),
        True,
    )
    around = Neighbourhood(entity(drew), (*known, *new, fact(name("lent_to"), others[0], drew)), truncated=True)
    overview = RunOverview(
        (row, lent), 485, True, False, run, "ReAlE", 40, "shop",
        (PartSize("train", 1200), PartSize("valid", 40), PartSize("test", 40)),
        "2026-01-02T03:04:05+00:00", 0.51, measured[0], (DefinitionRow("lent_to", "project[0, 1](sold)"),),
    )  # fmt: skip
    points = tuple(HistoryPoint(epoch, 0.5 * epoch, 3.0 / epoch) for epoch in range(1, 80))
    scores = tuple(HistoryPoint(epoch, 0.5 * epoch, 1 - 1 / epoch) for epoch in range(5, 80, 5))
    settings = (SettingSection("Model", (Setting("dim", "40"), Setting("model", "reale"))),)
    training = TrainingView(run, True, 79, 100, 40.0, 2, points, scores, scores[-1], settings, settings, 1)
    calibration = CalibrationView(0.08, 0.03, tuple(CalibrationPoint(x / 10, x / 10 + 0.02, 0.1) for x in range(10)))
    worst = WorstFact(sold, ("drew", "alex", "book"), 1, 40.0, ("sam", "kim"))
    errors = Errors(0.02, 0.1, (ColumnErrors(sold, "buyer", measured[1], 0.4),), 3, 0.4, (worst,))
    quality = QualityView(
        "test", measured[0], (RankShare("1", 0.5), RankShare("2 to 3", 0.3)),
        (Breakdown("By relation", "relation", tuple(measured)),), calibration, errors,
    )  # fmt: skip
    counts = (CountOf("test", 3), CountOf("valid", 0))
    data = DataQualityView(counts, counts, counts, counts, counts, 17, counts, counts, 2)
    scored = ScoredFact(new[0], 0.4, 98.2, 7.5)
    explained = ExplainedFact(
        scored, (reason, reason), ("no training fact has the same seller and buyer",), (SimilarFactItem(known[0], 0.7),)
    )
    rows = QueryAnswers(
        "sql", "SELECT buyer FROM sold WHERE seller = 'drew'", ("buyer",),
        (
            QueryItem((entity(others[0]),), 1.0, True, True, (WitnessItem(known[0], negated=False),)),
            QueryItem(
                (entity(others[1]),), 0.4, False, True,
                (WitnessItem(new[1], negated=False), WitnessItem(new[2], negated=True)),
            ),
        ),
        True, "equal", "the time was over", True,
    )  # fmt: skip
    hits = FoundEntities("dre", (EntityHit(entity(drew), "prefix", 61, (StandsIn(sold, "seller", 61),)),), truncated=False)
    found = QuestionAnswers(row.question or "", sold, (entity(drew), None, None), ("buyer",), tuple(answers), truncated=True)
    cards = [RunCard(run, overview), RunCard("young", training=training), RunCard("closed")]
    facts = FactPage(entity(drew), None, None, tuple(known), 61, "token")
    predicted = PredictedFacts(entity(drew), tuple(answers[-4:]), truncated=False)
    parts = {
        "quality": RelationQuality(sold, "test", measured[0], tuple(measured)),
        "rules": RelationRules(sold, rules, rules),
        "doubtful": DoubtfulFacts(sold, (doubtful,), truncated=True),
        "missing": missing,
    }
    about = RelationPage(row, (("seller", "item"),), FactPage(None, sold, None, tuple(known), 1234, "token"))
    refusal = Refusal(False, "unknown-name", "no entity drow", ("no entity drow",), 404, (drew,))
    return {
        "": lambda: render("home.html", PageContext("", (run,), "1.0"), runs=cards),
        run: lambda: render("overview.html", at, overview),
        f"{run}/ask": lambda: render("answers.html", at, found),
        f"{run}/query": lambda: render("query.html", at, rows),
        f"{run}/explain": lambda: render("fact.html", at, explained),
        f"{run}/entity": lambda: render("entity.html", at, page, predicted=predicted, neighbourhood=around),
        f"{run}/relation": lambda: render("relation.html", at, about, **parts),
        f"{run}/facts": lambda: render("facts.html", at, facts),
        f"{run}/missing": lambda: render("missing_relations.html", at, overview),
        f"{run}/missing/sold": lambda: render("missing.html", at, missing, decided={one.entities: one for one in decided}),
        f"{run}/decisions": lambda: render("decisions.html", at, decisions=decided),
        f"{run}/rules": lambda: render("rules.html", at, rules),
        f"{run}/quality": lambda: render("quality.html", at, quality, data=data),
        f"{run}/training": lambda: render("training.html", at, training),
        f"{run}/error": lambda: render("error.html", at, refusal=refusal, question="sold(drow, ?)"),
        f"{run}/find": lambda: render("found.html", at, hits),
    }
