"""Where new entities start: at the weighted mean of known ones in the same company, by a loop over facts."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch

import relatum.training.fold_in as company
from relatum import Hypergraph
from relatum.models import MODELS
from relatum.models.base import Parameters
from relatum.training.fold_in import init_new_entities
from support.made_models import made_case

FACTS = [
    ("likes", "ann", "tea"),
    ("likes", "bob", "tea"),
    ("likes", "cat", "cake"),
    ("likes", "new", "tea"),
    ("likes", "new", "cake"),
    ("serves", "inn", "tea", "noon"),
    ("serves", "bar", "tea", "night"),
    ("serves", "pub", "tea", "noon"),
    ("serves", "hut", "pie", "noon"),
    ("odd", "twin", "lonely"),
    ("odd", "ann", "bob"),
    ("rare", "alone"),
]


@pytest.fixture(autouse=True)
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company, "_NOISE", 0.0)


def rows_of(name: str, new: list[str], facts: list[tuple[str, ...]] = FACTS) -> tuple[Hypergraph, Parameters, Parameters]:
    graph = Hypergraph.of(facts)
    case = made_case(name, graph)
    before = case.parameters()
    chosen = np.sort(graph.entities.ids(new)).astype(np.int64)
    before["entities"][torch.from_numpy(chosen)] = torch.nan  # nobody may look at these
    return graph, before, init_new_entities(case.model, before, graph, chosen, seed=0)


def by_hand(graph: Hypergraph, entities: torch.Tensor, name: str, new: set[str]) -> torch.Tensor:
    keep: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for relation, *fact in graph:
        for position, entity in enumerate(fact):
            for place, other in enumerate(fact):
                if place != position:
                    keep[relation, position, place, other].add(entity)
    shares: dict[str, float] = defaultdict(float)
    for company_of in keep.values():
        known = company_of - new
        if name in company_of and known:
            for entity in known:
                shares[entity] += 1 / len(known)
    total = sum(share**2 for share in shares.values())
    return sum(share**2 / total * entities[graph.entities.id(entity)] for entity, share in shares.items())  # type: ignore[return-value]


@pytest.mark.parametrize("name", MODELS)
def test_an_entity_starts_between_those_in_its_company(name: str) -> None:
    new = {"new", "inn", "tea"}
    graph, before, after = rows_of(name, sorted(new))
    for entity in ("new", "inn"):
        expected = by_hand(graph, before["entities"], entity, new)
        assert torch.allclose(after["entities"][graph.entities.id(entity)], expected, atol=1e-5), entity


def test_without_company_places_tell_and_without_these_the_mean_of_all() -> None:
    graph, before, after = rows_of("reale", ["lonely", "twin", "alone"])
    rows, ids = before["entities"], graph.entities.ids
    assert torch.allclose(after["entities"][graph.entities.id("twin")], rows[ids(["ann"])][0])
    assert torch.allclose(after["entities"][graph.entities.id("lonely")], rows[ids(["bob"])][0])
    known = [name for name in graph.entities if name not in ("lonely", "twin", "alone")]
    assert torch.allclose(after["entities"][graph.entities.id("alone")], rows[ids(known)].mean(0), atol=1e-6)


def test_nothing_but_the_rows_of_new_entities_differs() -> None:
    graph, before, after = rows_of("m-cp", ["new", "tea"])
    others = [number for number, name in enumerate(graph.entities) if name not in ("new", "tea")]
    assert torch.equal(after["entities"][others], before["entities"][others])
    assert after["relations"] is before["relations"]
    assert torch.isfinite(after["entities"]).all()


def test_company_that_very_many_keep_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company, "_MANY", 1)
    graph, before, after = rows_of("reale", ["new"])  # tea is liked by two, cake by one
    assert torch.allclose(after["entities"][graph.entities.id("new")], before["entities"][graph.entities.id("cat")])


def test_noise_parts_what_would_start_alike_and_follows_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company, "_NOISE", 0.1)
    facts = [*FACTS, ("likes", "new2", "tea"), ("likes", "new2", "cake")]
    graph, _, first = rows_of("reale", ["new", "new2"], facts)
    _, _, again = rows_of("reale", ["new", "new2"], facts)
    one, two = (first["entities"][graph.entities.id(name)] for name in ("new", "new2"))
    assert not torch.equal(one, two)
    assert torch.equal(first["entities"], again["entities"])
