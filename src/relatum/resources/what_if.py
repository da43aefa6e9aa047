"""What would be if some facts were true and some relations defined: for one question, and never kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relatum.api import Run
from relatum.resources.queries import QueryAnswers
from relatum.resources.references import FactRef
from relatum.runs.trained import SECONDS

__all__ = ["WhatIf", "what_if"]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answers to a query if some facts were true.

    Attributes:
        assumed: the facts that were taken as true.
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
    raise NotImplementedError
