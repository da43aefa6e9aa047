"""Learning curves: loss and validation MRR, by epoch and by time."""

from __future__ import annotations

from relatum.report.charts import curve
from relatum.report.markup import Markup, join, tag
from relatum.report.study import Study
from relatum.runs.course import Moment

__all__ = ["learning"]


def learning(study: Study) -> Markup:
    """Return the curves as small multiples."""
    course = study.course
    if not course.losses:
        return tag("p", "The journal of this run tells of no epoch.")
    size, unit = next((one for one in ((3600, "h"), (60, "min")) if course.seconds >= 2 * one[0]), (1, "s"))
    charts = []
    for name, moments in (("Loss", course.losses), ("Validation MRR", course.scores)):
        if moments:
            best = moments.index(course.best) if course.best in moments else None
            rising, digits = moments is course.scores, 3 if moments is course.scores else _digits(moments)
            for title, across, scale in ((f"{name} by epoch", "epochs", None), (f"{name} by time", unit, size)):
                points = [(moment.epoch if scale is None else moment.seconds / scale, moment.value) for moment in moments]
                chart = curve(title, across, points, digits, best, zero=rising)
                charts.append(tag("figure", tag("figcaption", title), chart))
    about = (
        "Validation ranks the same sample of validation facts each time. It knows nothing of the test facts, so right "
        "answers among them count as mistakes here: this MRR is not to be compared with that of the test."
    )
    note = about if course.scores else "There were no validation facts, so the last state was kept."
    if course.sessions > 1:
        note += " What was lost in a break and trained again is drawn once; its time counts."
    return join([tag("div", *charts, class_="multiples"), tag("p", note, class_="note")])


def _digits(moments: list[Moment]) -> int:
    return 2 if moments[-1].value < 100 else 0
