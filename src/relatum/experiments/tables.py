"""The paper's tables, filled from collected results: our value, the paper's, and the difference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.provenance import ELEMENTARY, OPERATIONS
from relatum.errors import DataError
from relatum.experiments.published import REL_ER, SIGMA, SYSTEMS, TABLE_1

__all__ = ["Result", "Table", "paper_tables", "read_results"]

_NOTHING = "-"
_MEASURED = ("MRR", "spread", "paper", "difference", "Hit@1", "Hit@3", "Hit@10", "pessimistic", "seeds", "minutes")


@dataclass(frozen=True)
class Table:
    """A table of texts; all columns but the first hold numbers."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.heads, ("---", *("---:" for _ in self.heads[1:])), *self.rows]
        return f"**{self.title}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def latex(self) -> str:
        """Return the table in LaTeX."""
        lines = [*(" & ".join(map(_latex, row)) + r" \\" for row in self.rows)]
        heads = " & ".join(map(_latex, self.heads)) + r" \\"
        columns = "l" + "r" * (len(self.heads) - 1)
        body = "\n".join([heads, r"\hline", *lines])
        return f"% {self.title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {"title": self.title, "columns": list(self.heads), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Result:
    """The collected runs of one experiment."""

    name: str
    spec: dict[str, Any]
    runs: list[dict[str, Any]]

    @property
    def data(self) -> str:
        """What was learned from."""
        return str(self.spec["data"])

    @property
    def model(self) -> str:
        """What learned."""
        return str(self.spec["model"]["name"])

    @property
    def valid(self) -> float:
        """The mean validation MRR, by which results of one model on one dataset are chosen."""
        found = [run["valid"]["mrr"] for run in self.runs if run["valid"]]
        return float(np.mean(found)) if found else 0.0

    def mean(self, *path: str) -> float | None:
        """Return the mean over runs of a value of the test, or None if a run has none."""
        found = []
        for run in self.runs:
            value: Any = run["test"]
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is None:
                return None
            found.append(float(value))
        return float(np.mean(found))

    @property
    def summary(self) -> tuple[str, str, str]:
        """How much is behind the numbers: the spread of the MRR, the seeds and the minutes of a run."""
        mrr = [run["test"]["mrr"] for run in self.runs]
        spread = f"{np.std(mrr, ddof=1):.4f}" if len(mrr) > 1 else _NOTHING
        seeds = ", ".join(str(run["seed"]) for run in self.runs)
        return spread, seeds, f"{np.mean([run['minutes_of_training'] for run in self.runs]):.1f}"


def read_results(folder: Path) -> list[Result]:
    """Return the results in a folder, by name; files that hold something else are passed over."""
    if not folder.is_dir():
        raise DataError(f"{folder}: not a folder of results")
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            whole = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise DataError(f"{path}: not valid JSON") from None
        if isinstance(whole, dict) and {"spec", "runs"} <= whole.keys() and isinstance(whole["runs"], list):
            found.append(Result(path.stem, whole["spec"], whole["runs"]))
    return found


def paper_tables(results: Sequence[Result]) -> list[Table]:
    """Return the paper's tables as far as there are results for them."""
    tables = [_systems(data, results) for data in TABLE_1]
    tables += [_rel_er(data, results) for data in sorted({one.data for one in results if _has_operations(one)})]
    tables.append(_sigmas(results))
    return [table for table in tables if table.rows]


def _systems(data: str, results: Sequence[Result]) -> Table:
    rows = []
    for model, name in SYSTEMS.items():
        best = _best(one for one in results if (one.data, one.model) == (data, model))
        if best is not None:
            published = TABLE_1[data].get(model, (None,))[0]
            rows.append((name, *_line(best, published)))
    return Table(f"{data}: test facts, filtered, realistic ties", ("system", *_MEASURED), rows)


def _sigmas(results: Sequence[Result]) -> Table:
    rows = []
    for sigma, published in SIGMA.items():
        ours = (one for one in results if (one.data, one.model) == ("jf17k", "reale"))
        best = _best(one for one in ours if one.spec["model"]["sigma"] == sigma)
        if best is not None:
            rows.append((sigma, *_line(best, published[0])))
    return Table("ReAlE on jf17k by nonlinear function", ("sigma", *_MEASURED), rows if len(rows) > 1 else [])


def _rel_er(data: str, results: Sequence[Result]) -> Table:
    operations, depths = (ELEMENTARY, *OPERATIONS), ("1", "2", "3", "4")
    rows = []
    for model, name in SYSTEMS.items():
        best = _best(one for one in results if (one.data, one.model) == (data, model) and _has_operations(one))
        if best is None:
            continue
        parts = [
            ("mrr",),
            *(("by_operation", part, "mrr") for part in operations),
            *(("by_depth", d, "mrr") for d in depths),
        ]
        rows.append((name, *(_number(best.mean(*part), 3) for part in parts)))
        if data == "rel-er" and model in REL_ER:
            keys = ("all", *operations, *depths)
            rows.append((f"{name}, the paper", *(_number(REL_ER[model].get(key), 3) for key in keys)))
    heads = ("system", "all", *operations, *(f"depth {depth}" for depth in depths))
    return Table(f"{data}: test MRR by last operation and by depth", heads, rows)


def _has_operations(result: Result) -> bool:
    return all("by_operation" in run["test"] for run in result.runs)


def _best(results: Iterable[Result]) -> Result | None:
    """Return the one with the highest validation MRR: which of several settings counts is never chosen on test facts."""
    return max(results, key=lambda one: one.valid, default=None)


def _line(result: Result, published: float | None) -> tuple[str, ...]:
    mrr = result.mean("mrr")
    spread, seeds, minutes = result.summary
    apart = _NOTHING if published is None or mrr is None else f"{mrr - published:+.3f}"
    hits = (_number(result.mean(f"hits@{k}")) for k in (1, 3, 10))
    ours = (_number(mrr), spread, _number(published, 3), apart, *hits, _number(result.mean("mrr_pessimistic")))
    return (*ours, seeds, minutes)


def _number(value: float | None, digits: int = 4) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"


def _latex(text: str) -> str:
    for sign in "&%_#":
        text = text.replace(sign, f"\\{sign}")
    return text
