"""What a server builds before the first question, so that none has to wait for it."""

from __future__ import annotations

from relatum.api import Run
from relatum.resources.fact_index import fact_index
from relatum.resources.name_index import name_index
from relatum.resources.names import suggest
from relatum.resources.overview import overview

__all__ = ["prepare"]


def prepare(run: Run) -> None:
    """Build the indexes of facts and names and the overview of a run; quality, rules and missing facts wait for demand."""
    fact_index(run)
    name_index(run)
    overview(run)
    suggest(run, "")
