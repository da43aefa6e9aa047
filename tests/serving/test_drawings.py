"""Drawings: everything is laid out, nothing twice or on top of another; links to all, and dashes for what is predicted."""

from __future__ import annotations

from itertools import combinations
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relatum.serving.drawings import MOST_FACTS, clipped, drawn_facts, neighbourhood, probability_bar, shown_name
from relatum.serving.neighbourhood import Layout, arrange_narrow, arrange_wide
from support.sample_facts import entity, fact

HOSTILE = ['<script>alert("x")</script>', "a\x00b\x1b[31m", "\u202eevil", "]]>", "&amp;", "x" * 5000, "😀" * 40]


def drawn(centre: str, *facts: object) -> list[ElementTree.Element]:
    """Return the wide and the narrow drawing as they are parsed."""
    image = neighbourhood(entity(centre), facts, lambda name: f"/entity/{quote(name)}", lambda one: "/fact")  # type: ignore[arg-type]
    return list(ElementTree.fromstring(f"<both>{image}</both>"))  # noqa: S314 - what we wrote ourselves


def classes(image: ElementTree.Element) -> list[str]:
    return [one.get("class", "") for one in image.iter()]


def test_every_entity_and_every_fact_is_a_link_and_what_is_predicted_is_dashed() -> None:
    for image in drawn("c", fact("r", "c", "a"), fact("s", "b", "c", probability=0.7)):
        links = [(one.get("href"), one.get("aria-label")) for one in image.iter("a")]
        named = [("/entity/a", "a"), ("/entity/b", "b"), ("/fact", "70 %: s(b, c)"), ("/fact", "known: r(c, a)")]
        assert sorted(links) == named
        assert image.get("role") == "group"
        assert image.get("aria-label") == "c: 1 known and 1 predicted facts around it"
        found = classes(image)
        assert (found.count("spoke known"), found.count("spoke predicted")) == (2, 2)
        assert (found.count("hub known"), found.count("hub predicted")) == (1, 1)
        assert [one.text.strip() for one in image.iter() if one.get("class") == "sure"] == ["70 %"]


def test_roles_stand_on_the_spokes_at_the_hubs_that_give_them() -> None:
    one = fact("sold", "drew", "alex", "book", roles=("seller", "buyer", "item"))
    for image in drawn("drew", one):
        roles = [(text.text or "").strip() for text in image.iter() if text.get("class") == "role"]
        assert sorted(roles) == ["buyer", "item", "seller"]
    wide = drawn("c", fact("r", "c", "a", roles=("x", "y")), fact("s", "a", "c", roles=("p", "q")), fact("t", "c"))[0]
    roles = [text for text in wide.iter() if text.get("class") == "role"]
    assert sorted(text.text or "" for text in roles) == ["p", "q", "seller", "x", "y"]
    assert len({(text.get("x"), text.get("y")) for text in roles}) == 5
    wide = drawn("c", fact("r", "c", "a", "a", roles=("x", "y", "z")))[0]
    assert [text.text for text in wide.iter() if text.get("class") == "role"] == ["x", "y, z"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_bounded(name: str) -> None:
    for image in drawn(name, fact(name, name, f"{name} too"), fact(name, name, "b", probability=0.5)):
        tags = {one.tag for one in image.iter()}
        assert tags <= {"svg", "a", "title", "path", "rect", "circle", "text", "tspan", "g"}
        assert all(len(one.text or "") <= 80 for one in image.iter("text"))


def test_likely_predictions_are_drawn_and_no_more_facts_than_can_be_read() -> None:
    wide, narrow = drawn("c", *(fact("r", "c", f"e{number}") for number in range(50)))
    assert classes(wide).count("hub known") == classes(narrow).count("hub known") == MOST_FACTS
    known = [fact("r", "c", f"e{number}") for number in range(50)]
    new = [fact("s", "c", f"e{number}", probability=share) for number, share in enumerate((0.01, 0.9, 0.3, 0.001))]
    found = drawn_facts([*known, *new])
    assert found == [*known[: MOST_FACTS - 2], new[1], new[2]]
    assert drawn_facts(new[3:]) == new[3:]  # the likeliest, whatever it is


@pytest.mark.parametrize(("probability", "width"), [(0.5, 50), (1.0, 100), (2.0, 100), (0.0001, 2.5)])
def test_a_bar_is_as_wide_as_its_probability(probability: float, width: float) -> None:
    bar = ElementTree.fromstring(probability_bar(probability, known=True))  # noqa: S314
    assert float(bar[1].get("width", "0")) == width
    assert bar.get("aria-hidden") == "true"


def test_an_entity_is_called_by_its_label_or_without_the_prefix_of_its_type() -> None:
    assert shown_name(entity("people:drew")) == "drew"
    assert shown_name(entity("people:17", "Drew")) == "Drew"
    assert shown_name(entity("people:")) == "people:"
    assert clipped("abcdef", 4) == "abc…"


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
