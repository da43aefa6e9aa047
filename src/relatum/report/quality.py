"""How good the run is: by rank, arity, position and relation, with intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relatum.evaluation.interval import mrr_interval
from relatum.evaluation.ranks import Ranks
from relatum.formatting import percent, score
from relatum.report.charts import bar, interval_line
from relatum.report.markup import Markup, entity, join, table, tag
from relatum.report.study import Study

__all__ = ["interval_cells", "quality"]

_LISTED = 25  # relations that have a line of their own
_HEADS = ("questions", "MRR", "95 % interval", "from 0 to 1", "Hit@1", "Hit@10")
_PLACES = ((1, 1), (2, 3), (4, 10), (11, 100), (101, 1000), (1001, None))

Chosen = npt.NDArray[np.bool_]


def quality(study: Study) -> Markup:
    """Return the metrics of all questions and of each part of them."""
    ranks = study.ranks
    if ranks is None:
        return tag("p", "There are neither test nor validation facts, so nothing was measured.")
    chosen = {f"{arity} entities" if arity > 1 else "1 entity": ranks.arity == arity for arity in np.unique(ranks.arity)}
    parts = {"all": np.ones(len(ranks), np.bool_), **chosen}
    if ranks.unseen.any() and not ranks.unseen.all():
        parts |= {"all entities seen in training": ~ranks.unseen, "with an unseen entity": ranks.unseen}
    positions = {f"position {place}": ranks.position == place for place in np.unique(ranks.position)}
    tables = [
        _by("By the number of entities in a fact", "fact", parts, ranks),
        _by("By the position that was open", "position", positions, ranks),
        _by_relation(study, ranks),
    ]
    intro = (
        f"There is a question for each position of each of the {study.part} facts, {len(ranks):,} in all. An interval "
        "holds the MRR of 95 % of 1,000 resamples of the facts; the questions of one fact stay together."
    )
    return join([tag("p", intro), _spread(ranks), *tables, *_by_origin(study, ranks)])


def interval_cells(ranks: Ranks) -> list[str]:
    """Return an MRR, its interval in digits and as a picture; one fact tells of no interval."""
    mrr = ranks.metrics.mrr
    if len(np.unique(ranks.fact)) < 2:
        return [score(mrr), "–", interval_line(mrr, None)]
    low, high = mrr_interval(ranks)
    return [score(mrr), f"{score(low)} – {score(high)}", interval_line(mrr, (low, high))]


def _spread(ranks: Ranks) -> Markup:
    rows = []
    for first, last in _PLACES:
        inside = (ranks.realistic >= first) & ((ranks.realistic < last + 1) if last else True)
        name = f"{first:,}" if first == last else f"{first:,} – {last:,}" if last else f"{first:,} and beyond"
        share = float(np.mean(inside))
        rows.append((name, bar(share), percent(share)))
    return table("Where the right answer stands", ("rank", "from 0 to 100 %", "share"), rows, picture=1)


def _by(caption: str, head: str, parts: dict[str, Chosen], ranks: Ranks) -> Markup:
    return table(caption, (head, *_HEADS), [_row(name, ranks.where(chosen)) for name, chosen in parts.items()], picture=4)


def _by_relation(study: Study, ranks: Ranks) -> Markup:
    schema = study.run.model.schema
    sizes = np.bincount(ranks.relation, minlength=len(schema))
    order = np.argsort(-sizes, kind="stable")[: int(np.sum(sizes > 0))]
    rows = [_row(entity(schema[int(one)].name), ranks.where(ranks.relation == one)) for one in order[:_LISTED]]
    caption = "By relation"
    if len(order) > _LISTED:
        rest = ranks.where(np.isin(ranks.relation, order[_LISTED:]))
        rows.append(_row(f"{len(order) - _LISTED} others together", rest))
        caption = f"By relation: the {_LISTED} with most questions"
    return table(caption, ("relation", *_HEADS), rows, picture=4)


def _by_origin(study: Study, ranks: Ranks) -> list[Markup]:
    """Return the metrics by how relations were made, where that is known: by their last operation, and by depth."""
    origins, schema = study.run.split.origins, study.run.model.schema
    found = []
    for key, head, caption in (("operation", "operation", "By how a relation was made"), ("depth", "depth", "By depth")):
        made = {name: getattr(origin, key) for name, origin in origins.items() if name in schema}
        parts = {}
        for label in sorted(set(made.values())):
            chosen = np.isin(ranks.relation, [schema.id(name) for name, own in made.items() if own == label])
            if chosen.any():
                parts[str(label)] = chosen
        if parts:
            found.append(_by(caption, head, parts, ranks))
    return found


def _row(name: str, ranks: Ranks) -> list[str]:
    hits = ranks.metrics.hits
    return [name, f"{len(ranks):,}", *interval_cells(ranks), percent(hits[1]), percent(hits[10])]
