"""The paper's claims about its experiments, each checked against results: it holds, fails, is undecided or not measured.

A claim is a set of pairs, the first above the second. A pair is undecided where the two lie within `MARGIN`
of each other, or within the spreads over seeds of both together. One pair the other way round makes a claim fail; it holds
when every pair is as claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from relatum.models import MODELS
from relatum.paper.published import BEST_WINDOWS, REL_ER, SIGMA, TABLE_1, WINDOWS
from relatum.paper.tables import Table
from relatum.records import Record
from relatum.runs.results import Result, best_of_systems, series

MARGIN = 0.005  # of the MRR

Pairs = Sequence[tuple[str, str]]  # (above, below)


class Verdict(StrEnum):
    """How a claim fares against results."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Claim(Record):
    """A claim of the paper, its verdict, and the results behind it."""

    claim: str
    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class _Measured:
    mean: float
    spread: float

    def above(self, other: _Measured) -> bool | None:
        """Return whether this one is above another, or None if that is undecided."""
        apart = self.mean - other.mean
        return None if abs(apart) <= max(MARGIN, self.spread + other.spread) else apart > 0


def check_claims(results: Sequence[Result]) -> list[Claim]:
    """Return every claim with its verdict."""
    of_systems = [judged(data, results) for data in TABLE_1 for judged in (_best_system, _order_of_systems)]
    return [*of_systems, _sigmas(results), _windows(results), *_rel_er(results)]


def claims_table(claims: Iterable[Claim]) -> Table:
    """Return claims as a table."""
    heads = ("claim", "verdict", "evidence")
    rows: list[tuple[str, ...]] = [(one.claim, str(one.verdict), one.evidence) for one in claims]
    return Table(f"the paper's claims; undecided within {MARGIN} or within the spreads", heads, rows, frozenset(heads[1:]))


def _best_system(data: str, results: Sequence[Result]) -> Claim:
    found, ours = _of_systems(data, results, "mrr"), MODELS["reale"].title
    titles = [one.title for model, one in MODELS.items() if model in TABLE_1[data] or one.title in found]
    return _judged(f"{data}: {ours} is the best system", [(ours, other) for other in titles if other != ours], found)


def _order_of_systems(data: str, results: Sequence[Result]) -> Claim:
    printed = {MODELS[model].title: hits[0] for model, hits in TABLE_1[data].items()}
    return _judged(f"{data}: the order of the systems", _pairs(printed), _of_systems(data, results, "mrr"))


def _sigmas(results: Sequence[Result]) -> Claim:
    printed = {sigma: hits[0] for sigma, hits in SIGMA.items()}
    found = _measured(series(results, "jf17k", "reale", "model.sigma"), "mrr")
    return _judged(f"jf17k: {_order(printed)}", _pairs(printed), found)


def _windows(results: Sequence[Result]) -> Claim:
    """Return whether the best of the windows where the paper is highest is above every other window."""
    low, high = BEST_WINDOWS
    found = series(results, "jf17k", "reale", "model.window")
    windows = sorted({*WINDOWS, *found})
    inside = [window for window in windows if low <= window <= high]
    measured = _measured({f"w{window}": one for window, one in found.items()}, "mrr")
    if found.keys() >= set(inside):  # else the best may be among those that are not measured
        inside = [max(inside, key=lambda window: measured[f"w{window}"].mean)]
    else:
        measured = {}
    pairs = [(f"w{one}", f"w{other}") for one in inside for other in windows if not low <= other <= high]
    return _judged(f"jf17k: a window between {low} and {high} is best", pairs, measured)


def _rel_er(results: Sequence[Result]) -> list[Claim]:
    claims = []
    for part in REL_ER["reale"]:
        key = "depth" if part.isdecimal() else "operation"
        path = ("mrr",) if part == "all" else (f"by_{key}", part, "mrr")
        printed = {MODELS[model].title: parts[part] for model, parts in REL_ER.items()}
        found = {name: one for name, one in _of_systems("rel-er", results, *path).items() if name in printed}
        name = f"depth {part}" if key == "depth" else part
        claims.append(_judged(f"rel-er, {name}: {_order(printed)}", _pairs(printed), found))
    return claims


def _of_systems(data: str, results: Sequence[Result], *path: str) -> dict[str, _Measured]:
    """Return a value of the test of each system that has one, by the name of the system."""
    return _measured({MODELS[model].title: one for model, one in best_of_systems(results, data).items()}, *path)


def _measured(found: Mapping[str, Result], *path: str) -> dict[str, _Measured]:
    means = {name: (one.mean(*path), one.spread(*path) or 0.0) for name, one in found.items()}
    return {name: _Measured(mean, spread) for name, (mean, spread) in means.items() if mean is not None}


def _pairs(printed: Mapping[str, float]) -> Pairs:
    """Return each pair that the paper puts one way, the higher first."""
    pairs = (sorted(pair, key=lambda name: -printed[name]) for pair in combinations(printed, 2))
    return [(above, below) for above, below in pairs if printed[above] > printed[below]]


def _order(values: Mapping[str, float]) -> str:
    return " > ".join(sorted(values, key=lambda name: -values[name]))


def _judged(claim: str, pairs: Pairs, found: Mapping[str, _Measured]) -> Claim:
    missing = sorted({name for pair in pairs for name in pair} - found.keys(), key=str.casefold)
    verdicts = {pair: found[pair[0]].above(found[pair[1]]) for pair in pairs if not {*pair} & {*missing}}
    against = [f"{below} above {above}" for (above, below), verdict in verdicts.items() if verdict is False]
    undecided = [f"{above} and {below}" for (above, below), verdict in verdicts.items() if verdict is None]
    if not verdicts:
        verdict = Verdict.NOT_MEASURED
    elif against:
        verdict = Verdict.FAILS
    else:
        verdict = Verdict.UNDECIDED if undecided or missing else Verdict.HOLDS
    ours = {name: one.mean for name, one in sorted(found.items(), key=lambda item: -item[1].mean)}
    evidence = [", ".join(f"{name} {mean:.3f}" for name, mean in ours.items())]
    for head, listed in (("against it", against), ("undecided", undecided), ("not measured", missing)):
        evidence.append(f"{head}: {', '.join(listed)}" if listed else "")
    return Claim(claim, verdict, "; ".join(filter(None, evidence)))
