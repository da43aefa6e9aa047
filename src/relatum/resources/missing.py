"""Facts of a relation that are likely true but not known, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.answers import ReasonItem
from relatum.resources.references import FactRef

__all__ = ["MissingFact", "MissingPage", "missing"]


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
    raise NotImplementedError
