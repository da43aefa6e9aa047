"""What a server builds before the first question, so that none has to wait for it."""

from __future__ import annotations

from collections.abc import Callable

from relatum.api import Run
from relatum.resources.fact_index import fact_index
from relatum.resources.names import suggest
from relatum.resources.overview import overview
from relatum.runs.answerer import Answerer
from relatum.runs.lookup import name_index

__all__ = ["keep_candidates", "prepare"]


def prepare(run: Run) -> None:
    """Build the indexes of facts and names and the overview of a run; quality, rules and missing facts wait for demand."""
    fact_index(run)
    name_index(run)
    overview(run)
    suggest(run, "")


def keep_candidates(run: Run, *, goes_on: Callable[[], bool]) -> None:
    """Pack the candidates of positions, those of the largest relations first, as far as memory and time go.

    Args:
        run: the run that will be asked.
        goes_on: says before each position whether there is still use for it.
    """
    facts = {relation.name: run.table(relation.name).columns for relation in run.model.schema}
    for name in sorted(facts, key=lambda one: -facts[one].shape[1]):
        for position in range(len(facts[name])):
            if not goes_on() or not Answerer.of(run, name, position).keep_candidates():
                return
