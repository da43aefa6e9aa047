"""How good a run is, by parts of the questions; how far its probabilities can be relied on; what its data is like."""

from __future__ import annotations

from dataclasses import dataclass

from relatum.api import Run
from relatum.data.quality import check_quality
from relatum.inference.evaluation import Evaluation
from relatum.report import quality as report

__all__ = [
    "Breakdown",
    "CalibrationPoint",
    "CalibrationView",
    "CountOf",
    "DataQualityView",
    "ErrorColumn",
    "ErrorsView",
    "Measured",
    "QualityView",
    "RankShare",
    "WorstFact",
    "data_quality",
    "evaluated",
    "held_out_part",
    "measured_of",
    "measured_overall",
    "quality",
]


@dataclass(frozen=True, slots=True)
class Measured:
    """How some questions rank.

    Attributes:
        name: what the questions have in common, such as a relation; `all` for all.
        part: the split part whose facts were hidden.
        questions: how many there are.
        mrr: the mean of 1 / rank of the right answer, filtered by all that is known.
        low: the lower end of its 95 % interval by resampling facts; None for a single fact.
        high: the upper end.
        hits_at_1: the share of right answers that rank first.
        hits_at_10: the share that rank among the first ten.
    """

    name: str
    part: str
    questions: int
    mrr: float
    low: float | None
    high: float | None
    hits_at_1: float
    hits_at_10: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Measurements by one thing, such as arity: a title, what the first column is, and the rows."""

    title: str
    head: str
    rows: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class RankShare:
    """A range of ranks, as text, and the share of right answers in it."""

    ranks: str
    share: float


@dataclass(frozen=True, slots=True)
class CalibrationPoint:
    """Of best new answers of about one probability: the mean of it, the share that is right, and the share of all."""

    predicted: float
    observed: float
    share: float


@dataclass(frozen=True, slots=True)
class CalibrationView:
    """How probabilities compare with what is observed: the Brier score, the expected calibration error, and the curve."""

    brier: float
    error: float
    points: tuple[CalibrationPoint, ...]


@dataclass(frozen=True, slots=True)
class ErrorColumn:
    """A column of a relation, how it ranks, and its share of all that is lost; a right answer at rank r loses 1 - 1/r."""

    relation: str
    column: str
    measured: Measured
    loss: float


@dataclass(frozen=True, slots=True)
class WorstFact:
    """A held-out fact whose entity at `position` ranks badly, as people read it, and what is ranked first instead."""

    relation: str
    entities: tuple[str, ...]
    position: int
    rank: float
    above: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErrorsView:
    """Where a run errs: the share of questions, and of what is lost, with unseen entities; columns; and the worst facts."""

    unseen: float
    unseen_loss: float
    columns: tuple[ErrorColumn, ...]
    worst: tuple[WorstFact, ...]


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
    calibration: CalibrationView | None
    errors: ErrorsView | None


@dataclass(frozen=True, slots=True)
class CountOf:
    """A name, such as that of a split part, and a count."""

    name: str
    count: int


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
    """

    duplicates: tuple[CountOf, ...]
    overlap: tuple[CountOf, ...]
    unseen_entities: tuple[CountOf, ...]
    unseen_relations: tuple[CountOf, ...]
    unseen_facts: tuple[CountOf, ...]
    degree_one: int
    similar: tuple[CountOf, ...]
    test: tuple[CountOf, ...]
    leaked: int


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


def measured_of(one: report.Measured, part: str, name: str | None = None) -> Measured:
    """Return a measurement of a report as a resource."""
    low, high = one.interval or (None, None)
    return Measured(one.name if name is None else name, part, one.questions, one.mrr, low, high, one.first, one.ten)


def _quality(run: Run) -> QualityView:
    part, tested = held_out_part(run), evaluated(run)
    if part is None or tested is None:
        return QualityView(None, None, (), (), None, None)
    found, errors = report.quality_of(run, part, tested.ranks), report.errors_of(run, run.split.parts[part], tested.ranks)
    reliability = run.reliability(part)
    calibration = None
    if reliability is not None:
        points = tuple(CalibrationPoint(*point) for point in reliability.curve)
        calibration = CalibrationView(reliability.brier, reliability.error, points)
    return QualityView(
        part,
        measured_of(found.overall, part),
        tuple(RankShare(*one) for one in found.ranks),
        tuple(Breakdown(one.title, one.head, tuple(measured_of(row, part) for row in one.rows)) for one in found.breakdowns),
        calibration,
        None if errors is None else _errors(errors, part),
    )


def _errors(errors: report.Errors, part: str) -> ErrorsView:
    columns = tuple(
        ErrorColumn(one.relation, one.column, measured_of(one.measured, part, f"{one.relation}, {one.column}"), one.loss)
        for one in errors.columns
    )
    worst = tuple(WorstFact(one.relation, one.entities, one.position, one.rank, one.above) for one in errors.worst)
    return ErrorsView(errors.unseen, errors.unseen_loss, columns, worst)


def _data_quality(run: Run) -> DataQualityView:
    found = check_quality(run.split)
    names = ("duplicates", "overlap", "unseen_entities", "unseen_relations", "unseen_facts")
    counts = {name: tuple(CountOf(*one) for one in getattr(found, name).items()) for name in names}
    return DataQualityView(
        **counts,
        degree_one=found.degree_one,
        similar=tuple(CountOf(str(arity), close) for arity, (close, _) in found.close.items()),
        test=tuple(CountOf(str(arity), total) for arity, (_, total) in found.close.items()),
        leaked=found.leakage.facts,
    )
