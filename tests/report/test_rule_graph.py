"""The graph of rules: what the picture and the text for Graphviz say, whatever the names, and where boxes stand."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from relatum import Hypergraph
from relatum.algebra import Relation
from relatum.errors import RelatumError
from relatum.formatting import visible
from relatum.report.layered_layout import Edge, Layers, arrange
from relatum.report.rule_graph import draw_rules, rules_dot
from relatum.rules import Rule, RuleKind, mine_rules
from support.shop_rules import rule

BOUGHT = rule("permute[1, 0, 2](sold)")


def words(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter() if element.tag.endswith("text")]  # noqa: S314


def test_a_picture_names_relations_and_operations(tmp_path: Path) -> None:
    rules = [
        BOUGHT,
        rule("difference(project[0, 1](sold), permute[1, 0](knows))", head="knows"),
        rule("select[2 = book](sold)", RuleKind.CONTAINS, "knows"),
    ]
    draw_rules(rules, tmp_path / "rules.svg")
    said = words(tmp_path / "rules.svg")
    for word in ("bought", "sold", "knows", "permute[1, 0, 2]", "difference of project[0, 1]", "less of permute[1, 0]"):
        assert word in said, word
    assert "contains select[2 = book]" in said
    first = (tmp_path / "rules.svg").read_bytes()
    draw_rules(rules, tmp_path / "rules.svg")
    assert (tmp_path / "rules.svg").read_bytes() == first


def test_no_rules_are_an_empty_picture(tmp_path: Path) -> None:
    draw_rules([], tmp_path / "none.svg")
    assert len(words(tmp_path / "none.svg")) == 1  # the key


def test_names_with_signs_of_the_format_are_escaped(tmp_path: Path) -> None:
    graph = Hypergraph.of([("a<b>&", "x", "y"), ("c", "y", "x")])
    body = Relation(graph.schema["a<b>&"]).permute(1, 0)
    draw_rules([Rule(graph.schema["c"], body, RuleKind.EQUAL, 1, 1.0, 1.0, 1.0)], tmp_path / "odd.svg")
    assert "a<b>&" in words(tmp_path / "odd.svg")


@pytest.mark.parametrize("kind", ["svg", "dot"])
def test_any_name_can_be_drawn(kind: str, tmp_path: Path) -> None:
    names = [
        "\x01\x07\x1b[31m",
        "\x7f\x85\u202e\uffff",
        '"; } evil [x="',
        "back\\",
        "\\N",
        "$\\frac{$",
        "&lt;<b>",
        "]]>",
        "line--",
    ]
    graph = Hypergraph.of([(name, "x", "y") for name in names] + [("c", "y", "x")])
    rules = [
        Rule(graph.schema["c"], Relation(graph.schema[name]).permute(1, 0), RuleKind.EQUAL, 1, 1.0, 1.0, 1.0)
        for name in names
    ]
    draw_rules(rules, tmp_path / f"odd.{kind}")
    text = (tmp_path / f"odd.{kind}").read_bytes().decode()
    assert not set("\x01\x07\x1b\x7f\x85\u202e\uffff") & set(text)
    if kind == "svg":
        assert {visible(name) for name in names} <= set(words(tmp_path / "odd.svg"))
        return
    label = r'"(?:[^"\\]|\\.)*"'  # a quotation that nothing inside can end
    lines = text.splitlines()
    assert lines[:4] == ["// relatum rules", "digraph rules {", "  rankdir=LR;", "  node [shape=box];"]
    assert lines[-1] == "}"
    boxes = [line for line in lines if re.fullmatch(rf"  n\d+ \[label={label}\];", line)]
    arrows = [line for line in lines if re.fullmatch(rf"  n\d+ -> n\d+ \[label={label}, style=solid\];", line)]
    assert (len(boxes), len(arrows)) == (len(names) + 1, len(names))
    assert len(lines) == 5 + len(boxes) + len(arrows)


def test_text_for_graphviz_says_what_the_picture_says() -> None:
    rules = [BOUGHT, rule("difference(project[0, 1](sold), permute[1, 0](knows))", head="knows")]
    assert rules_dot(rules).splitlines()[4:-1] == [
        '  n0 [label="sold"];',
        '  n1 [label="bought"];',
        '  n2 [label="knows"];',
        '  n0 -> n1 [label="permute[1, 0, 2]", style=solid];',
        '  n0 -> n2 [label="difference of project[0, 1]", style=solid];',
        '  n2 -> n2 [label="less of permute[1, 0]", style=dashed];',
    ]
    if (dot := shutil.which("dot")) is not None:
        subprocess.run([dot, "-Tsvg"], input=rules_dot(rules).encode(), capture_output=True, check=True)


@pytest.mark.parametrize("name", ["rules.png", "rules.pdf", "rules"])
def test_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RelatumError, match=r"drawn as \.svg or \.dot"):
        draw_rules([BOUGHT], tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(20))
def test_boxes_never_meet_and_arrows_end_at_their_boxes(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"relation {number}" for number in range(chance.randint(2, 15))]
    edges = [Edge(*chance.sample(names, 2), label="x" * chance.randint(0, 20)) for _ in range(chance.randint(1, 25))]
    picture = arrange(edges)
    boxes = {box.name: box for box in picture.boxes}
    assert set(boxes) == {name for edge in edges for name in (edge.source, edge.target)}
    assert len(picture.arrows) == len(edges)
    for box in picture.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= picture.width
        assert box.y + box.height <= picture.height
        for other in picture.boxes:
            apart = (
                other.x >= box.x + box.width or box.x >= other.x + other.width,
                other.y >= box.y + box.height or box.y >= other.y + other.height,
            )
            assert other is box or any(apart), (box, other)
    for arrow in picture.arrows:
        source, target = boxes[arrow.edge.source], boxes[arrow.edge.target]
        (x0, y0), (x1, y1) = arrow.points[0], arrow.points[-1]
        assert x0 in (source.x, source.x + source.width)
        assert x1 in (target.x, target.x + target.width)
        assert source.y <= y0 <= source.y + source.height
        assert target.y <= y1 <= target.y + target.height
        assert all(0 <= x <= picture.width for x, _ in arrow.points)


def test_links_lead_to_the_right_unless_they_go_in_a_circle() -> None:
    chain = Layers.of([("a", "b"), ("b", "c"), ("a", "c")])
    assert chain.layer == {"a": 0, "b": 1, "c": 2}
    assert chain.backward == set()
    assert len(chain.routes[2]) == 3  # it passes the layer of b
    circle = Layers.of([("a", "b"), ("b", "a"), ("b", "b")])
    assert circle.backward == {1, 2}
    assert circle.layer == {"a": 0, "b": 1}


@pytest.mark.parametrize("name", ["rules.svg", "rules.dot"])
def test_only_drawings_of_rules_are_replaced(name: str, tmp_path: Path) -> None:
    for _ in range(2):
        draw_rules([BOUGHT], tmp_path / name)
    (tmp_path / name).write_text("<svg/>")
    with pytest.raises(RelatumError, match=f"{name}: already exists, and relatum has not written it"):
        draw_rules([BOUGHT], tmp_path / name)
    assert (tmp_path / name).read_text() == "<svg/>"


def test_found_rules_can_be_drawn(tmp_path: Path) -> None:
    chance = random.Random(0)
    pairs = {(str(chance.randrange(30)), str(chance.randrange(30))) for _ in range(120)}
    graph = Hypergraph.of([("a", *pair) for pair in sorted(pairs)] + [("b", *pair[::-1]) for pair in sorted(pairs)])
    found = mine_rules(graph)
    draw_rules(found, tmp_path / "found.svg")
    assert {"a", "b", "permute[1, 0]"} <= set(words(tmp_path / "found.svg"))
