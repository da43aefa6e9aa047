"""Rules that are found: each operation on made relations, near misses that are none, odd data, and a made dataset."""

from __future__ import annotations

import random

import numpy as np
import pytest

from relatum import Hypergraph, RelationSchema
from relatum.algebra import evaluate, parse
from relatum.rules import Rule, RuleKind, mine_rules
from relatum.synth.dataset import synthesize
from relatum.synth.settings import find_preset
from support.mistakes import mistake

Facts = set[tuple[str, ...]]
NAMES = [f"n{number:02}" for number in range(60)]


def drawn(count: int, arity: int, seed: int) -> Facts:
    chance = random.Random(seed)
    found: Facts = set()
    while len(found) < count:
        found.add(tuple(chance.choices(NAMES, k=arity)))
    return found


def seen(facts: Facts, share: float, seed: int) -> Facts:
    return set(random.Random(seed).sample(sorted(facts), round(share * len(facts))))


def graph_of(share: float = 1.0, **relations: Facts) -> Hypergraph:
    parts = [(name, seen(facts, share, seed)) for seed, (name, facts) in enumerate(sorted(relations.items()))]
    return Hypergraph.of([(name, *fact) for name, facts in parts for fact in sorted(facts)])


def rules_of(graph: Hypergraph, head: str, **settings: float) -> list[Rule]:
    return [rule for rule in mine_rules(graph, **settings) if rule.head.name == head]  # type: ignore[arg-type]


def names(rule: Rule) -> list[str]:
    return [relation.name for relation in rule.relations]


A = drawn(200, 3, 1)
B = set(sorted(A)[:100]) | drawn(100, 3, 2)  # half of A, and as much of its own
LESS_RANDOM = {(x, y, f"k{number % 4}") for number, (x, y, _) in enumerate(sorted(A))}
WIDE = drawn(100, 13, 5)  # 60 names in 13 columns: 77 bits, more than a machine word

CASES = {
    "t = permute[2, 0, 1](a)": ({(z, x, y) for x, y, z in A}, {"a": A}),
    "t = a": (A, {"a": A}),
    "t = project[2, 0](a)": ({(z, x) for x, _, z in A}, {"a": A}),
    "t = project[1](a)": ({(y,) for _, y, _ in A}, {"a": A}),
    "t = select[2 = k1](a)": ({(x, y) for x, y, z in LESS_RANDOM if z == "k1"}, {"a": LESS_RANDOM}),
    "t = select_equal[1, 0](a)": (
        {(x, z) for x, y, z in A if x == y} | {(x, z) for x, _, z in B},
        {"a": A | {(x, x, z) for x, _, z in B}},
    ),
    "t = union(a, b)": (A | B, {"a": A, "b": B}),
    "t = union(a, permute[1, 0, 2](b))": (A | {(y, x, z) for x, y, z in B}, {"a": A, "b": B}),
    "t = difference(a, b)": (A - B, {"a": A, "b": B}),
    "t = difference(project[0, 1](a), project[0, 1](b))": (
        {(x, y) for x, y, _ in A} - {(x, y) for x, y, _ in B},
        {"a": A, "b": B},
    ),
    "t = permute[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0](a)": ({fact[::-1] for fact in WIDE}, {"a": WIDE}),
    "t = permute[1, 0](select[2 = k1](a))": ({(y, x) for x, y, z in LESS_RANDOM if z == "k1"}, {"a": LESS_RANDOM}),
}


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("text", CASES)
def test_each_operation_is_found(text: str, share: float) -> None:
    head, others = CASES[text]
    truth = graph_of(t=head, **others)
    found = mine_rules(graph_of(share, t=head, **others), observed=share)
    wanted = parse(text.removeprefix("t = "), truth.schema)
    (rule,) = (rule for rule in found if rule.kind == RuleKind.EQUAL and "t" in (rule.head.name, *names(rule)))
    if rule.head.name == "t":
        assert set(evaluate(rule.body, truth)) == set(evaluate(wanted, truth)) == head, rule
        assert rule.body.depth <= wanted.depth
    else:  # a renaming may be said of either relation
        assert set(evaluate(rule.body, truth)) == others[rule.head.name], rule


def test_the_text_and_the_counts_of_a_rule_are_those_of_its_tuples() -> None:
    graph = graph_of(0.8, t=A - B, a=A, b=B)
    (rule,) = rules_of(graph, "t", observed=0.8)
    assert str(rule) == "t = difference(a, b)"
    head, body = set(graph.table("t")), set(evaluate(rule.body, graph))
    assert rule.support == len(head & body)
    assert (rule.confidence, rule.coverage) == pytest.approx((rule.support / len(body), rule.support / len(head)))
    (part,) = mine_rules(graph_of(0.8, t=set(sorted(A)[::2]), a=A), observed=0.8)
    assert str(part) == "t within a"


