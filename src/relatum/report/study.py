"""What the sections of a report are made from, each worked out once."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from relatum.data.hypergraph import Hypergraph
from relatum.errors import DataError
from relatum.evaluation.calibration import Reliability
from relatum.evaluation.interval import mrr_interval
from relatum.evaluation.ranks import Metrics, Ranks
from relatum.runs.course import Course, read_course
from relatum.runs.directory import JOURNAL, PROVENANCE, SPEC
from relatum.runs.run import Run
from relatum.runs.spec import Spec

__all__ = ["Study"]


class Study:
    """A run, and what is measured on it; what is asked for twice is measured once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def data(self) -> str:
        """What the data is called: a dataset's name, or the last part of a path; the whole path is among the settings."""
        return Path(self.run.split.origin).name or self.run.split.origin

    @cached_property
    def spec(self) -> Spec:
        """The settings of the run."""
        return Spec.read(self.run.folder / SPEC)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Checksums and versions; empty where nobody wrote them down."""
        path = self.run.folder / PROVENANCE
        if not path.exists():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise DataError(f"{path}: not valid JSON") from None
        if not isinstance(found, dict):
            raise DataError(f"{path}: not a record of provenance")
        return found

    @cached_property
    def course(self) -> Course:
        """The course of training."""
        return read_course(self.run.folder / JOURNAL)

    @cached_property
    def part(self) -> str | None:
        """The facts that the run is measured on: test, else valid, else none."""
        return next((part for part in ("test", "valid") if len(self.run.split.parts[part])), None)

    @cached_property
    def measured(self) -> Hypergraph | None:
        """The facts of that part."""
        return None if self.part is None else self.run.split.parts[self.part]

    @cached_property
    def ranks(self) -> Ranks | None:
        """How these facts rank among all entities, filtered by all that is known."""
        return None if self.part is None else self.run.evaluate(self.part)

    @cached_property
    def metrics(self) -> Metrics | None:
        """What is reported of these ranks."""
        return None if self.ranks is None else self.ranks.metrics

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Where the MRR lies in 95 % of resamples; ask only where there are ranks."""
        if self.ranks is None:
            raise DataError("there are no facts to measure on")
        return mrr_interval(self.ranks)

    @cached_property
    def reliability(self) -> Reliability | None:
        """How far the probabilities can be trusted; None without a calibration, or without facts to try it on."""
        return None if self.part is None else self.run.reliability(self.part)

    @cached_property
    def facts(self) -> Hypergraph:
        """Everything known, and what follows from it by definitions if there are any."""
        return self.run.facts
