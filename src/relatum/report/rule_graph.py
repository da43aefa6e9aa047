"""The graph of rules: relations are boxes, and arrows lead from those of a body to its head.

It is drawn as an SVG image; for another layout, or another format, there is the text that Graphviz reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import Path

from relatum.algebra import Difference, Expression, Relation
from relatum.errors import RelatumError
from relatum.files import atomic_file, require_own
from relatum.formatting import visible
from relatum.report.layered_layout import Arrow, Box, Edge, Picture, arrange
from relatum.rules import Rule, RuleKind

__all__ = ["draw_rules", "drawing_for", "rules_dot", "rules_image", "rules_svg"]

_FOOT = 26  # room for the key
_KEY = "line: is derived from; dashes: is subtracted; dots: contains, or lies within"
_STROKES = {"solid": "", "less": ' stroke-dasharray="7 4"', "bound": ' stroke-dasharray="1.5 4" stroke-linecap="round"'}
_DOT_STYLES = {"solid": "solid", "less": "dashed", "bound": "dotted"}
_HALO = 'stroke="white" stroke-width="2" paint-order="stroke"'  # lines that cross a label stop short of it
_SVG_MARK, _DOT_MARK = "<!-- relatum rules -->", "// relatum rules"  # how drawings begin
_STYLE = "<style>text { font: 11px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }</style>"
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 10 8" refX="10" refY="4" markerWidth="9" markerHeight="7" orient="auto">'
    '<path d="M0 0 L10 4 L0 8 z"/></marker></defs>'
)


def draw_rules(rules: Iterable[Rule], path: str | os.PathLike[str]) -> None:
    """Draw rules into a file: as a picture in black and white if it ends in .svg, as text for Graphviz if in .dot.

    An arrow leads from each relation of a body to the head, labelled by what happens to it on the way; a line for an
    equality, with dashes for what a difference takes away, dots for what only bounds the head.
    """
    drawn = drawing_for(path)(rules).encode()
    with atomic_file(Path(path)) as file:
        file.write(drawn)


def drawing_for(path: str | os.PathLike[str]) -> Callable[[Iterable[Rule]], str]:
    """Return what draws rules for a file of this name; one that ends otherwise, or is no such drawing yet, is refused."""
    forms: dict[str, tuple[Callable[[Iterable[Rule]], str], str]] = {
        ".svg": (rules_svg, _SVG_MARK),
        ".dot": (rules_dot, _DOT_MARK),
    }
    if (suffix := Path(path).suffix.lower()) not in forms:
        raise RelatumError(f"{path}: rules are drawn as {' or '.join(forms)}")
    draw, mark = forms[suffix]
    require_own(Path(path), mark)
    return draw


def rules_svg(rules: Iterable[Rule]) -> str:
    """Return the picture of rules as the text of an SVG file."""
    drawn = _svg(arrange(_edges_of(rules)), 'xmlns="http://www.w3.org/2000/svg"', _STYLE)
    return f"{_SVG_MARK}\n{drawn}\n"


def rules_image(rules: Iterable[Rule], title: str, description: str) -> str:
    """Return the picture of rules as an element of a page, which styles it; title and description are for the blind."""
    labels = f"<title>{_text(title)}</title><desc>{_text(description)}</desc>"
    return _svg(arrange(_edges_of(rules)), 'class="rules" role="img"', labels)


def rules_dot(rules: Iterable[Rule]) -> str:
    """Return the graph of rules as text for Graphviz, which lays it out itself."""
    edges = _edges_of(rules)
    number = {name: index for index, name in enumerate(dict.fromkeys(name for e in edges for name in (e.source, e.target)))}
    lines = [f"  n{index} [label={_quoted(name)}];" for name, index in number.items()]
    for edge in edges:
        attributes = f"label={_quoted(edge.label)}, style={_DOT_STYLES[edge.style]}"
        lines.append(f"  n{number[edge.source]} -> n{number[edge.target]} [{attributes}];")
    return "\n".join([_DOT_MARK, "digraph rules {", "  rankdir=LR;", "  node [shape=box];", *lines, "}", ""])


def _edges_of(rules: Iterable[Rule]) -> list[Edge]:
    """Return an edge for each relation of each body."""
    return [edge for rule in rules for edge in _edges(rule)]


def _svg(picture: Picture, attributes: str, inside: str) -> str:
    width, height = round(max(picture.width, 8.0 * len(_KEY))), round(picture.height) + _FOOT
    parts = [
        f'<svg {attributes} width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        inside,
        _TIP,
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *map(_arrow, picture.arrows),
        *map(_box, picture.boxes),
        f'<text x="12" y="{height - 10}" fill="#444">{_KEY}</text>',
        "</svg>",
    ]
    return "\n".join(parts)


def _arrow(arrow: Arrow) -> str:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow.points)
    x, y = arrow.label
    return (
        f'<polyline points="{line}" fill="none" stroke="black"{_STROKES[arrow.edge.style]} marker-end="url(#tip)"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" {_HALO}>{_text(arrow.edge.label)}</text>'
    )


def _box(box: Box) -> str:
    sizes = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    x, y = box.x + box.width / 2, box.y + box.height / 2 + 4
    return (
        f'<rect {sizes} rx="4" fill="white" stroke="black" stroke-width="1.4"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{_text(box.name)}</text>'
    )


def _text(text: str) -> str:
    """Return a text for XML, which has no place for control characters, escaped or not."""
    return escape(visible(text))


def _quoted(text: str) -> str:
    """Return a text as Graphviz quotes a label, in which it also reads entities of HTML."""
    return '"' + visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def _edges(rule: Rule) -> Iterator[Edge]:
    for name, words, negative in _leaves(rule.body):
        label = " of ".join(words)
        if rule.kind == RuleKind.EQUAL:
            yield Edge(name, rule.head.name, label or "equals", "less" if negative else "solid")
        else:
            yield Edge(name, rule.head.name, f"{rule.kind} {label}".rstrip(), "bound")


def _leaves(node: Expression) -> Iterator[tuple[str, list[str], bool]]:
    """Yield each stored relation, the operations above it from the outermost on, and whether it is taken away."""
    if isinstance(node, Relation):
        yield node.name, [], False
    for side, child in enumerate(node.children):
        taken = side == 1 and isinstance(node, Difference)
        own = "less" if taken else node.operation
        if len(node.children) == 1:
            own = str(node)[: -len(str(child)) - 2]  # with its positions, without its operand and the brackets around it
        for name, words, negative in _leaves(child):
            yield name, [own, *words], negative != taken
