"""How good filled cells are: accuracy, macro-F1 and calibration error."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.data.vocabulary import Ids


def accuracy(predicted: Int64, truth: Int64 | Ids) -> float:
    """Return the share of cells that are right; NaN without any."""
    return float(np.mean(predicted == truth)) if len(truth) else float("nan")


def macro_f1(predicted: Int64, truth: Int64 | Ids) -> float:
    """Return the mean of F1 over the values that some cell has, each counted alike; NaN without any."""
    values, at = np.unique(truth, return_inverse=True)
    if not len(values):
        return float("nan")
    right = np.bincount(at, predicted == truth, len(values))
    where = np.minimum(np.searchsorted(values, predicted), len(values) - 1)
    named = np.bincount(where, values[where] == predicted, len(values))
    return float(np.mean(2 * right / (named + np.bincount(at, minlength=len(values)))))


def calibration_error(probabilities: Float64, right: np.ndarray, groups: int = 10) -> float:
    """Return by how much probabilities miss how often answers are right, as a mean over groups of equal width."""
    if not len(probabilities):
        return float("nan")
    group = np.minimum((probabilities * groups).astype(np.int64), groups - 1)
    return float(np.abs(np.bincount(group, probabilities - right, groups)).sum() / len(probabilities))
