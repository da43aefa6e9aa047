"""Matplotlib, which is an extra of its own, or one line that says how to install it."""

from __future__ import annotations

from relatum.errors import RelatumError

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.patheffects import withStroke
except ImportError:
    raise RelatumError("figures need Matplotlib: pip install 'relatum[plot]'") from None

__all__ = ["Axes", "Figure", "Patch", "matplotlib", "withStroke"]
