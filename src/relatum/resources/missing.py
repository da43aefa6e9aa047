"""Facts of a relation that are likely true but not known, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.answers import ReasonItem, fact_question, reason_item
from relatum.resources.facts import offset_of, token_of
from relatum.resources.limits import MOST_FACTS, MOST_MISSING, MOST_REASONS, bounded
from relatum.resources.references import FactRef, fact_ref, role_names
from relatum.runs.answers import Prediction
from relatum.runs.prediction import predict
from relatum.runs.reasons import why

_AROUND = 500  # known facts of a relation that are varied to find new ones
_ROWS = 20_000  # of a table whose gaps are looked at
_PER_QUESTION = 5  # new answers to one question, so that the list is not all about one entity


@dataclass(frozen=True, slots=True)
class MissingFact:
    """A fact that is not known.

    Attributes:
        fact: the fact with its probability; None without calibration.
        position: where it differs from a known one; None if all facts were tried.
        score: the model's score; to be compared among facts of one relation only.
        reasons: what speaks for it, if that was wanted.
    """

    fact: FactRef
    position: int | None
    score: float
    reasons: tuple[ReasonItem, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingPage:
    """Facts of a relation that are likely missing, the most likely first.

    Attributes:
        relation: its name.
        roles: how its positions are called.
        facts: those of this page.
        total: how many were found on all pages; at most MOST_MISSING.
        next: the token of the next page; None on the last one.
        truncated: whether more could be found than all pages have.
    """

    relation: str
    roles: tuple[str, ...]
    facts: tuple[MissingFact, ...]
    total: int
    next: str | None
    truncated: bool


def missing(run: Run, relation: str, *, after: str | None = None, limit: int = 20, reasons: int = 0) -> MissingPage:
    """Return the facts of a relation that are likely missing; looked for once around known facts, which may take a while.

    Args:
        run: the run that predicts.
        relation: the name of a relation, stored or defined.
        after: the token of the page before.
        limit: how many facts a page has; at most MOST_FACTS.
        reasons: how many rules to show for each; at most MOST_REASONS.
    """
    limit, name = bounded("limit", limit, MOST_FACTS), run.schema[relation].name
    if reasons:
        bounded("reasons", reasons, MOST_REASONS)
    found = run.remembered(f"missing facts of {name}", lambda: _found(run, name))
    wanted = ("missing", name, len(found), len(run.entities))
    start = offset_of(after, *wanted)
    facts = tuple(_item(run, one, reasons) for one in found[start : start + limit])
    ends = start + len(facts)
    return MissingPage(
        name,
        role_names(run, name),
        facts,
        len(found),
        token_of(ends, *wanted) if facts and ends < len(found) else None,
        truncated=len(found) == MOST_MISSING,
    )


def _found(run: Run, relation: str) -> tuple[Prediction, ...]:
    """Return the likeliest new facts of a relation: those that fill the gaps of a column, or vary known ones."""
    if run.columns is not None and run.schema[relation].arity == 2 and (0,) in run.keys_of(relation):
        rows = run.allowed_entities(relation)[0]
        if rows is not None and len(rows) <= _ROWS:
            return _gaps(run, relation)
    return tuple(predict(run, [relation], MOST_MISSING, around=_AROUND, per_question=_PER_QUESTION)[relation])


def _gaps(run: Run, relation: str) -> tuple[Prediction, ...]:
    """Return what most likely stands in the empty cells of a column; a row that has a value there lacks none."""
    found = [
        Prediction(relation, one.entities, one.score, one.probability, 1, one.roles)
        for one in run.complete_each(relation, "*", None, k=1, new_only=True, all_entities=True)
    ]
    found.sort(key=lambda one: (-(one.probability or 0.0), one.entities))
    return tuple(found[:MOST_MISSING])


def _item(run: Run, one: Prediction, reasons: int) -> MissingFact:
    fact = fact_ref(run, one.relation, one.entities, probability=one.probability)
    listed: tuple[ReasonItem, ...] = ()
    if reasons and one.relation not in run.definitions:
        listed = tuple(reason_item(run, each) for each in why(run, fact_question(fact), reasons))
    return MissingFact(fact, one.position, one.score, listed)
