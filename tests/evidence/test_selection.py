"""Of rules that say the same one is told, and conditions that add nothing are left out."""

from __future__ import annotations

from dataclasses import replace

import relatum
from relatum.evidence.selection import notable_rules
from relatum.evidence.soft_rule import SoftRule

PLAIN = SoftRule(0, 1, 1, 0, ((2, 1),), (50, 0, 0, 0), (100, 0, 0, 0))


def test_the_same_positions_are_told_once_by_the_most_confident_rule() -> None:
    other = SoftRule(0, 2, 1, 1, ((1, 0),), (60, 0, 0, 0), (80, 0, 0, 0))
    assert notable_rules([PLAIN, other]) == [other]


def test_more_conditions_are_told_where_they_make_a_rule_more_confident() -> None:
    narrow = replace(PLAIN, given=((2, 1), (0, 2)))
    assert notable_rules([PLAIN, narrow]) == [PLAIN]
    better = replace(narrow, rights=(48, 0, 0, 0), nameds=(50, 0, 0, 0))
    assert notable_rules([PLAIN, better]) == [better, PLAIN]


def test_what_is_right_most_often_and_most_surely_comes_first() -> None:
    often = replace(PLAIN, body=2, rights=(500, 0, 0, 0), nameds=(1000, 0, 0, 0))
    assert notable_rules([PLAIN, often]) == [often, PLAIN]


def test_a_run_tells_its_soft_rules() -> None:
    run = relatum.fit("example", dim=10, epochs=1, progress=False)
    rules = run.soft_rules(k=3)
    assert len(rules) == 3
    assert all(" <- " in one.rule and one.right <= one.named for one in rules)
    assert all(one.rule.startswith("sold(") for one in run.soft_rules("sold"))
