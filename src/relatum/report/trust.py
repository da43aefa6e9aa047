"""How far the calibrated probabilities can be trusted."""

from __future__ import annotations

from relatum.formatting import percent
from relatum.report.charts import reliability_curve
from relatum.report.markup import Markup, join, table, tag
from relatum.report.study import Study

__all__ = ["trust"]


def trust(study: Study) -> Markup:
    """Return the reliability curve and what it sums up to."""
    if study.run.calibration is None:
        return tag("p", "Scores were not turned into probabilities: there were no validation facts to do that by.")
    found = study.reliability
    if found is None:
        return tag("p", "There are no facts to try the probabilities on.")
    told = (
        f"Probabilities were fitted on validation facts and tried on the {study.part} facts beside as many non-facts: "
        "copies in which one entity was replaced, half of the time by one that the relation is known with there. "
        f"They are off by {100 * found.error:.1f} percentage points on average (expected calibration error); the Brier "
        f"score is {found.brier:.4f}, where 0.25 is what always saying 50 % would give."
    )
    if study.part == "valid":
        told += " These are the facts of the fit itself, so this is kinder than others would be."
    rows = [(percent(said), percent(true), percent(share)) for said, true, share in found.curve]
    caption = "What is said and what is true, in ten ranges of probability"
    chart = tag(
        "figure",
        tag("figcaption", "How often it is true; the area of a dot is its share of all"),
        reliability_curve(found.curve),
    )
    listed = table(caption, ("said", "true", "share of all"), rows, words=())
    return join([tag("p", told), tag("div", chart, listed, class_="beside")])
