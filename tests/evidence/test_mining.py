"""Mining finds what made facts follow, judges it without the fact itself, and is the same each time."""

from __future__ import annotations

import itertools

import numpy as np

from relatum import Hypergraph
from relatum.evidence.facts import FactStore
from relatum.evidence.mining import Matches, Paths, Values, condition, matching_rule, mine
from relatum.evidence.soft_rule import ANY, Atom, SoftRule

ALONE = Hypergraph.of([("likes", f"a{n}", f"b{n}") for n in range(50)])  # each entity once: nothing else is known of it


def renamed() -> Hypergraph:
    """Return facts of r, its renaming s, its projection p, and of an unrelated relation."""
    rows = np.unique(np.random.default_rng(0).integers(0, 30, (200, 3)), axis=0).tolist()
    facts = [("r", f"a{a}", f"b{b}", f"c{c}") for a, b, c in rows]
    facts += [("s", f"c{c}", f"a{a}", f"b{b}") for a, b, c in rows[::2]]
    facts += [("p", f"b{b}", f"a{a}") for a, b, _ in rows]
    facts += [("other", f"x{a}", f"y{b}") for a, b, _ in rows]
    return Hypergraph.of(facts)


GRAPH = renamed()
STORE = FactStore(GRAPH)
R, S = GRAPH.schema.id("r"), GRAPH.schema.id("s")


def texts(graph: Hypergraph, rules: list[SoftRule]) -> dict[str, SoftRule]:
    return {rule.text(graph.schema, graph.entities): rule for rule in rules}


def test_renamings_and_projections_are_found_and_nothing_where_facts_speak_for_themselves() -> None:
    rules = mine(GRAPH)
    found = texts(GRAPH, rules)
    renaming = found["s(A, B, C) <- r(B, C, A)"]
    assert renaming.right == len(GRAPH.table("s").columns[0])
    assert renaming.confidence > 0.85
    assert found["p(A, B) <- r(B, A, _)"].confidence > 0.9
    assert "r(A, B, C) <- s(C, A, B)" in found
    assert not any("other" in text and " r(" in text for text in found)
    assert {"match", "frequency"} <= {rule.template for rule in rules}
    assert rules == mine(GRAPH)
    for one, other in itertools.pairwise(rules):
        if (one.relation, one.position) == (other.relation, other.position):
            assert one.confidence >= other.confidence
    for facts in (ALONE, Hypergraph.of([("tall", "alex"), ("tall", "drew")]), Hypergraph(GRAPH.entities, GRAPH.schema, ())):
        assert mine(facts) == []


def test_pairs_that_agree_are_put_together_and_make_a_rule_for_each_of_their_positions() -> None:
    matches, match = Matches(STORE, STORE.columns).of(S, STORE.columns[S]), (R, ((0, 2), (1, 0)))
    assert match in matches
    assert (R, ((0, 2), (1, 0), (2, 1))) in matches
    assert not any(body == S and len(agreeing) == 3 for body, agreeing in matches)  # no fact matches itself
    assert condition(STORE, match) == Atom(R, (1, ANY, 0))
    assert matching_rule(STORE, S, 1, match).text(GRAPH.schema, GRAPH.entities) == "s(A, B, C) <- r(B, _, A)"


def test_two_facts_that_one_entity_joins_lead_to_the_answer() -> None:
    rows = [(n, n % 17, (3 * (n % 17) + 5) % 7) for n in range(80)]
    graph = Hypergraph.of(
        [("born", f"p{p}", f"city{c}", f"year{p % 9}") for p, c, _ in rows]
        + [("lies", f"land{s}", f"city{c}") for _, c, s in rows]
        + [("national", f"p{p}", f"land{s}") for p, _, s in rows[::2]]
    )
    store, national = FactStore(graph), graph.schema.id("national")

    def rules(position: int) -> dict[str, SoftRule]:
        return texts(graph, Paths(store, store.columns, np.random.default_rng(0)).rules(national, position))

    assert rules(1)["national(A, B) <- born(A, Z, _), lies(B, Z)"].confidence > 0.9
    assert "national(A, B) <- lies(B, Z), born(A, Z, _)" in rules(0)
    assert rules(0) == rules(0)
    alone = FactStore(ALONE)  # no path leads through the fact itself
    assert not Paths(alone, alone.columns, np.random.default_rng(0)).rules(0, 1)


def test_values_are_named_where_a_condition_holds_and_frequent_ones_whatever_is_given() -> None:
    """Players all live in Rome; what is sent comes back to some senders; what is late is tardy, too."""
    rng = np.random.default_rng(0)
    facts = [("lives", f"p{n}", "rome" if n < 40 else f"town{rng.integers(20)}") for n in range(100)]
    facts += [("plays", f"p{n}", f"team{n % 4}") for n in range(40)]
    rows = [(int(a), int(b)) for a, b in np.unique(rng.integers(0, 20, (80, 2)), axis=0)]
    facts += [("sent", f"x{a}", f"y{b}", f"x{a}" if (a + b) % 2 else f"x{(a + 3) % 20}") for a, b in rows]
    facts += [("returned", f"x{a}", f"y{b}") for a, b in rows if (a + b) % 2]
    facts += [("late", f"x{a}", f"y{b}", "very") for a, b in rows[::2]] + [("late", "x0", f"y{n}", "not") for n in range(20)]
    facts += [("tardy", f"x{a}", f"y{b}") for a, b in rows[::2]]
    graph = Hypergraph.of(facts)
    store, lives = FactStore(graph), graph.schema.id("lives")
    values, matches = Values(store, store.columns), Matches(store, store.columns)

    def rules(name: str, position: int) -> dict[str, SoftRule]:
        relation = graph.schema.id(name)
        every = matches.of(relation, store.columns[relation])
        return texts(graph, values.rules(relation, position, [one for one in every if position not in dict(one[1])]))

    known = rules("lives", 1)["lives(A, rome) <- plays(A, _)"]
    assert known.confidence > 0.9
    assert known.right == known.named == 40
    assert rules("late", 2)["late(A, B, very) <- tardy(A, B)"].confidence > 0.7
    assert rules("sent", 2)["sent(A, B, A) <- returned(A, B)"].confidence > 0.9
    found = sorted(values.frequent(lives, 1), key=lambda rule: -rule.confidence)
    assert found[0].text(graph.schema, graph.entities) == "lives(A, rome) <- lives(_, rome)"
    assert not values.frequent(lives, 0)  # nobody lives in two towns
