"""The page: templates filled with what was measured on a run, and written to a file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from relatum.files import require_own, write_bytes
from relatum.formatting import count, duration, listed, number, percent, score, visible
from relatum.report import charts
from relatum.report.study import AROUND, Study, study_of
from relatum.runs.journal import HistoryPoint
from relatum.runs.trained import Trained
from relatum.version import __version__

REPORT = "report.html"  # in a run's directory, where nothing else has that name
_MARK = "<!DOCTYPE html>\n<!-- relatum report -->"  # how a page begins, and the template with it
_LONGEST = 96  # characters of a name that are shown; more of it is in its title
_LONGEST_TITLE = 1000
_BREAKABLE = 24  # characters of a name that stand in one line


def report_page(run: Trained) -> str:
    """Return the report about a run as one HTML page that needs nothing else; the same run gives the same page."""
    return page_of(study_of(run))


def write_report(run: Trained, out: str | os.PathLike[str]) -> None:
    """Write the report about a run to a file, which is whole or absent; only a report is replaced."""
    if run.folder is None or Path(out) != run.folder / REPORT:
        require_own(Path(out), _MARK)
    write_bytes(Path(out), report_page(run).encode())


def page_of(study: Study) -> str:
    """Return the page that shows a study."""
    return _environment().get_template("page.html").render(study=study)


@cache
def _environment() -> Environment:
    environment = templates(__package__ or "relatum.report")
    environment.globals |= {"around": AROUND, "version": __version__}
    return environment


def templates(package: str) -> Environment:
    """Return the templates of a package with what all of them can call.

    Whatever they are given is escaped, and is text that does nothing.
    """
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        extensions=["jinja2.ext.do"],
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": count,
        "duration": lambda seconds: _unbroken(duration(seconds)),
        "listed": listed,
        "name": name_of,
        "number": number,
        "percent": lambda share, digits=1: _unbroken(percent(share, digits)),
        "score": score,
        "shortened": shortened,
        "unbroken": _unbroken,
    }
    environment.globals |= {
        "bar": charts.bar,
        "interval_line": charts.interval_line,
        "learning_curves": _learning_curves,
        "reliability_curve": charts.reliability_curve,
    }
    return environment


def _finalized(value: Any) -> Any:
    """Return what a template puts out: markup as it is, anything else as text whose control characters can be seen."""
    return value if isinstance(value, Markup) else visible(str(value))


def _unbroken(text: str) -> str:
    """Return a text that stays on one line."""
    return text.replace(" ", "\u00a0")


def name_of(name: str, longest: int = _LONGEST) -> Markup:
    """Return a name from the data: its direction of writing stays its own, and a very long one is shortened.

    In one that is long a line may break behind the signs that join its words.
    """
    short = shortened(name, longest)
    if len(short) <= _BREAKABLE:
        return Markup("<bdi>{}</bdi>").format(visible(short))
    words = re.split(r"(?<=[_./|(:])(?=[^_./|(:])", short)
    shown = Markup("<wbr>").join(escape(visible(word)) for word in words)
    title = "" if short == name else Markup(' title="{}"').format(visible(shortened(name, _LONGEST_TITLE)))
    return Markup('<bdi class="long"{}>{}</bdi>').format(title, shown)


def shortened(name: str, longest: int = _LONGEST) -> str:
    """Return a name, without its middle if it is longer than so many characters."""
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def _learning_curves(
    losses: Sequence[HistoryPoint], scores: Sequence[HistoryPoint], best: HistoryPoint | None
) -> list[tuple[str, Markup]]:
    """Return the curves of the loss and of the validation MRR by epoch, with what they are called."""
    found = []
    for title, history in (("Training loss", losses), ("Validation MRR", scores)):
        if history:
            points = [(point.epoch, point.value) for point in history]
            ranked = history is scores
            marked = next((at for at, (epoch, _) in enumerate(points) if ranked and best and epoch == best.epoch), None)
            digits = 3 if ranked else 2 if points[-1][1] < 100 else 0
            found.append((title, charts.curve(title, "epochs", points, digits, marked, zero=ranked)))
    return found
