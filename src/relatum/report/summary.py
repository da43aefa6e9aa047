"""What was learned, in plain sentences."""

from __future__ import annotations

from relatum.data.datasets import DATASETS
from relatum.formatting import count, duration, listed, percent, score
from relatum.report.markup import Markup, entity, join, tag
from relatum.report.study import Study

__all__ = ["summary"]

_PARTS = {"test": "test facts", "valid": "validation facts, which training has looked at"}


def summary(study: Study) -> Markup:
    """Return the sentences at the top of the page, and the three numbers that most people look for."""
    told = [_data(study), _updates(study), _quality(study), _training(study), _trust(study)]
    return join([_figures(study), *(tag("p", sentence) for sentence in told if sentence is not None)])


def _data(study: Study) -> Markup:
    split = study.run.split
    known = sum(map(len, split.parts.values()))
    dataset = DATASETS.get(split.origin)
    arities = listed([str(arity) for arity in sorted(split.schema.arities)])
    sentence = (
        f" has {count(known, 'fact')} of {count(len(split.schema), 'relation')} about "
        f"{count(len(split.entities), 'entity', 'entities')}; a fact joins {arities} of them. "
        f"Training had {len(split.train):,} of the facts, the choice of the best state {len(split.valid):,}, "
        f"and the test {len(split.test):,}."
    )
    model = f" The model is a {study.run.model.title} with {count(study.spec.settings.dim, 'dimension')}."
    source = f" Source: {dataset.cite}; {dataset.licence}." if dataset else None
    return join([tag("strong", entity(study.data)), sentence, model, *([source] if source else [])])


def _updates(study: Study) -> Markup | None:
    steps = study.provenance.get("updates", [])
    if not steps:
        return None
    facts, entities = (sum(int(step[key]) for step in steps) for key in ("added", "new_entities"))
    return join(
        [
            f"Of these facts, {facts:,} came after training, in {count(len(steps), 'update')}: the rows of "
            f"{count(entities, 'new entity', 'new entities')} were fitted to them, and all others stayed as they were."
        ]
    )


def _quality(study: Study) -> Markup:
    if study.ranks is None or study.metrics is None or study.part is None:
        return Markup("How good it is was not measured: there are neither test nor validation facts.")
    entities, found, (low, high) = len(study.run.split.entities), study.metrics, study.interval
    return join(
        [
            f"Shown a gap in one of the {_PARTS[study.part]}, and {entities:,} entities to fill it with, it puts the right "
            f"one first {percent(found.hits[1], 0)} of the time and among the first ten {percent(found.hits[10], 0)} of the "
            f"time. The mean of 1 / rank (MRR) is ",
            tag("strong", score(found.mrr)),
            f" (95\u00a0% interval {score(low)} to {score(high)}). Other answers that are known to be true do not count as "
            "mistakes, and equal scores share the places that they take.",
        ]
    )


def _training(study: Study) -> Markup | None:
    course = study.course
    if not course.sessions:
        return None
    breaks = "" if course.sessions == 1 else f" in {count(course.sessions, 'session')}"
    took = f"Training took {duration(course.seconds)}{breaks} for {count(course.epochs, 'epoch')}"
    best = course.best
    chosen = f"; the state after epoch {best.epoch} did best on validation facts and was kept" if best else ""
    return join([f"{took}{chosen}."])


def _trust(study: Study) -> Markup | None:
    if study.run.calibration is None:
        return Markup("There were no validation facts to turn scores into probabilities by, so it gives scores alone.")
    if study.reliability is None:
        return None
    off = f"{100 * study.reliability.error:.1f} percentage points"
    return join([f"The probabilities that it gives are off by {off} on average, on these facts and as many non-facts."])


def _figures(study: Study) -> Markup:
    """Return the numbers that can be read from afar."""
    numbers = []
    if study.metrics is not None:
        numbers += [("MRR", score(study.metrics.mrr)), ("right answer first", percent(study.metrics.hits[1], 0))]
    if study.course.sessions:
        numbers.append(("of training", duration(study.course.seconds)))
    figures = (tag("div", tag("dd", value), tag("dt", label)) for label, value in numbers)
    return tag("dl", *figures, class_="figures") if numbers else Markup("")
