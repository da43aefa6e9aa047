"""Choosing the contexts of a column and fitting their weights, on visible cells that are each taken out of the counts."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from relatum.arrays import Bool, Float64, Int64
from relatum.imputation.column_model import FIRST, REPEATS, BoundColumn, ColumnModel, Scored
from relatum.imputation.contexts import Context, Counted, TableView
from relatum.imputation.features import context_counts, log_ratio, smoothed
from relatum.imputation.paths import paths_from
from relatum.imputation.weights import best_of, fit_curve, fit_weights, gain_of, probabilities

_STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_REFINED_STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)
_SHARES, _SPREADS = (0.0, 0.3, 0.7), (0.0, 0.25)
_PATHS = 300  # that are tried
_ROWS = 100_000  # that contexts are compared on; those that are chosen count all
_LIKE_KEYS = 0.95  # distinct values in so many of the rows say nothing about other rows
_DENSE = 4_000_000  # counts that neighbours can share
_OWN, _FAR, _COPIES = 16, 8, 4  # contexts of one path: other columns of the row, and others; and copies
_PAIRED, _ROUNDS, _AT_ONCE = 8, 2, 3  # contexts that are refined, how often, and how many refinements are taken each time
_GROUPED, _GROUP = 12, 4  # where there are more values in order, so many of them count as one in a refinement,
_FULL = 20  # unless there are as many rows for each combination
_FIRST_GAIN, _NEXT_GAIN = 3.0, 4.0  # nats over all sampled cells that a context must be worth
_CELLS = 3000  # that weights are fitted on
_SIZE = 6_000_000  # numbers in an array of features, about
_DIGITS = 6
_FRESH, _FOLDS = 600, 4  # cells that are checked at least; of fewer all are, in as many folds

# What weights are drawn to, and how strongly: the prior as it is, half of the strongest context, a little of each.
_PULL, _LOOSE = 2.0, 0.5
_PRIOR, _MAXIMUM, _CONTEXT = 1.0, 0.5, 0.3


def fit_column(view: TableView, column: str, seed: int = 0) -> ColumnModel:
    """Return the model of a column by the visible cells of its table; the same cells and seed give the same model."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{view.table}\t{column}".encode())])
    bound = BoundColumn(view, column)
    known = np.flatnonzero(bound.values.v >= 0)
    if len(bound.values.ids) < 2:
        return _finished(bound, _centre(bound))
    sample = _drawn(rng, known, _CELLS)
    some = None if len(known) <= _ROWS else np.union1d(sample, _drawn(rng, known, _ROWS))
    bound, weights = _chosen(view, column, sample, some, rng)
    checks = _checked(bound, weights, known, sample, some, rng)
    part = _cautious(checks)
    curve = fit_curve(*_best_of_all(checks, part), times=np.concatenate([one.times for one in checks]))
    return replace(_finished(bound, _mixed(weights, part)), curve=curve)


