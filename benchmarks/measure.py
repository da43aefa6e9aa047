"""How things are measured: best of several runs, peak memory in a process of its own, ratios with floors."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ratio:
    """One measured value that must not fall under its floor; larger is better."""

    name: str
    value: float
    floor: float
    unit: str
    detail: str

    @property
    def holds(self) -> bool:
        return self.value >= self.floor


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of several runs: what is above it is the machine's noise."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


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

    table = Table("ratio", "value", "floor", "unit", "detail", title="Benchmarks")
    for ratio in ratios:
        style = None if ratio.holds else "bold red"
        table.add_row(ratio.name, f"{ratio.value:.3g}", f"{ratio.floor:g}", ratio.unit, ratio.detail, style=style)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    entries = {r.name: {"value": r.value, "floor": r.floor, "unit": r.unit, "detail": r.detail} for r in ratios}
    path.write_text(json.dumps(entries, indent=2) + "\n")
    return 0 if all(ratio.holds for ratio in ratios) else 1
