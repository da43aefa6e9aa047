"""What cells most probably hold, and what speaks for it, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.data.vocabulary import Ids
from relatum.fitting import never_certain
from relatum.imputation.column_model import FIRST, BoundColumn, ColumnModel, Scored
from relatum.imputation.weights import calibrated, probabilities

Scores = Callable[[str, str, Ids, Int64], Float64]
"""Scores by an embedding: of a table's column, for rows by their cells, int32[columns, n], of candidates by id, int64[n, c]
(-1 is none); float64[n, c], NaN where it has none."""

_LEAST = 0.05  # nats that something must add to be named


@dataclass(frozen=True, slots=True)
class Support:
    """One thing that speaks for an answer."""

    # `context`, rows that have the same elsewhere; `copy`, the same value stands at the end of a path; `before` or
    # `after`, it stands in the row beside this one by key
    kind: Literal["context", "copy", "before", "after"]
    text: str  # the path or paths, or the key, as people read them: `AlbumId > Album.ArtistId`
    values: tuple[int, ...]  # what the row has at the end of each path, by id; of several values of one path, all
    share: float  # how probable the answer is by this alone: P(value | context), the row itself not counted
    rows: float  # how many known cells that rests on
    nats: float  # how much it adds to the logarithm of the answer's odds


@dataclass(frozen=True, eq=False)
class Imputed:
    """What some cells of a column may hold."""

    ids: Int64  # int64[n, c], candidates by id, most probable first; -1 where there are no more
    probabilities: Float64  # float64[n, c], of each; 0 where there is none
    others: Float64  # float64[n], the probability that it is none of them; with it, each row sums to 1
    # what speaks for the first candidate of each cell, strongest first, where that was wanted
    supports: tuple[tuple[Support, ...], ...] = ()

    @property
    def best(self) -> Int64:
        """The most probable value of each cell by id; -1 where there is none."""
        return self.ids[:, 0]

    def __len__(self) -> int:
        return len(self.ids)


def logits_of(model: ColumnModel, scored: Scored, scores: Float64 | None) -> Float64:
    """Return the logits of candidates and of all others, [m, c + 1]; `scores` are those of an embedding, NaN for none."""
    logits: Float64 = model.sharpness * (scored.features @ model.weights)
    if scores is not None and model.embedding:
        logits[:, :-1] += model.embedding * centred(scores, scored)
    return logits


def centred(scores: Float64, scored: Scored) -> Float64:
    """Return scores of candidates less their mean over each cell's open ones, 0 where there is none."""
    there = np.isfinite(scores) & scored.candidates.open[:, :-1]
    filled = np.where(there, scores, 0.0)
    return np.where(there, filled - (filled.sum(1) / np.maximum(there.sum(1), 1))[:, None], 0.0)


def answered(
    model: ColumnModel,
    bound: BoundColumn,
    scored: Scored,
    scores: Float64 | None,
    cells: Ids,
    rows: Int64 | None,
    reasons: int,
    later: Bool | None = None,
) -> Imputed:
    """Return the answers for cells whose candidates are scored, with as many reasons as wanted for each.

    `later` says which of them are of rows that come after all that are known.
    """
    if not scored.candidates.values.shape[1]:  # no cell of the column that counts holds anything
        count = cells.shape[1]
        return Imputed(np.full((count, 1), -1), np.zeros((count, 1)), np.ones(count), ((),) * count if reasons else ())
    plain = probabilities(logits_of(model, scored, scores), scored.candidates.open)
    shares = calibrated(plain, model.curve)
    if later is not None and model.later is not None:
        shares = np.where(later[:, None], calibrated(plain, model.later.curve), shares)
    order = np.argsort(-shares[:, :-1], 1, kind="stable")
    found = np.take_along_axis(shares[:, :-1], order, 1)
    numbers = np.where(found > 0, np.take_along_axis(scored.candidates.values, order, 1), -1)
    ids = np.where(numbers >= 0, np.append(bound.values.ids, -1)[numbers], -1)
    supports = _supports(model, bound, scored, order[:, 0], cells, rows, reasons) if reasons else ()
    return Imputed(ids, np.where(ids >= 0, never_certain(found), 0.0), shares[:, -1], supports)


def merged(parts: list[Imputed]) -> Imputed:
    """Return the answers of several blocks of cells as one."""
    width = max((one.ids.shape[1] for one in parts), default=1)

    room = [((0, 0), (0, width - one.ids.shape[1])) for one in parts]
    return Imputed(
        np.concatenate([np.pad(one.ids, each, constant_values=-1) for one, each in zip(parts, room, strict=True)]),
        np.concatenate([np.pad(one.probabilities, each) for one, each in zip(parts, room, strict=True)]),
        np.concatenate([one.others for one in parts]),
        tuple(support for one in parts for support in one.supports),
    )


def _supports(
    model: ColumnModel, bound: BoundColumn, scored: Scored, best: Int64, cells: Ids, rows: Int64 | None, reasons: int
) -> tuple[tuple[Support, ...], ...]:
    """Return what adds most to the odds of the best candidate of each cell, against those of all others."""
    view, count, every = bound.view, len(model.contexts), np.arange(len(best))
    features = scored.features[every, best]
    nats = model.sharpness * model.weights * features
    repeats = FIRST + count + 2 + len(model.copies)  # where those begin that are no reason of their own
    adds = nats[:, FIRST:repeats].copy()
    shares = np.stack([one.share[every, best] for one in scored.beside], 1) if count else np.zeros((len(best), 0))
    support = np.stack([one.rows for one in scored.beside], 1) if count else np.zeros((len(best), 0))
    if count:  # the strongest context speaks once more, as the maximum over all
        alone = np.array([one.parent is None for one in model.contexts])
        strongest = np.where(alone, shares, -1.0).argmax(1)
        adds[every, strongest] += nats[:, 3]
    values = {path: view.reader.values(path, view.table, cells, rows) for one in model.contexts for path in one.paths}
    answers = np.append(bound.values.ids, -1)[scored.candidates.values[every, best]]
    kinds: list[tuple[Literal["before", "after", "copy"], str]] = [
        ("before", bound.order.key or ""),
        ("after", bound.order.key or ""),
        *(("copy", path.text(view.store, view.table)) for path in model.copies),
    ]
    found = []
    for row in range(len(best)):
        named = []
        for index in np.argsort(-adds[row], kind="stable")[:reasons]:
            gain = float(adds[row, index])
            if gain < _LEAST:
                break
            if index < count:
                context = model.contexts[index]
                has = tuple(int(one) for path in context.paths for one in values[path][row] if one >= 0)
                text = context.text(view.store, view.table)
                named.append(Support("context", text, has, float(shares[row, index]), float(support[row, index]), gain))
            else:
                kind, text = kinds[index - count]
                named.append(Support(kind, text, (int(answers[row]),), 1.0, 1.0, gain))
        found.append(tuple(named))
    return tuple(found)
