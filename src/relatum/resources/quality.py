"""How good a run is, by parts of the questions; how far its probabilities can be relied on; what its data is like."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.data.quality import check_quality
from relatum.inference.calibration import Reliability
from relatum.inference.evaluation import Evaluation
from relatum.report.quality import Breakdown, Errors, Measured, RankShare, errors_of, quality_of


@dataclass(frozen=True, slots=True)
class QualityView:
    """How good a run is on held-out facts.

    Attributes:
        part: the split part whose facts were hidden, `test`, or `valid` where there are no test facts; None where there
            are neither, and nothing else is measured.
        overall: how all questions rank.
        ranks: where right answers rank.
        breakdowns: by relation, number of entities, hidden position, and by derivation where relations were derived.
        calibration: how far probabilities can be relied on; None without calibration.
        errors: where the run errs; None if it does not.
    """

    part: str | None
    overall: Measured | None
    ranks: tuple[RankShare, ...]
    breakdowns: tuple[Breakdown, ...]
    calibration: Reliability | None
    errors: Errors | None


@dataclass(frozen=True, slots=True)
class DataQualityView:
    """What may spoil training on the data, or results from it.

    Attributes:
        duplicates: by part, facts that repeat an earlier one of the same part.
        overlap: by pair of parts, distinct facts that are in both.
        unseen_entities: by part, entities that never occur in train.
        unseen_relations: by part, relations that never occur in train.
        unseen_facts: by part, facts with an entity or relation that never occurs in train.
        degree_one: entities that occur exactly once in train.
        similar: by arity, test facts that differ from a fact of train or valid in a single position.
        test: by arity, all test facts.
        leaked: test facts that follow from training facts by permuting or dropping columns.
        near_names: of entities and of relations, names that differ only in what people overlook.
    """

    duplicates: dict[str, int]
    overlap: dict[str, int]
    unseen_entities: dict[str, int]
    unseen_relations: dict[str, int]
    unseen_facts: dict[str, int]
    degree_one: int
    similar: dict[int, int]
    test: dict[int, int]
    leaked: int
    near_names: dict[str, int]


def quality(run: Run) -> QualityView:
    """Return how good a run is on held-out facts; they are ranked once, which may take a while."""
    return run.remembered("quality", lambda: _quality(run))


def data_quality(run: Run) -> DataQualityView:
    """Return what may spoil training on the data, or results from it; it is worked out once."""
    return run.remembered("data quality", lambda: _data_quality(run))


def evaluated(run: Run) -> Evaluation | None:
    """Return how the held-out facts rank, which is worked out once; None where there are none."""
    part = held_out_part(run)
    return None if part is None else run.remembered("evaluation", lambda: run.evaluate(part))


def held_out_part(run: Run) -> str | None:
    """Return the split part that a run is measured by."""
    return next((part for part in ("test", "valid") if len(run.split.parts[part])), None)


def measured_overall(run: Run) -> Measured | None:
    """Return how all questions rank, if that was worked out already."""
    return quality(run).overall if run.remembers("quality") else None


def _quality(run: Run) -> QualityView:
    part, tested = held_out_part(run), evaluated(run)
    if part is None or tested is None:
        return QualityView(None, None, (), (), None, None)
    found, errors = quality_of(run, part, tested.ranks), errors_of(run, part, tested.ranks)
    return QualityView(part, found.overall, found.ranks, found.breakdowns, run.reliability(part), errors)


def _data_quality(run: Run) -> DataQualityView:
    found = check_quality(run.split)
    names = ("duplicates", "overlap", "unseen_entities", "unseen_relations", "unseen_facts", "degree_one")
    return DataQualityView(
        **{name: getattr(found, name) for name in names},
        similar={arity: close for arity, (close, _) in found.close.items()},
        test={arity: total for arity, (_, total) in found.close.items()},
        leaked=found.leakage.facts,
        near_names={what: near.names for what, near in found.near_names.items()},
    )
