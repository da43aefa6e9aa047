"""How things are measured: the best of several runs, works in turn, peak memory in its own process, ratios with floors."""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from relatum.files import cache_directory


@dataclass(frozen=True)
class Ratio:
    """One measured value that must not fall under its floor; larger is better.

    The floor holds on a machine that does other work, too; the aim, if any, is what an idle machine should reach.
    """

    name: str
    value: float
    floor: float
    unit: str
    detail: str
    aim: float | None = None

    @property
    def holds(self) -> bool:
        return self.value >= self.floor


def seconds(work: Callable[[], object], repeats: int = 3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest of several runs: what is above it is the machine's noise."""
    best = float("inf")
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def in_turn(
    *works: Callable[[], float], rounds: int = 5, chosen: Callable[[Iterable[float]], float] = statistics.median
) -> list[float]:
    """Return the median, or what else is chosen, of what each work says it took.

    They take turns, so that what slows the machine slows all.
    """
    taken = [[work() for work in works] for _ in range(rounds)]
    return [chosen(each) for each in zip(*taken, strict=True)]


@contextmanager
def own_cache() -> Iterator[Path]:
    """Yield a folder that is gone afterwards, with caches of relatum and PyKEEN in it that start empty."""
    with tempfile.TemporaryDirectory() as name:
        data = os.environ.get("RELATUM_DATA", str(cache_directory() / "raw"))  # what was downloaded is not cached anew
        changed = {"RELATUM_DATA": data, "RELATUM_CACHE": f"{name}/relatum", "PYSTOW_HOME": f"{name}/pykeen"}
        before = {variable: os.environ.get(variable) for variable in changed}
        os.environ.update(changed)
        try:
            yield Path(name)
        finally:
            for variable, value in before.items():
                del os.environ[variable]
                if value is not None:
                    os.environ[variable] = value


def peak_memory(work: Callable[..., object], *small: Any, large: tuple[Any, ...] = ()) -> int:
    """Return how many bytes work(*large) adds, at its worst, to a process of its own that has just done work(*small).

    The small job loads libraries and compiles kernels, so that they are not counted; without `large`, it is all there is.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_of, (work, small, large))


def _peak_of(work: Callable[..., object], small: tuple[Any, ...], large: tuple[Any, ...]) -> int:
    if large:
        work(*small)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _memory("VmRSS")
    work(*(large or small))
    return max(1, _memory("VmHWM") - before)


def _memory(field: str) -> int:
    """Return a field of this process's status in bytes (getrusage would also remember the parent's peak)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition(f"{field}:")[2].split()[0])


def report(ratios: list[Ratio], path: Path) -> int:
    """Print the ratios as a table, write them as JSON, and return 1 if any is under its floor."""
    from rich.console import Console
    from rich.table import Table

    table = Table("ratio", "value", "floor", "aim", "unit", "detail", title="Benchmarks")
    for ratio in ratios:
        style = None if ratio.holds else "bold red"
        aim = "" if ratio.aim is None else f"{ratio.aim:g}"
        table.add_row(ratio.name, f"{ratio.value:.3g}", f"{ratio.floor:g}", aim, ratio.unit, ratio.detail, style=style)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    entries = {ratio.name: {key: value for key, value in asdict(ratio).items() if key != "name"} for ratio in ratios}
    path.write_text(json.dumps(entries, indent=2) + "\n")
    return 0 if all(ratio.holds for ratio in ratios) else 1
