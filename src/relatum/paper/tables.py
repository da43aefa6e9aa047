"""The paper's tables with our results beside them, as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relatum.data.derivations import ELEMENTARY, OPERATIONS
from relatum.errors import DataError
from relatum.files import write_bytes
from relatum.models import MODELS
from relatum.paper.published import DATASETS, REL_ER, REL_ER_FACTS, SIGMA, TABLE_1, WINDOWS
from relatum.runs.results import Collected, Result, best_of_systems, series

_BEGIN, _END = "<!-- tables -->\n", "<!-- /tables -->"
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%_#${}"},
    **{sign: f"${sign}$" for sign in "<>"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Table:
    """A table of texts; all columns but the first and those of words hold numbers."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: frozenset[str] = frozenset()

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return tuple(head for head in self.heads[1:] if head not in self.words)

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rules = ("---:" if head in self.numbers else "---" for head in self.heads)
        lines = [self.heads, tuple(rules), *self.rows]
        return f"**{self.title}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def latex(self) -> str:
        """Return the table in LaTeX; columns of words break their lines."""
        lines = [*(" & ".join(map(_latex, row)) + r" \\" for row in self.rows)]
        heads = " & ".join(map(_latex, self.heads)) + r" \\"
        width = f"p{{{0.8 / len(self.words):.2g}\\linewidth}}" if self.words else ""
        columns = "".join("r" if head in self.numbers else width if head in self.words else "l" for head in self.heads)
        body = "\n".join([heads, r"\hline", *lines])
        return f"% {self.title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {"title": self.title, "columns": list(self.heads), "rows": [list(row) for row in self.rows]}


def fill_page(path: Path, tables: Iterable[Table]) -> None:
    """Put tables between the marks of a Markdown page, for what stood there; all else stays as it is."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise DataError(
            "no-results", f"add the lines {_BEGIN.strip()} and {_END}, between which tables are written", place=path
        )
    whole = before + begin + "\n".join(table.markdown() for table in tables) + end + after
    write_bytes(path, whole.encode())


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


_NOTHING = "-"
_MEASURED = ("MRR", "spread", "paper", "difference", "Hit@1", "Hit@3", "Hit@10", "pessimistic", "seeds", "minutes")
_DEPTHS = ("1", "2", "3", "4")


def paper_tables(collected: Collected) -> list[Table]:
    """Return the paper's tables as far as there are results for them."""
    results = collected.results
    sigmas = {sigma: hits[0] for sigma, hits in SIGMA.items()}
    synthetic = sorted({one.data for one in results if _has_operations(one)})
    tables = [
        *(_systems(data, results) for data in TABLE_1),
        _beyond(results),
        *(_rel_er(data, results, collected.datasets) for data in synthetic),
        _by_setting(results, "model.sigma", "sigma", "nonlinear function", sigmas),
        _by_setting(results, "model.window", "window", "window size", dict.fromkeys(WINDOWS)),
        _datasets(collected.datasets),
    ]
    return [table for table in tables if table.rows]


def _systems(data: str, results: Sequence[Result]) -> Table:
    found = best_of_systems(results, data)
    rows = [(MODELS[model].title, *_line(one, TABLE_1[data].get(model, (None,))[0])) for model, one in found.items()]
    return Table(f"{data}: test facts, filtered, realistic ties", ("system", *_MEASURED), rows)


def _beyond(results: Sequence[Result]) -> Table:
    """Return what is not to be compared with one model trained on train facts: ensembles, refits, and evidence."""
    rows, own = [], [number for number, head in enumerate(_MEASURED) if head not in ("paper", "difference")]
    found = [one for one in results if one.ensemble or one.refit or one.evidence]
    for one in sorted(found, key=lambda one: (one.data, one.model, one.refit, one.ensemble)):
        title = f"{MODELS[one.model].title} and evidence" if one.evidence else MODELS[one.model].title
        models = f"{one.ensemble} models as one" if one.ensemble else "one model"
        line = _line(one, None)
        rows.append((one.data, title, models, "train and valid" if one.refit else "train", *(line[index] for index in own)))
    heads = ("data", "system", "models", "trained on", *(_MEASURED[index] for index in own))
    title = "ensembles, refits on valid facts too, and evidence: not to be compared with the tables above"
    return Table(title, heads, rows, frozenset(("system", "models", "trained on")))


