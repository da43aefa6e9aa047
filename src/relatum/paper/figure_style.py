"""How figures look, and how they are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from relatum.extras import optional
from relatum.files import write_bytes

with optional("matplotlib", extra="plot"):
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, PAGE = 3.4, 7.0  # inches: the width of a column of a paper, and of its page

_LEGEND_ROW = 0.17  # inches
_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "relatum",  # the same figure has the same ids, and so the same bytes
    "font.family": ["DejaVu Sans"],  # comes with Matplotlib, so a figure looks alike everywhere
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.7,
    "lines.solid_capstyle": "butt",
    "text.parse_math": False,  # a dollar sign in a name is one
}


@dataclass(frozen=True)
class Style:
    """How one system is drawn: its line and marker, and the hatch and face of its bars."""

    color: str
    line: Any
    marker: str
    hatch: str
    face: str = "white"
    width: float = 1.2

    @property
    def of_line(self) -> dict[str, Any]:
        """The arguments of a line."""
        markers = {"marker": self.marker, "ms": 4.2, "mfc": "white", "mew": 0.9}
        return {"color": self.color, "ls": self.line, "lw": self.width, **markers}

    @property
    def of_bar(self) -> dict[str, Any]:
        """The arguments of a bar."""
        return {"facecolor": self.face, "edgecolor": self.color, "hatch": self.hatch, "linewidth": 0.8}


# In the paper's order; ReAlE, which is what people look for, is black. Hatches of dots would take a megabyte of SVG.
STYLES: dict[str, Style] = {
    "m-distmult": Style("#7a3e9d", (0, (5, 1.2)), "v", "////"),
    "m-cp": Style("#8a6a12", (0, (3, 1, 1, 1)), "+", "", "#dcd2b4"),
    "m-transh": Style("#b0305c", (0, (1, 1)), "x", "xxxx"),
    "rae": Style("#5a5a5a", (0, (6, 3)), "<", "----"),
    "nalp": Style("#137c87", (0, (3, 1, 1, 1, 1, 1)), ">", "\\\\\\\\"),
    "neuinfer": Style("#4f7f1f", (0, (2, 1, 4, 1)), "p", "//--"),
    "hinge": Style("#a8442f", (0, (8, 1.5, 1, 1.5, 1, 1.5)), "h", "\\\\||"),
    "getd": Style("#9a9a9a", (0, (9, 2)), "1", ""),
    "hsimple": Style("#2e7d4f", (0, (1, 2.2)), "D", "||||"),
    "hype": Style("#c8641e", (0, (6, 1.5, 1, 1.5)), "^", "++++"),
    "g-mpnn": Style("#1f5fa8", (0, (4, 2)), "s", "", "#7f9cc0"),
    "reale": Style("#111111", "-", "o", "", "#111111", 1.6),
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw and write figures inside this block: the style counts in both."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # what a person has set for other figures leaves no trace
        matplotlib.rcParams.update(_SETTINGS)
        yield


def grid(axes: Axes) -> None:
    """Lay light horizontal lines behind what is drawn."""
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    axes.tick_params(length=2.5, width=0.7)


def legend_below(figure: Figure, handles: list[Any], names: list[str], columns: int, title: str | None = None) -> None:
    """Put a legend below, and make the figure as much higher as the legend is."""
    rows = -(-len(names) // columns) + (title is not None)
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * rows)
    figure.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=min(columns, len(names)),
        title=title,
        title_fontsize=7.5,
        frameon=False,
        handlelength=3.2,
        handletextpad=0.5,
        columnspacing=1.1,
        labelspacing=0.25,
        borderaxespad=0.1,
    )


_DPI = 300


@dataclass(frozen=True)
class Drawing:
    """A figure and what was left out of it; without a figure, why there is none."""

    figure: Figure | None
    left_out: tuple[str, ...] = ()


def write_figure(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Return the SVG and the PNG of a figure, written beside each other; the same figure gives the same SVG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        content = BytesIO()
        figure.savefig(content, format=suffix, dpi=_DPI, metadata=metadata)
        target = path.with_name(f"{path.name}.{suffix}")
        write_bytes(target, content.getvalue())
        written.append(target)
    return written[0], written[1]
