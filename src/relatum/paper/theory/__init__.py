"""The paper's theory as code: constructions and certificates that run, and a verdict on every claim (docs/theory.md)."""

from relatum.paper.theory.expressivity import separating_reale
from relatum.paper.theory.hype_counterexample import separating_hype
from relatum.paper.theory.hype_selection import SelectionFit, fit_selection
from relatum.paper.theory.nalp import separating_nalp
from relatum.paper.theory.separation import Separation
from relatum.paper.theory.translations import Cycle, find_cycle, residual
from relatum.paper.theory.verdicts import VERDICTS, Verdict

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
