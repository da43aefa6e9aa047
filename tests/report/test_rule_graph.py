"""The graph of rules as text: what it says for Mermaid and for Graphviz, and that no name can say anything else there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum import Hypergraph
from relatum.algebra import Relation
from relatum.data.vocabulary import fault_of
from relatum.formatting import visible
from relatum.report.rule_graph import draw_rules, rules_dot, rules_mermaid
from relatum.rules import Rule, RuleKind
from support.mistakes import mistake
from support.shop_rules import rule

BOUGHT = rule("permute[1, 0, 2](sold)")
RULES = [
    BOUGHT,
    rule("difference(project[0, 1](sold), permute[1, 0](knows))", head="knows"),
    rule("select[2 = book](sold)", RuleKind.CONTAINS, "knows"),
]
MARKS = {"mmd": "%% relatum rules\nflowchart LR\n", "dot": "// relatum rules\ndigraph rules {\n"}


def test_text_for_mermaid_names_relations_and_operations() -> None:
    assert rules_mermaid(RULES).splitlines() == [
        "%% relatum rules",
        "flowchart LR",
        '  n0["sold"]',
        '  n1["bought"]',
        '  n2["knows"]',
        '  n0 -->|"permute[1, 0, 2]"| n1',
        '  n0 -->|"difference of project[0, 1]"| n2',
        '  n2 --x|"less of permute[1, 0]"| n2',
        '  n0 -.->|"contains select[2 #61; book]"| n2',
    ]


def test_text_for_graphviz_says_the_same() -> None:
    assert rules_dot(RULES).splitlines()[4:-1] == [
        '  n0 [label="sold"];',
        '  n1 [label="bought"];',
        '  n2 [label="knows"];',
        '  n0 -> n1 [label="permute[1, 0, 2]", style=solid];',
        '  n0 -> n2 [label="difference of project[0, 1]", style=solid];',
        '  n2 -> n2 [label="less of permute[1, 0]", style=dashed];',
        '  n0 -> n2 [label="contains select[2 = book]", style=dotted];',
    ]
    if (dot := shutil.which("dot")) is not None:
        subprocess.run([dot, "-Tsvg"], input=rules_dot(RULES).encode(), capture_output=True, check=True)


# Names that end quotations, begin comments, links, lists or elements, or do something to a terminal; and any others.
HOSTILE = ['"; } evil [x="', '"] click n0 "', "back\\", "\\N", "%%{init: {}}%%", "1. a", "`*a*`", "a#35;", "&lt;<b>", "end"]
ANY = st.text(min_size=1, max_size=12).filter(lambda name: not fault_of(name) and not name.startswith("#"))
NAMES = st.lists(st.sampled_from(HOSTILE) | ANY, min_size=1, max_size=6, unique=True)


@given(NAMES)
def test_a_name_is_one_label_and_nothing_else(names: list[str]) -> None:
    graph = Hypergraph.of([(name, "x", "y") for name in [*names, "head"]])
    bodies = [Relation(graph.schema[name]).permute(1, 0) for name in names]
    rules = [Rule(graph.schema["head"], body, RuleKind.EQUAL, 1, 1.0, 1.0, 1.0) for body in bodies]
    expected = dict.fromkeys(name for one in rules for name in (one.relations[0].name, "head"))

    lines = rules_mermaid(rules).splitlines()
    boxes, arrows = lines[2 : 2 + len(expected)], lines[2 + len(expected) :]
    labels = [re.fullmatch(r'  n\d+\["((?:[\w \[\],]|#\d+;)*)"\]', line) for line in boxes]
    said = [re.sub(r"#(\d+);", lambda sign: chr(int(sign[1])), one[1]) for one in labels if one]
    assert said == [visible(name) for name in expected]
    assert all(re.fullmatch(r'  n\d+ -->\|"permute\[1, 0\]"\| n\d+', line) for line in arrows)
    assert len(arrows) == len(rules)

    *lines, last = rules_dot(rules).splitlines()[4:]
    boxes, arrows = lines[: len(expected)], lines[len(expected) :]
    labels = [re.fullmatch(r'  n\d+ \[label="((?:[^"\\]|\\["\\])*)"\];', line) for line in boxes]
    said = [re.sub(r"\\(.)", r"\1", one[1]).replace("&amp;", "&") for one in labels if one]
    assert said == [visible(name) for name in expected]
    assert all(re.fullmatch(r'  n\d+ -> n\d+ \[label="permute\[1, 0\]", style=solid\];', line) for line in arrows)
    assert (len(arrows), last) == (len(rules), "}")


@pytest.mark.parametrize("name", ["rules.svg", "rules.png", "rules"])
def test_other_formats_are_refused(name: str, tmp_path: Path) -> None:
    with mistake("unknown-drawing"):
        draw_rules([BOUGHT], tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["mmd", "dot"])
def test_only_drawings_of_rules_are_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"rules.{kind}"
    for rules in ([], RULES):
        draw_rules(rules, path)
        assert path.read_text().startswith(MARKS[kind])
    path.write_text("mine")
    with mistake("not-ours"):
        draw_rules(RULES, path)
    assert path.read_text() == "mine"
