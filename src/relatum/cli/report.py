"""`relatum report`: one page about a run that a person would read."""

from __future__ import annotations

from relatum.cli.options import FileOut, RunFolder
from relatum.cli.output import say

__all__ = ["report"]


def report(
    run: RunFolder,
    out: FileOut = None,
) -> None:
    """Write one HTML page about a run: what it knows, how good it is, what it predicts; it opens offline."""
    from relatum.api import Run
    from relatum.report.page import REPORT, write_report

    loaded = Run.load(run)
    target = run / REPORT if out is None else out
    write_report(loaded, target)
    say(f"written to {target}")
