"""Where the run fails: what loses most MRR, and some of the worst-ranked facts with what was ranked above them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from relatum.data.hypergraph import Hypergraph
from relatum.evaluation.ranks import Ranks
from relatum.formatting import percent
from relatum.models import scoring
from relatum.report.facts import position_name, shown_question
from relatum.report.markup import Markup, entity, join, table, tag
from relatum.report.quality import interval_cells
from relatum.report.study import Study

__all__ = ["failures"]

_PAIRS, _FACTS, _ABOVE = 12, 10, 3

Ints = npt.NDArray[np.int64]


def failures(study: Study) -> Markup:
    """Return the relations and positions that lose most, and facts that came out worst."""
    ranks = study.ranks
    if ranks is None or study.measured is None:
        return tag("p", "There are neither test nor validation facts to fail on.")
    lost = 1 - 1 / ranks.realistic
    if not lost.sum():
        return tag("p", "Every right answer stands first: nothing is lost.")
    unseen = float(lost[ranks.unseen].sum() / lost.sum())
    told = "A right answer that stands first loses nothing; one at rank r loses 1 − 1/r."
    if ranks.unseen.any():
        told += (
            f" Facts with an entity that never occurs in training are {percent(float(np.mean(ranks.unseen)))} of the "
            f"questions and {percent(unseen)} of what is lost: nothing could be learned about such an entity."
        )
    return join([tag("p", told), _most_lost(study, ranks, lost), *_worst(study, ranks, study.measured)])


def _most_lost(study: Study, ranks: Ranks, lost: npt.NDArray[np.float64]) -> Markup:
    model = study.run.model
    width = int(ranks.arity.max())
    pair = ranks.relation * width + ranks.position
    sums = np.bincount(pair, lost)
    order = np.argsort(-sums, kind="stable")[: min(_PAIRS, int(np.sum(sums > 0)))]
    rows = []
    for one in order.tolist():
        own = ranks.where(pair == one)
        relation, position = divmod(one, width)
        name, place = entity(model.schema[relation].name), entity(position_name(model, relation, position))
        rows.append([name, place, f"{len(own):,}", *interval_cells(own), percent(sums[one] / lost.sum())])
    together, pairs = percent(float(sums[order].sum() / lost.sum()), 0), int(np.sum(np.bincount(pair) > 0))
    caption = f"What loses most: {len(order)} of {pairs:,} relations and positions, {together} of all that is lost"
    heads = ("relation", "open position", "questions", "MRR", "95 % interval", "from 0 to 1", "of the loss")
    return table(caption, heads, rows, words=(0, 1), picture=5)


def _worst(study: Study, ranks: Ranks, facts: Hypergraph) -> list[Markup]:
    """Return the worst-ranked questions as a table, one of each relation and position, about known entities alone."""
    seen = np.flatnonzero(~ranks.unseen & (ranks.better > 0))
    if not len(seen):
        return []
    order = seen[np.argsort(-ranks.realistic[seen], kind="stable")]
    kinds = ranks.relation[order] * int(ranks.arity.max()) + ranks.position[order]
    _, first = np.unique(kinds, return_index=True)
    starts = _starts(facts)
    rows = []
    for question in order[np.sort(first)[:_FACTS]].tolist():
        relation, position = int(ranks.relation[question]), int(ranks.position[question])
        columns = facts.table(facts.schema[relation].name).columns[:, ranks.fact[question] - starts[relation]]
        above = _above(study, relation, columns.astype(np.int64), position, int(ranks.better[question]))
        asked = shown_question(study.run, relation, columns.tolist(), position)
        names = facts.entities
        answer = entity(names[int(columns[position])])
        ranked = join([entity(names[one]) for one in above], ", ")
        rows.append([asked, answer, f"{ranks.realistic[question]:,.10g}", ranked])
    caption = f"The worst {study.part} facts, one for each relation and position; all their entities were seen in training"
    return [table(caption, ("question", "right answer", "its rank", "what was ranked first"), rows, words=(0, 1, 3))]


def _starts(facts: Hypergraph) -> Ints:
    """Return the number of the first fact of each relation, as `rank` counts them."""
    sizes = [facts.table(relation.name).columns.shape[1] for relation in facts.schema]
    return np.concatenate([[0], np.cumsum(sizes)])


def _above(study: Study, relation: int, columns: Ints, position: int, better: int) -> list[int]:
    """Return the best answers that are not known to be true; there are as many above the right one at least."""
    run = study.run
    asked = columns[:, None]
    known = run.known.lookup(np.array([relation], np.int32), asked.astype(np.int32), position)
    k = min(_ABOVE, better)
    found, _ = scoring.top(run.model, run.tables, relation, torch.from_numpy(asked), position, k, known)
    return [one for one in found[0].tolist() if one >= 0]
