"""The paper's theory as code: constructions and certificates that run, and a verdict on every claim (docs/theory.md)."""

from relatum.reasoning.theory.expressivity import separating_reale
from relatum.reasoning.theory.hype_counterexample import separating_hype
from relatum.reasoning.theory.hype_selection import SelectionFit, fit_selection
from relatum.reasoning.theory.nalp import separating_nalp
from relatum.reasoning.theory.separation import Separation
from relatum.reasoning.theory.translation_cycles import Cycle, find_cycle, residual
from relatum.reasoning.theory.verdicts import VERDICTS, Verdict

__all__ = [
    "VERDICTS",
    "Cycle",
    "SelectionFit",
    "Separation",
    "Verdict",
    "find_cycle",
    "fit_selection",
    "residual",
    "separating_hype",
    "separating_nalp",
    "separating_reale",
]
