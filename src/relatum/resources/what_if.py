"""What would be if some facts were true and some relations defined: for one question, and never kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relatum.api import Run
from relatum.errors import DataError, SettingError, UnknownNameError
from relatum.resources.assumptions import facts_assumed, run_with
from relatum.resources.fact_index import known_fact
from relatum.resources.limits import MOST_ASSUMED, MOST_DEFINITIONS
from relatum.resources.queries import QueryAnswers, WitnessItem, query
from relatum.resources.references import FactRef, fact_ref
from relatum.runs.trained import SECONDS


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answers to a query if some facts were true.

    Attributes:
        assumed: the facts that were taken as true; those that were known already say where.
        definitions: the names of the relations that were defined for this query alone.
        before: the answers as the run is; None where it cannot answer without the definitions.
        after: the answers with what was assumed.
    """

    assumed: tuple[FactRef, ...]
    definitions: tuple[str, ...]
    before: QueryAnswers | None
    after: QueryAnswers


def what_if(
    run: Run,
    text: str,
    facts: Sequence[str] = (),
    definitions: Mapping[str, str] | None = None,
    k: int = 10,
    *,
    new_only: bool = False,
    seconds: float = SECONDS,
) -> WhatIf:
    """Return the k best rows that answer a query if facts were true and relations defined; the run stays as it is.

    Args:
        run: the run that is asked.
        text: a question, a query of SQL or of algebra.
        facts: such as `sold(drew, alex, book)`; at most MOST_ASSUMED.
        definitions: expressions by the names of the relations that they define; at most MOST_DEFINITIONS.
        k: how many rows.
        new_only: leave out rows that follow from known and assumed facts.
        seconds: that each of the two searches may take.
    """
    given = dict(definitions or {})
    for name, count, most in (("facts", len(facts), MOST_ASSUMED), ("definitions", len(given), MOST_DEFINITIONS)):
        if count > most:
            raise SettingError("over-limit", f"at most {most} can be given at once, not {count}", place=name)
    assumed = facts_assumed(run, facts)
    wider = run_with(run, assumed, given)
    refs = tuple(fact_ref(run, *one, source=known_fact(run, *one).source or "assumed") for one in assumed)
    new = {one.text for one in refs if one.source == "assumed"}
    after = _marked(query(wider, text, k, new_only=new_only, seconds=seconds), new)
    try:
        before = query(run, text, k, new_only=new_only, seconds=seconds)
    except (DataError, UnknownNameError):
        if not given:
            raise
        before = None
    return WhatIf(refs, tuple(given), before, after)


def _marked(answers: QueryAnswers, assumed: set[str]) -> QueryAnswers:
    """Return answers whose witnesses say which facts were assumed."""

    def marked(one: WitnessItem) -> WitnessItem:
        return replace(one, fact=replace(one.fact, source="assumed")) if one.fact.text in assumed else one

    rows = tuple(replace(row, witness=tuple(map(marked, row.witness))) for row in answers.rows)
    return replace(answers, rows=rows)
