"""How well a run does on rows that came later, beside what it would on as many that are left out at random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from relatum.records import Records, columns_of
from relatum.runs.column_quality import column_quality
from relatum.runs.fit import Watch, fit_in_memory
from relatum.runs.trained import Trained
from relatum.tables.time_split import random_twin

ALL = "all facts"
_FEW = 20  # facts or cells with which a measure says little
_EQUAL = 0.02


@dataclass(frozen=True, slots=True)
class OneMeasure:
    """A measure by both splits: `MRR` of a relation or of all facts, or `accuracy` of the cells of a column, `table.column`.

    So many facts or cells were held out by time; `at_random` it is measured on as many rows drawn at random, by a model that
    was trained without them.
    """

    measure: str
    what: str
    held_out: int
    by_time: float
    at_random: float

    @property
    def difference(self) -> float:
        """How much a random split says too much."""
        return self.at_random - self.by_time

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, and the difference."""
        return {**asdict(self), "difference": self.difference}


BOTH_SPLITS_COLUMNS = {**columns_of(OneMeasure), "difference": float}


class BothSplits(Records[OneMeasure]):
    """Measures by time and at random: of all facts first, then of each relation and column."""

    def __init__(self, rows: Iterable[OneMeasure]) -> None:
        super().__init__(rows, BOTH_SPLITS_COLUMNS, "by time and at random")

    @property
    def verdict(self) -> str:
        """What both together say of all facts, in one sentence."""
        whole = self[0]
        both = f"by time {whole.by_time:.3f}, at random {whole.at_random:.3f}"
        if whole.difference > _EQUAL:
            return f"{both}: the data change with time; for what is to come, expect the first"
        if whole.difference < -_EQUAL:
            return f"{both}: what came last is easier than the rest"
        return f"{both}: the data hardly change with time"


def both_splits(run: Trained, *, watch: Watch = lambda *_: None) -> BothSplits:
    """Return the measures of a run that was split by time, beside those of a second one on a random split.

    The second one has the same facts and settings and is trained here, which takes as long as the first, and not kept.
    """
    twin = fit_in_memory(Trained, run.spec, random_twin(run.split, run.spec.seed), watch)
    first, second = run.evaluate(), twin.evaluate()
    found = [OneMeasure("MRR", ALL, len(run.split.test), first.mrr, second.mrr)]
    there = {one.part: one.metrics.mrr for one in second.by("relation")}
    for one in first.by("relation"):
        count = len(run.split.test.table(one.part))
        if one.part in there and count >= _FEW:
            found.append(OneMeasure("MRR", one.part, count, one.metrics.mrr, there[one.part]))
    if run.columns is None or twin.columns is None:
        return BothSplits(found)
    cells = {(one.table, one.column): one for one in column_quality(twin)}
    for quality in column_quality(run):
        other = cells.get((quality.table, quality.column))
        if other is not None and min(quality.cells, other.cells) >= _FEW:
            name = f"{quality.table}.{quality.column}"
            found.append(OneMeasure("accuracy", name, quality.cells, quality.accuracy, other.accuracy))
    return BothSplits(found)
