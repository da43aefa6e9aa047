"""Questions whose best candidates have made scores, for tests of what chances answers and facts have."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Float64, Int64
from relatum.inference.answer_sample import RIVALS, Rivals


def rivals_with(scores: Float64, known: Int64 | int = 1) -> Rivals:
    """Return rivals, [n, RIVALS], by their scores in any order, and how many answers are known."""
    entities = np.tile(np.arange(RIVALS, dtype=np.int32), (len(scores), 1))
    return Rivals(-np.sort(-scores, axis=1), entities, np.broadcast_to(known, len(scores)).astype(np.int64))
