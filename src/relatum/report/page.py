"""The page: its sections in order, its style, and how it is written to a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from relatum import __version__
from relatum.files import atomic_file
from relatum.report.condition import condition
from relatum.report.discoveries import discoveries
from relatum.report.failures import failures
from relatum.report.learning import learning
from relatum.report.markup import Markup, entity, join, shortened, tag
from relatum.report.quality import quality
from relatum.report.relationships import relationships
from relatum.report.settings import settings
from relatum.report.study import Study
from relatum.report.summary import summary
from relatum.report.trust import trust
from relatum.runs.run import Run

__all__ = ["report_page", "write_report"]

_SECTIONS: dict[str, tuple[str, Callable[[Study], Markup]]] = {
    "learning": ("How it learned", learning),
    "quality": ("How good it is", quality),
    "probabilities": ("How far to trust its probabilities", trust),
    "failures": ("Where it fails", failures),
    "new": ("What it believes that nobody told it", discoveries),
    "rules": ("Rules between the relations", relationships),
    "data": ("The condition of the data", condition),
    "settings": ("Settings and provenance", settings),
}


def report_page(run: Run) -> str:
    """Return the report about a run as one HTML page that needs nothing else; the same run gives the same page."""
    study = Study(run)
    title = f"{study.run.model.title} on {shortened(study.data)}"
    links = (tag("li", tag("a", heading, href=f"#{key}")) for key, (heading, _) in _SECTIONS.items())
    header = tag(
        "header",
        tag("p", "Report of a trained run", class_="kind"),
        tag("h1", f"{study.run.model.title} on ", entity(study.data)),
        summary(study),
        tag("nav", tag("ol", *links), aria_label="Sections"),
    )
    sections = (
        tag("section", tag("h2", heading, id=f"{key}-heading"), make(study), id=key, aria_labelledby=f"{key}-heading")
        for key, (heading, make) in _SECTIONS.items()
    )
    footer = tag("footer", tag("p", f"Written by relatum {__version__} from the run's own files."))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(_style())),
    )
    body = tag("body", header, tag("main", join(sections, "\n")), footer)
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def write_report(run: Run, out: str | os.PathLike[str]) -> None:
    """Write the report about a run to a file, which is whole or absent."""
    page = report_page(run).encode()
    with atomic_file(Path(out)) as file:
        file.write(page)


def _style() -> str:
    return files(__package__).joinpath("style.css").read_text(encoding="utf-8")