def _by_setting(
    results: Sequence[Result], setting: str, head: str, name: str, published: Mapping[Any, float | None]
) -> Table:
    """Return the table of a series on JF17K, with what the paper reports: its values first, in its order, then others."""
    found = series(results, "jf17k", "reale", setting)
    values = [value for value in published if value in found] + [value for value in found if value not in published]
    rows = [(str(value), *_line(found[value], published.get(value))) for value in values]
    return Table(f"ReAlE on jf17k by {name}, all else equal", (head, *_MEASURED), rows)


def _rel_er(data: str, results: Sequence[Result], datasets: Mapping[str, Mapping[str, Any]]) -> Table:
    operations = (ELEMENTARY, *OPERATIONS)
    keys = ("all", *operations, *_DEPTHS)
    parts = [
        ("mrr",),
        *(("by_operation", part, "mrr") for part in operations),
        *(("by_depth", depth, "mrr") for depth in _DEPTHS),
    ]
    rows = []
    for model, one in best_of_systems([one for one in results if _has_operations(one)], data).items():
        name, ours = MODELS[model].title, [one.mean(*part) for part in parts]
        rows.append((name, *(_number(mrr, 3) for mrr in ours)))
        if data == "rel-er" and model in REL_ER:
            theirs = [REL_ER[model].get(key) for key in keys]
            rows.append((f"{name}, the paper", *(_number(mrr, 3) for mrr in theirs)))
            rows.append((f"{name}, difference", *map(_apart, ours, theirs)))
    if data == "rel-er" and (size := datasets.get(data)):
        counts = {"all": size["test"], **size.get("test_by_operation", {}), **size.get("test_by_depth", {})}
        rows.append(("test facts", *(_count(counts.get(key)) for key in keys)))
        rows.append(("test facts, the paper", *(_count(REL_ER_FACTS.get(key)) for key in keys)))
    heads = ("system", "all", *operations, *(f"depth {depth}" for depth in _DEPTHS))
    return Table(f"{data}: test MRR by last operation and by depth", heads, rows)


def _datasets(datasets: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return three lines for each dataset: what the files hold, what the paper says, and the difference."""
    rows = []
    for name, published in DATASETS.items():
        if name in datasets:
            size = datasets[name]
            ours = {**size, **{f"arity {arity}": count for arity, count in size["arity"].items()}}
            found = {key: ours.get(key, 0) for key in published}
            apart = [None if count is None else found[key] - count for key, count in published.items()]
            rows.append((f"{name}, the files", *map(_count, found.values())))
            rows.append((f"{name}, the paper", *map(_count, published.values())))
            rows.append((f"{name}, difference", *map(_signed, apart)))
    heads = ("facts", *next(iter(DATASETS.values())))
    return Table("datasets: the files and the paper's table of them", heads, rows)


def _has_operations(result: Result) -> bool:
    return all("by_operation" in run["test"] for run in result.runs)


def _line(result: Result, published: float | None) -> tuple[str, ...]:
    mrr = result.mean("mrr")
    hits = (_number(result.mean(f"hits@{k}")) for k in (1, 3, 10))
    seeds = ", ".join(str(run["seed"]) for run in result.runs)
    minutes = f"{np.mean([run['minutes_of_training'] for run in result.runs]):.1f}"
    ours = (_number(mrr), _number(result.spread("mrr")), _number(published, 3), _apart(mrr, published))
    return (*ours, *hits, _number(result.mean("mrr_pessimistic")), seeds, minutes)


def _apart(ours: float | None, theirs: float | None) -> str:
    return _NOTHING if ours is None or theirs is None else f"{ours - theirs:+.3f}"


def _number(value: float | None, digits: int = 4) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"


def _count(value: int | None) -> str:
    return _NOTHING if value is None else f"{value:,}"


def _signed(value: int | None) -> str:
    return f"{value:+,}" if value else _count(value)