def test_chance_half_of_two_relations_and_odd_data_are_no_rules() -> None:
    unrelated = graph_of(**{f"r{number}": drawn(150, 2, number) for number in range(8)})
    too_few = graph_of(a={("x", "y")}, b={("y", "x")})
    for graph in (unrelated, too_few, graph_of(a=A), Hypergraph.of([], [RelationSchema("empty", 2)])):
        assert mine_rules(graph) == []
    assert mine_rules(unrelated, observed=0.5) == mine_rules(graph_of(0.8, a=A, b=B), observed=0.8) == []
    assert mine_rules(Hypergraph.of([("a", name) for name in NAMES], [RelationSchema("empty", 1)])) == []


def test_a_difference_is_forbidden_by_one_tuple_and_renamings_are_said_once() -> None:
    right = sorted(A & B)[0]
    assert "difference" in str(rules_of(graph_of(t=A - B, a=A, b=B), "t"))
    assert "difference" not in str(rules_of(graph_of(t=(A - B) | {right}, a=A, b=B), "t"))
    turned = {(z, x, y) for x, y, z in A}
    again = {(y, z, x) for x, y, z in A}
    found = mine_rules(graph_of(0.8, a=A, b=turned, c=again), observed=0.8)
    assert len(found) == 2
    assert {rule.kind for rule in found} == {RuleKind.EQUAL}
    assert len({rule.head.name for rule in found}) == 2


def test_of_several_true_rules_the_simplest_is_said() -> None:
    graph = graph_of(0.8, t=A | B, a=A, b=B, u={(z, y, x) for x, y, z in A | B})
    found = [rule for rule in mine_rules(graph, observed=0.8) if rule.kind == RuleKind.EQUAL]
    assert sorted(str(rule.body.operation) for rule in found) == ["permute", "union"]
    wide = A | B | drawn(300, 3, 9)
    found = mine_rules(graph_of(0.8, t=set(sorted(A)[::2]), a=A, wide=wide), observed=0.8)
    assert not any({rule.head.name, *names(rule)} == {"t", "wide"} for rule in found)


@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_the_observed_share_need_not_be_given(share: float) -> None:
    relations = {f"a{number}": drawn(200, 2, number) for number in range(8)}
    renamed = {f"b{number}": {(y, x) for x, y in facts} for number, facts in enumerate(relations.values())}
    graph = graph_of(share, **relations, **renamed)
    found = mine_rules(graph)
    assert found == mine_rules(graph, observed=share)
    assert len(found) == 8


def test_the_same_facts_give_the_same_rules_of_the_heads_that_are_asked_for() -> None:
    graph = graph_of(0.8, t=A - B, a=A, b=B, c=A | B)
    shuffled = list(graph)
    random.Random(3).shuffle(shuffled)
    assert mine_rules(graph) == mine_rules(Hypergraph.of(shuffled + shuffled[:20]))
    graph = graph_of(t=A - B, a=A, b=B, c=A | B)
    found = mine_rules(graph, heads=["c"], observed=1)
    assert [str(rule) for rule in found] == ["c = union(a, b)"]
    assert found == mine_rules(graph, heads=["c", "c"], observed=0.98)  # the most that is taken to be there
    assert [str(rule) for rule in mine_rules(graph, heads=["c"])] == ["c = union(a, b)"]
    with mistake("unknown-name"):
        mine_rules(graph, heads=["d"])


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_that_cannot_be_is_refused(share: float) -> None:
    with mistake("setting-out-of-range"):
        mine_rules(graph_of(a=A), observed=share)


def test_relations_of_one_column_have_rules_too() -> None:
    left, right = {(name,) for name in NAMES[:40]}, {(name,) for name in NAMES[20:]}
    found = mine_rules(graph_of(both=left | right, left=left, right=right, only=left - right), observed=1)
    assert {"both = union(left, right)", "only = difference(left, right)"} <= {str(rule) for rule in found}


@pytest.mark.parametrize(
    ("seed", "share", "least"), [(5, 0.8, 14), (4002, 0.8, 30), (4011, 0.8, 30), (4002, 0.6, 18), (4006, 0.6, 15)]
)
def test_a_made_dataset_is_understood(seed: int, share: float, least: int) -> None:
    """Of the equalities that are found in a part of it most hold for all of it."""
    made = synthesize(find_preset("small"), seed)
    rng = np.random.default_rng(0 if seed == 5 else seed)
    found = mine_rules(Hypergraph.of([fact for fact in made.truth if rng.random() < share]))
    equal = [rule for rule in found if rule.kind == RuleKind.EQUAL]
    right = sum(set(evaluate(rule.body, made.truth)) == set(made.truth.table(rule.head.name)) for rule in equal)
    assert right >= least
    assert right >= (0.65 if share == 0.6 else 0.9 if seed == 5 else 0.85) * len(equal)
