"""Rules as a picture: relations are boxes, and arrows lead from those of a body to its head."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from relatum.algebra import Difference, Expression, Relation
from relatum.errors import RelatumError
from relatum.files import atomic_file
from relatum.reasoning.rules.rule import Kind, Rule
from relatum.report.layout import Edge, Picture, arrange
from relatum.report.rendering import png, svg

__all__ = ["draw_rules", "rules_svg"]


def draw_rules(rules: Iterable[Rule], path: str | os.PathLike[str]) -> None:
    """Draw rules as an SVG or, where matplotlib is installed, a PNG file, in black and white.

    An arrow leads from each relation of a body to the head, labelled by what happens to it on the way; a line for an
    equality, with dashes for what a difference takes away, dots for what only bounds the head.
    """
    target = Path(path)
    forms: dict[str, Callable[[Picture], bytes]] = {".svg": svg, ".png": png}
    if target.suffix.lower() not in forms:
        raise RelatumError(f"{target}: rules are drawn as {' or '.join(forms)}")
    drawn = forms[target.suffix.lower()](_arranged(rules))
    with atomic_file(target) as file:
        file.write(drawn)


def rules_svg(rules: Iterable[Rule]) -> str:
    """Return the drawing of rules as the text of an SVG image."""
    return svg(_arranged(rules)).decode()


def _arranged(rules: Iterable[Rule]) -> Picture:
    return arrange([edge for rule in rules for edge in _edges(rule)])


def _edges(rule: Rule) -> Iterator[Edge]:
    for name, words, negative in _leaves(rule.body):
        label = " of ".join(words)
        if rule.kind == Kind.EQUAL:
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
