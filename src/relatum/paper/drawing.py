"""A figure that was drawn or could not be, and its files."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from relatum.extras import optional
from relatum.files import atomic_file

with optional("matplotlib", extra="plot"):
    from matplotlib.figure import Figure

__all__ = ["Drawing", "write_figure"]

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
    for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        content = BytesIO()
        figure.savefig(content, format=kind, dpi=_DPI, metadata=metadata)
        target = path.with_name(f"{path.name}.{kind}")
        with atomic_file(target) as file:
            file.write(content.getvalue())
        written.append(target)
    return written[0], written[1]
