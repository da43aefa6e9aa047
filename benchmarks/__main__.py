"""`python -m benchmarks [NAME ...]`: measure everything, or the named files."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.measure import Ratio, report

FILES = ("reading", "scoring", "learning", "everyday_queries", "pykeen_peer")


def main() -> int:
    ratios: list[Ratio] = []
    for name in sys.argv[1:] or FILES:
        for ratio in importlib.import_module(f"benchmarks.{name}").ratios():
            print(f"{ratio.name}: {ratio.value:.3g} {ratio.unit} ({ratio.detail})", file=sys.stderr)
            ratios.append(ratio)
    return report(ratios, Path("bench.json"))


if __name__ == "__main__":
    sys.exit(main())
