"""How high a score lies above as likely as not: what is compared where scores of several relations meet.

The complement of a height is its negative, so a difference needs nothing but minima and signs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relatum.errors import SettingError
from relatum.inference.calibration import Calibration
from relatum.models.reale import ReAlE

__all__ = ["Floats", "Heights"]

_TIE = 1e-8  # of a logit: too little to be seen, and enough to tell scores apart that mean the same

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Heights:
    """Heights of the scores of a model's relations: logits of calibrated probabilities, or else degrees of truth.

    The softmax that models are trained by leaves the degrees of different relations incomparable, so those without a
    calibration mean little across relations; within one relation they rank alike.
    """

    model: ReAlE
    calibration: Calibration | None = None

    def of(self, relation: int, scores: Floats) -> Floats:
        """Return the heights of scores of a relation; they rise with the scores.

        A calibration can mean the same by many scores, where its bend or its line is flat: the higher score is then higher
        by next to nothing.
        """
        degrees = (scores - self.model.midpoint) / self.model.scale
        if self.calibration is None:
            return degrees
        return self.calibration.bent(relation, scores) + _TIE * (self.calibration.logit(relation, scores) + degrees)

    def truth(self, heights: Floats) -> Floats:
        """Return heights as people read them: as probabilities, or as the paper's degrees of truth."""
        if self.calibration is not None:
            return np.asarray(1 / (1 + np.exp(-np.clip(heights, -700, 700))))
        return heights + self.model.midpoint / self.model.scale

    def require_complement(self) -> None:
        """Refuse complements where there are none: of the degrees of a model with exp."""
        if self.calibration is None and self.model.settings.sigma == "exp":
            raise SettingError("a difference needs a complement, and exp has none; a calibrated run has one")
