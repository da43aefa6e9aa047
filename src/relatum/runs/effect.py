"""What an update did, in numbers: which facts came, which rows were fitted, and how ranks have changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.merging import Widened
from relatum.inference.ranking import rank
from relatum.inference.ranks import Metrics
from relatum.models.base import Model, Parameters
from relatum.runs.fit import sample, validator
from relatum.runs.run import Run
from relatum.training.fold_in import facts_with

__all__ = ["Folded", "counts_of", "effect_of"]

Ints = npt.NDArray[np.int64]

_VALIDATED, _ASKED = 1000, 250  # facts that are ranked at most before and after: of valid, and of the new ones


@dataclass(frozen=True, eq=False)
class Folded:
    """A run, and what became of its model with more facts.

    Attributes:
        trained: the run as it was.
        wide: its facts and the new ones.
        model: over all of them.
        start: the parameters before the fit, with rows for all entities.
        parameters: those after it.
        new: the entities that have got a row.
        refitted: the known entities whose rows were fitted too.
        seconds: that the fit took.
    """

    trained: Run
    wide: Widened
    model: Model
    start: Parameters
    parameters: Parameters
    new: Ints
    refitted: Ints
    seconds: float


def counts_of(folded: Folded) -> dict[str, int]:
    """Return how many facts came and what became of them, and how many rows were fitted."""
    wide, added = folded.wide, folded.wide.added
    return {
        "facts": wide.read,
        "repeated": wide.repeated,
        "known": wide.known,
        "added": sum(map(len, added.values())),
        "added_valid": len(added["valid"]),
        "added_test": len(added["test"]),
        "among_known_entities": len(added["train"]) - len(_with(added["train"], folded.new)),
        "new_entities": len(folded.new),
        "refitted_entities": len(folded.refitted),
    }


def effect_of(folded: Folded) -> dict[str, Any]:
    """Return how well old and new facts rank before and after, filtered by train and valid, by realistic ranks.

    Before and after, the same facts of the old run's valid are ranked, after among more entities. Of the new facts, those
    that hold an entity whose row was fitted are ranked at the rows where the fit began, and after it.
    """
    wide, model = folded.wide, folded.model
    before = validator(folded.trained.model, folded.trained.split, _VALIDATED)
    after = validator(model, replace(wide.split, valid=wide.before.valid), _VALIDATED)
    known = KnownAnswers(wide.split.train, wide.split.valid)
    own = sample(_with(wide.added["train"], np.union1d(folded.new, folded.refitted)), _ASKED)
    first, last = (Metrics.of(rank(model, one, own, known)) for one in (folded.start, folded.parameters))
    return {
        "seconds": round(folded.seconds, 2),
        "valid_facts": len(sample(wide.before.valid, _VALIDATED)) if after else 0,
        "valid_mrr_before": None if before is None else before(folded.trained.parameters),
        "valid_mrr_after": None if after is None else after(folded.parameters),
        "own_questions": last.questions,
        "own_mrr_start": first.mrr,
        "own_mrr": last.mrr,
        "own_mean_rank_start": first.mean_rank,
        "own_mean_rank": last.mean_rank,
    }


def _with(facts: Hypergraph, entities: Ints) -> Hypergraph:
    return facts_with(facts, entities) if len(facts) else facts
