"""The layout around an entity: everything is drawn, nothing twice on a side, and nothing on top of another."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from relatum.serving.neighbourhood import Layout, arrange_narrow, arrange_wide
from support.sample_facts import entity, fact

CENTRE = entity("c")
names = st.sampled_from([f"e{number}" for number in range(12)])
others = st.lists(names, max_size=4, unique=True)
facts_around = st.lists(
    st.builds(
        lambda relation, found, at: fact(relation, *found[:at], "c", *found[at:], roles=tuple("abcde"[: len(found) + 1])),
        st.sampled_from(["r", "s", "t"]),
        others,
        st.integers(0, 4),
    ),
    max_size=16,
    unique_by=lambda one: one.text,
)


@given(facts_around)
def test_every_fact_has_a_hub_with_a_spoke_for_each_of_its_entities(facts: list) -> None:
    for layout in (arrange_wide(CENTRE, facts), arrange_narrow(CENTRE, facts)):
        assert sorted(hub.fact.text for hub in layout.hubs) == sorted(one.text for one in facts)
        for hub in layout.hubs:
            own = [spoke for spoke in layout.spokes if spoke.hub is hub]
            ends = ["c" if spoke.end is None else spoke.end.entity.name for spoke in own]
            assert list(zip(ends, (spoke.role for spoke in own), strict=True)) == [
                (one.name, role) for one, role in zip(hub.fact.entities, hub.fact.roles, strict=True)
            ]


@given(facts_around)
def test_nothing_is_drawn_on_top_of_another(facts: list) -> None:
    for layout in (arrange_wide(CENTRE, facts), arrange_narrow(CENTRE, facts)):
        for column in (layout.hubs, layout.nodes):
            apart = [abs(one.y - two.y) for one, two in combinations(column, 2) if one.x == two.x]
            assert all(distance >= 24.9 for distance in apart)
        ys = [one.y for one in (*layout.hubs, *layout.nodes)]
        assert all(0 < y < layout.height for y in ys)


@given(facts_around)
def test_no_spokes_cross(facts: list) -> None:
    layout = arrange_wide(CENTRE, facts)
    assert crossings(layout) == 0
    assert all(spoke.end is None or spoke.end.side == spoke.hub.side for spoke in layout.spokes)


def test_facts_that_share_an_entity_stand_together_and_it_is_drawn_once() -> None:
    pairs = [fact("r", "c", f"e{number}") for number in range(4)] + [fact("s", f"e{number}", "c") for number in range(4)]
    layout = arrange_wide(CENTRE, pairs)
    assert sorted(node.entity.name for node in layout.nodes) == ["e0", "e1", "e2", "e3"]
    chain = [fact("r", "c", f"e{left}", f"e{left + 1}") for left in range(5)]
    assert len(arrange_wide(CENTRE, chain).nodes) == 7  # six, and the one that both sides have


def crossings(layout: Layout) -> int:
    """Return how many spokes between hubs and nodes cross."""
    ends = [(spoke.hub, spoke.end) for spoke in layout.spokes if spoke.end is not None]
    return sum(
        one[0].side == two[0].side and (one[0].y - two[0].y) * (one[1].y - two[1].y) < 0
        for one, two in combinations(ends, 2)
    )
