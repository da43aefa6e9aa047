"""Rules told to a person: their text and Datalog, examples, predictions, and the picture."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from relatum import Hypergraph
from relatum.algebra import Relation, evaluate, parse, parse_datalog
from relatum.errors import DataError, RelatumError
from relatum.reasoning.rules import Kind, Rule, examples, find_rules, predictions
from relatum.report.layers import Layers
from relatum.report.layout import Edge, arrange
from relatum.report.rule_graph import draw_rules

GRAPH = Hypergraph.of(
    [
        ("sold", "drew", "alex", "book"),
        ("sold", "drew", "sam", "coffee"),
        ("sold", "alex", "sam", "book"),
        ("bought", "alex", "drew", "book"),
        ("bought", "sam", "drew", "coffee"),
        ("bought", "kim", "sam", "tea"),
        ("knows", "drew", "alex"),
    ]
)


def rule(text: str, kind: Kind = Kind.EQUAL, head: str = "bought") -> Rule:
    return Rule(GRAPH.schema[head], parse(text, GRAPH.schema), kind, 2, 2 / 3, 2 / 3, 1.5)


BOUGHT = rule("rename[1, 0, 2](sold)")


def test_a_rule_reads_as_algebra_and_as_datalog() -> None:
    assert str(BOUGHT) == "bought = rename[1, 0, 2](sold)"
    assert BOUGHT.told == str(BOUGHT)  # no roles are known
    assert BOUGHT.datalog == "bought(X, Y, Z) <- sold(Y, X, Z)"
    read = parse_datalog(BOUGHT.datalog, GRAPH.schema)
    assert list(evaluate(read, GRAPH)) == list(evaluate(BOUGHT.body, GRAPH))
    assert BOUGHT.to_json()["rule"] == str(BOUGHT)
    assert BOUGHT.to_json()["kind"] == "equal"


def test_a_bound_is_read_from_the_head_to_the_body() -> None:
    bound = rule("project[0, 1](sold)", Kind.WITHIN, "knows")
    assert str(bound) == "knows within project[0, 1](sold)"
    assert bound.datalog == "knows(X, Y) -> sold(X, Y, Z)"
    with pytest.raises(DataError, match="only a body of one relation"):
        _ = rule("union(sold, sold)", Kind.WITHIN).datalog


def test_examples_are_those_of_the_three_parts() -> None:
    found = examples(BOUGHT, GRAPH)
    assert found.both == [("alex", "drew", "book"), ("sam", "drew", "coffee")]
    assert found.only_body == [("sam", "alex", "book")]
    assert found.only_head == [("kim", "sam", "tea")]
    assert len(examples(BOUGHT, GRAPH, most=1).both) == 1


def test_predictions_are_what_the_head_lacks() -> None:
    assert list(predictions(BOUGHT, GRAPH)) == [("sam", "alex", "book")]
    assert list(predictions(replace(BOUGHT, kind=Kind.CONTAINS), GRAPH)) == [("sam", "alex", "book")]
    with pytest.raises(DataError, match="predicts no tuple"):
        predictions(replace(BOUGHT, kind=Kind.WITHIN), GRAPH)


def words(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter() if element.tag.endswith("text")]  # noqa: S314


def test_a_picture_names_relations_and_operations(tmp_path: Path) -> None:
    rules = [
        BOUGHT,
        rule("difference(project[0, 1](sold), rename[1, 0](knows))", head="knows"),
        rule("where[2 = book](sold)", Kind.CONTAINS, "knows"),
    ]
    draw_rules(rules, tmp_path / "rules.svg")
    said = words(tmp_path / "rules.svg")
    for word in ("bought", "sold", "knows", "rename[1, 0, 2]", "difference of project[0, 1]", "less of rename[1, 0]"):
        assert word in said, word
    assert "contains where[2 = book]" in said
    first = (tmp_path / "rules.svg").read_bytes()
    draw_rules(rules, tmp_path / "rules.svg")
    assert (tmp_path / "rules.svg").read_bytes() == first


def test_no_rules_are_an_empty_picture(tmp_path: Path) -> None:
    draw_rules([], tmp_path / "none.svg")
    assert len(words(tmp_path / "none.svg")) == 1  # the key


def test_names_with_signs_of_the_format_are_escaped(tmp_path: Path) -> None:
    graph = Hypergraph.of([("a<b>&", "x", "y"), ("c", "y", "x")])
    body = Relation(graph.schema["a<b>&"]).rename(1, 0)
    draw_rules([Rule(graph.schema["c"], body, Kind.EQUAL, 1, 1.0, 1.0, 1.0)], tmp_path / "odd.svg")
    assert "a<b>&" in words(tmp_path / "odd.svg")


def test_a_picture_can_be_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_rules([BOUGHT], tmp_path / "rules.png")
    first = (tmp_path / "rules.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    draw_rules([BOUGHT], tmp_path / "rules.png")
    assert (tmp_path / "rules.png").read_bytes() == first


def test_a_png_without_matplotlib_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # what importing a missing module finds
    with pytest.raises(RelatumError, match="matplotlib, which is not installed"):
        draw_rules([BOUGHT], tmp_path / "rules.png")
    assert not list(tmp_path.iterdir())


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RelatumError, match=r"drawn as \.svg or \.png"):
        draw_rules([BOUGHT], tmp_path / "rules.pdf")
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


def test_found_rules_can_be_drawn(tmp_path: Path) -> None:
    chance = random.Random(0)
    pairs = {(str(chance.randrange(30)), str(chance.randrange(30))) for _ in range(120)}
    graph = Hypergraph.of([("a", *pair) for pair in sorted(pairs)] + [("b", *pair[::-1]) for pair in sorted(pairs)])
    found = find_rules(graph)
    draw_rules(found, tmp_path / "found.svg")
    assert {"a", "b", "rename[1, 0]"} <= set(words(tmp_path / "found.svg"))
