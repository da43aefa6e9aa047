"""The graph of rules as text that other programs draw: relations are boxes, arrows lead from those of a body to its head."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from relatum.algebra import Difference, Expression, Relation
from relatum.errors import RelatumError
from relatum.files import require_own, write_bytes
from relatum.formatting import visible
from relatum.rules import Rule, RuleKind

_DOT_STYLES = {"equal": "solid", "less": "dashed", "bound": "dotted"}
_MERMAID_ARROWS = {"equal": "-->", "less": "--x", "bound": "-.->"}
_DOT_MARK, _MERMAID_MARK = "// relatum rules", "%% relatum rules"  # how drawings begin


class _Edge(NamedTuple):
    """From a relation of a body to the head: a line for an equality, another for what is taken away or only bounds it."""

    source: str
    target: str
    label: str
    style: str


def draw_rules(rules: Iterable[Rule], path: str | os.PathLike[str]) -> None:
    """Write the graph of rules into a file: as text for Mermaid if it ends in .mmd, for Graphviz if in .dot."""
    drawn = drawing_for(path)(rules).encode()
    write_bytes(Path(path), drawn)


def drawing_for(path: str | os.PathLike[str]) -> Callable[[Iterable[Rule]], str]:
    """Return what draws rules for a file of this name; one that ends otherwise, or is no such drawing yet, is refused."""
    forms: dict[str, tuple[Callable[[Iterable[Rule]], str], str]] = {
        ".mmd": (rules_mermaid, _MERMAID_MARK),
        ".dot": (rules_dot, _DOT_MARK),
    }
    if (suffix := Path(path).suffix.lower()) not in forms:
        raise RelatumError(
            "unknown-drawing", "rules are drawn as text for Mermaid (.mmd) or for Graphviz (.dot)", place=path
        )
    draw, mark = forms[suffix]
    require_own(Path(path), mark)
    return draw


def rules_mermaid(rules: Iterable[Rule]) -> str:
    """Return the graph of rules as text for Mermaid, which many pages and editors draw."""
    boxes, edges = _graph(rules)
    lines = [f'  n{number}["{_mermaid_text(name)}"]' for name, number in boxes.items()]
    lines += [
        f'  n{boxes[one.source]} {_MERMAID_ARROWS[one.style]}|"{_mermaid_text(one.label)}"| n{boxes[one.target]}'
        for one in edges
    ]
    return "\n".join([_MERMAID_MARK, "flowchart LR", *lines, ""])


def rules_dot(rules: Iterable[Rule]) -> str:
    """Return the graph of rules as text for Graphviz."""
    boxes, edges = _graph(rules)
    lines = [f"  n{number} [label={_dot_text(name)}];" for name, number in boxes.items()]
    lines += [
        f"  n{boxes[one.source]} -> n{boxes[one.target]} [label={_dot_text(one.label)}, style={_DOT_STYLES[one.style]}];"
        for one in edges
    ]
    return "\n".join([_DOT_MARK, "digraph rules {", "  rankdir=LR;", "  node [shape=box];", *lines, "}", ""])


def _mermaid_text(text: str) -> str:
    """Return a text for between quotes; what could be syntax, Markdown or HTML is written by its number."""
    return re.sub(r"[^\w \[\],]", lambda sign: f"#{ord(sign[0])};", visible(text))


def _dot_text(text: str) -> str:
    """Return a text as Graphviz quotes a label, in which it also reads entities of HTML."""
    return '"' + visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def _graph(rules: Iterable[Rule]) -> tuple[dict[str, int], list[_Edge]]:
    """Return the number of each relation's box, and an edge for each relation of each body."""
    edges = [edge for rule in rules for edge in _edges(rule)]
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    return {name: number for number, name in enumerate(names)}, edges


def _edges(rule: Rule) -> Iterator[_Edge]:
    for name, words, negative in _leaves(rule.body):
        label = " of ".join(words)
        if rule.kind == RuleKind.EQUAL:
            yield _Edge(name, rule.head.name, label or "equals", "less" if negative else "equal")
        else:
            yield _Edge(name, rule.head.name, f"{rule.kind} {label}".rstrip(), "bound")


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
