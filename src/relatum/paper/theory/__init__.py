"""The paper's theory as code: constructions and certificates that run; docs/theory.md has the verdict on every claim."""

from relatum.paper.theory.expressivity import Separation, separating_nalp, separating_reale
from relatum.paper.theory.hype import SelectionFit, fit_selection, separating_hype
from relatum.paper.theory.translations import Cycle, OneWay, find_cycle, find_one_way, order_residual, residual

__all__ = [
    "Cycle",
    "OneWay",
    "SelectionFit",
    "Separation",
    "find_cycle",
    "find_one_way",
    "fit_selection",
    "order_residual",
    "residual",
    "separating_hype",
    "separating_nalp",
    "separating_reale",
]