def _chosen(
    view: TableView, column: str, sample: Int64, some: Int64 | None, rng: np.random.Generator
) -> tuple[BoundColumn, Float64]:
    """Return the contexts that say most about sampled cells, and the weights of the features."""
    bound = BoundColumn(view, column)
    singles = _singles(bound, sample, some)
    ends = ((one.paths[0], view.codes(one.paths[0])[0].first_values) for one in singles)
    bound.copies = tuple(path for path, values in ends if np.isin(values, bound.values.ids).any())[:_COPIES]
    # what other rows say often follows from a column of the row, and must not push its other columns out
    far = [one for one in singles if not one.is_own][:_FAR]
    own = [one for one in singles if one.is_own][:_OWN]
    for context in singles:
        if context in own or context in far:
            bound.add(context)
    sample = _drawn(rng, sample, max(200, _SIZE // (50 * (len(bound.counted) + 12))))
    scored, weights = _fitted(bound, sample, None)
    for _ in range(_ROUNDS):
        found = _refinements(bound, scored, weights, sample, some)
        if not found:
            break
        start = np.insert(weights, FIRST + len(bound.counted), np.zeros(len(found)))
        for context in found:
            bound.add(context)
        scored, weights = _fitted(bound, sample, start)
    return bound, weights


class _Check(NamedTuple):
    """Cells that had no part in choosing contexts and weights, scored by these."""

    scored: Scored
    weights: Float64
    times: Float64


def _checked(
    bound: BoundColumn,
    weights: Float64,
    known: Int64,
    sample: Int64,
    some: Int64 | None,
    rng: np.random.Generator,
) -> list[_Check]:
    """Return cells with what others say of them: those that were not sampled, or folds of the sample, each by the others.

    Among many paths some say much about the very cells that they were chosen by, and nothing about others.
    """
    fresh = _drawn(rng, np.setdiff1d(known, sample), len(sample))
    if len(fresh) >= _FRESH:
        return [_check(bound, weights, fresh)]
    few = len(sample) < _FRESH
    fold, found = rng.permutation(len(sample)) % (_FOLDS if few else 3), []
    for number in range(int(fold.max()) + 1 if few else 1):
        held = sample[fold == number]
        found.append(_check(*_chosen(bound.view, bound.column, sample[fold != number], some, rng), held))
    return found


def _check(bound: BoundColumn, weights: Float64, cells: Int64) -> _Check:
    scored = bound.score(bound.view.cells[:, cells], cells, bound.values.v[cells])
    return _Check(scored, weights, _times(bound, cells))


def _times(bound: BoundColumn, cells: Int64) -> Float64:
    """Return how many cells each stands for: fewer if no other has its value, as such a cell is never held out for tests."""
    table = bound.view.store[bound.view.table]
    parts = table.parts[table.schema.index(bound.column)][table.column(bound.column) >= 0]
    later = float((parts > bound.view.reader.most_part).mean())
    return np.where(bound.prior.counts[bound.values.v[cells]] == 1, 1.0 - later, 1.0)


def _drawn(rng: np.random.Generator, rows: Int64, most: int) -> Int64:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _finished(bound: BoundColumn, weights: Float64) -> ColumnModel:
    """Return the model with weights as they are written, so that one that was read again is the same."""
    return ColumnModel(bound.view.table, bound.column, bound.contexts, bound.copies, weights.round(_DIGITS))


def _singles(bound: BoundColumn, sample: Int64, some: Int64 | None) -> list[Context]:
    """Return contexts of one path each, those that say most about the sampled cells first."""
    view, values = bound.view, bound.values
    own = values.v[sample]
    base = bound.prior.shares(own)
    spreads = _SPREADS if values.order is not None else _SPREADS[:1]
    found: list[tuple[float, Context]] = []
    for path in list(paths_from(view.store, view.table, bound.column))[:_PATHS]:
        if not view.reader.leads_somewhere(path, view.table):
            continue
        codes, x = view.codes(path)
        filled = int((x >= 0).any(1).sum())
        if codes.size < 2 or (x.shape[1] == 1 and codes.size > _LIKE_KEYS * filled):
            continue
        dense = codes.size * len(values.ids) <= _DENSE
        shares = _SHARES if dense and view.ranks(path) is not None else _SHARES[:1]
        best, chosen = 0.0, None
        for share in shares:
            for spread in spreads if dense else spreads[:1]:
                context = Context((path,), (1,), share=share, spread=spread)
                gains = _gains(Counted(view, context, values, some), x[sample], own, base)
                if gains.max() > best + (1.0 if share or spread else 0.0):
                    best, chosen = float(gains.max()), replace(context, strength=_STRENGTHS[int(gains.argmax())])
        if chosen is not None and best > _FIRST_GAIN:
            found.append((best, chosen))
    return [context for _, context in sorted(found, key=lambda one: -one[0])]


def _gains(one: Counted, x: Int64, own: Int64, base: Float64) -> Float64:
    """Return by strength how much likelier a context makes what cells hold than the prior does, in nats over all of them."""
    shares, known = np.zeros((len(_STRENGTHS), len(own))), np.zeros(len(own))
    for code in x.T:
        total = one.counts.total(code) - 1
        there = (code >= 0) & (total > 0)
        here = np.maximum(one.counts.of(code, own) - one.counts.own(own, own), 0)
        for index, strength in enumerate(_STRENGTHS):
            shares[index] += np.where(there, (here + strength * base) / (np.maximum(total, 0) + strength), 0)
        known += there
    says = (known > 0) & (base > 0)
    return np.asarray(np.log(shares[:, says] / (known * base)[says]).sum(1))


def _fitted(bound: BoundColumn, sample: Int64, start: Float64 | None) -> tuple[Scored, Float64]:
    """Return the features of sampled cells, each taken out of the counts, and the weights that fit them."""
    scored = bound.score(bound.view.cells[:, sample], sample, bound.values.v[sample])
    centre = _centre(bound)
    pull, least = np.full(len(centre), _PULL), np.zeros(len(centre))
    pull[1], least[1] = _LOOSE, -np.inf
    repeats = FIRST + len(bound.counted) + 2 + len(bound.copies)  # where the features of repeats begin
    pull[FIRST + len(bound.counted) :] = _LOOSE
    pull[repeats : repeats + REPEATS] = _PULL
    least[repeats : repeats + REPEATS] = -np.inf
    candidates = scored.candidates
    times = _times(bound, sample)
    return scored, fit_weights(scored.features, candidates.open, candidates.right, centre, pull, least, start, times)


def _centre(bound: BoundColumn) -> Float64:
    count = len(bound.counted)
    centre = np.zeros(FIRST + count + 2 + len(bound.copies) + REPEATS)
    centre[0], centre[3] = _PRIOR, _MAXIMUM
    centre[FIRST : FIRST + count] = [_CONTEXT / (1 if one.parent is not None else count**0.5) for one in bound.contexts]
    return centre


def _refinements(bound: BoundColumn, scored: Scored, weights: Float64, sample: Int64, some: Int64 | None) -> list[Context]:
    """Return the contexts of one path more than others that add most to what these say."""
    shares = probabilities(scored.features @ weights, scored.candidates.open)
    found = []
    for context in _tried(bound):
        gain, best = _refined(bound, scored, context, shares, sample, some)
        if gain > _NEXT_GAIN:
            found.append((gain, best))
    return [context for _, context in sorted(found, key=lambda one: -one[0])[:_AT_ONCE]]


def _tried(bound: BoundColumn) -> list[Context]:
    """Return contexts of two paths out of the best single ones, and of three where two are already taken."""
    view, have = bound.view, {frozenset(one.paths) for one in bound.contexts}
    single = [one.paths[0] for one in bound.contexts if len(one.paths) == 1 and view.codes(one.paths[0])[1].shape[1] == 1]
    found = []
    for index, context in enumerate(bound.contexts):
        if len(context.paths) > 2 or context.paths[0] not in single[:_PAIRED]:
            continue
        for path in single[:_PAIRED]:
            paths = (*context.paths, path)
            if path not in context.paths and frozenset(paths) not in have:
                have.add(frozenset(paths))
                sizes = [view.codes(one)[0].size for one in paths]
                few = len(bound.values.v) < _FULL * float(np.prod(sizes))
                groups = tuple(
                    _GROUP if few and size > _GROUPED and view.ranks(one) is not None else 1
                    for one, size in zip(paths, sizes, strict=True)
                )
                found.append(Context(paths, groups, parent=index))
    return found


def _refined(
    bound: BoundColumn, scored: Scored, context: Context, shares: Float64, sample: Int64, some: Int64 | None
) -> tuple[float, Context]:
    """Return about how much a refinement adds, in nats over the sampled cells, with the strength by which it adds most."""
    view, candidates = bound.view, scored.candidates
    assert context.parent is not None  # noqa: S101
    one = Counted(view, context, bound.values, some)
    counts, base = (
        context_counts(one, one.of(view.cells[:, sample], sample), candidates),
        scored.beside[context.parent].share,
    )
    best, right = (0.0, context), candidates.right
    for strength in _REFINED_STRENGTHS:
        feature = log_ratio(smoothed(counts, strength, base).share, base) * candidates.open
        gain = gain_of(feature, shares, right, _PULL)
        if gain > best[0]:
            best = gain, replace(context, strength=strength)
    return best


def _mixed(weights: Float64, part: float) -> Float64:
    """Return a part of the weights, and for the rest the prior alone."""
    plain = np.zeros_like(weights)
    plain[:2] = 1.0, weights[1]
    return part * weights + (1 - part) * plain


def _best_of_all(checks: list[_Check], part: float) -> tuple[Float64, Bool]:
    """Return the share of the best candidate of each checked cell by a part of the weights, and whether it is right."""
    found = []
    for one in checks:
        shares = probabilities(one.scored.features @ _mixed(one.weights, part).round(_DIGITS), one.scored.candidates.open)
        found.append(best_of(shares, one.scored.candidates.right))
    return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found])


def _cautious(checks: list[_Check]) -> float:
    """Return the part of the weights to take, less than all where checked cells do not show that these find more right.

    Where nothing says anything, the most frequent value is the best guess, and small weights by accident would spoil it.
    """
    before = _best_of_all(checks, 0.0)[1].astype(np.int64)
    for part in (1.0, 0.5, 0.25):
        differences = _best_of_all(checks, part)[1] - before
        if differences.sum() >= np.sqrt(np.abs(differences).sum()):
            return part
    return 0.0
