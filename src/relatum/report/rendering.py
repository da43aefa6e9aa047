"""Pictures of rules as files: SVG written here, PNG by matplotlib."""

from __future__ import annotations

import io
from html import escape
from importlib import import_module

from relatum.errors import RelatumError
from relatum.report.layout import Arrow, Box, Picture

__all__ = ["png", "svg"]

_STROKES = {"solid": "", "less": ' stroke-dasharray="7 4"', "bound": ' stroke-dasharray="1.5 4" stroke-linecap="round"'}
_HALO = 'stroke="white" stroke-width="2" paint-order="stroke"'  # lines that cross a label stop short of it
_DASHES = {"solid": "-", "less": (0, (7, 4)), "bound": (0, (1, 3))}  # the same for matplotlib
_TIP = {"arrowstyle": "-|>", "color": "black", "lw": 0, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12}
_FOOT = 26  # room for the key
_PER_INCH, _MOST_PIXELS = 100, 20_000
_KEY = "line: is made from; dashes: is taken away; dots: contains, or lies within"


def svg(picture: Picture) -> bytes:
    """Return a picture as an SVG file."""
    width, height = round(max(picture.width, 8.0 * len(_KEY))), round(picture.height) + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        "<style>text { font: 11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }</style>",
        '<defs><marker id="tip" viewBox="0 0 10 8" refX="10" refY="4" markerWidth="9" markerHeight="7" orient="auto">'
        '<path d="M0 0 L10 4 L0 8 z"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *map(_arrow, picture.arrows),
        *map(_box, picture.boxes),
        f'<text x="12" y="{height - 10}" fill="#444">{_KEY}</text>',
        "</svg>",
    ]
    return ("\n".join(parts) + "\n").encode()


def _arrow(arrow: Arrow) -> str:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow.points)
    (x, y), label = arrow.label, escape(arrow.edge.label)
    return (
        f'<polyline points="{line}" fill="none" stroke="black"{_STROKES[arrow.edge.style]} marker-end="url(#tip)"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" {_HALO}>{label}</text>'
    )


def _box(box: Box) -> str:
    sizes = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    x, y = box.x + box.width / 2, box.y + box.height / 2 + 4
    return (
        f'<rect {sizes} rx="4" fill="white" stroke="black" stroke-width="1.4"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(box.name)}</text>'
    )


def png(picture: Picture) -> bytes:
    """Return a picture as a PNG file."""
    try:
        figures, patches, effects = (import_module(f"matplotlib.{name}") for name in ("figure", "patches", "patheffects"))
    except ImportError:
        raise RelatumError(
            "a PNG is drawn by matplotlib, which is not installed: pip install 'relatum[plot]'; .svg needs nothing"
        ) from None
    width, height = max(picture.width, 8.0 * len(_KEY)), picture.height + _FOOT
    dots = min(1.6 * _PER_INCH, _PER_INCH * _MOST_PIXELS / max(width, height))
    figure = figures.Figure(figsize=(width / _PER_INCH, height / _PER_INCH), dpi=dots)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    text = {"family": "monospace", "size": 11 * 72 / _PER_INCH}
    halo = [effects.withStroke(linewidth=1.6, foreground="white")]
    for arrow in picture.arrows:
        axes.plot(*zip(*arrow.points, strict=True), color="black", lw=0.8, ls=_DASHES[arrow.edge.style], zorder=1)
        axes.annotate("", arrow.points[-1], arrow.points[-2], arrowprops=_TIP, zorder=2)
        axes.text(*arrow.label, arrow.edge.label, path_effects=halo, zorder=3, **text)
    for box in picture.boxes:
        corner, shape = (box.x, box.y), "round,pad=0,rounding_size=4"
        axes.add_patch(patches.FancyBboxPatch(corner, box.width, box.height, boxstyle=shape, fc="white", zorder=4))
        axes.text(box.x + box.width / 2, box.y + box.height / 2, box.name, ha="center", va="center", zorder=5, **text)
    axes.text(12, height - 10, _KEY, color="#444", **text)
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})  # without a version: the same rules, the same bytes
    return file.getvalue()
