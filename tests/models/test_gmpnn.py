"""Messages are the facts themselves: each entity hears, of every fact that it is in, the relation and who is where."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from relatum import Hypergraph
from relatum.models.gmpnn import Layer, Neighbourhoods
from support.made_models import made_case, made_graph

Heard = dict[int, Counter[tuple[int, ...]]]

GRAPH = made_graph(entities=20, facts=5)


def heard_in(graph: Hypergraph) -> Heard:
    """Return what each entity should hear, as (relation, position, others from there on): a plain loop over the facts."""
    found: Heard = {number: Counter() for number in range(len(graph.entities))}
    for relation, *names in set(graph):
        ids = [graph.entities.id(name) for name in names]
        for position, receiver in enumerate(ids):
            found[receiver][graph.schema.id(relation), position, *ids[position + 1 :], *ids[:position]] += 1
    return found


def heard_by(layer: Layer, before: torch.Tensor, after: torch.Tensor) -> Heard:
    found: Heard = {int(entity): Counter() for entity in after}
    for part in layer.parts:
        messages = zip(part.relations, part.positions, part.others.T, part.receivers, strict=True)
        for relation, position, others, receiver in messages:
            found[int(after[receiver])][int(relation), int(position), *before[others].tolist()] += 1
    assert layer.counts.tolist() == [sum(messages.values()) for messages in found.values()]
    return found


@pytest.mark.parametrize("piece", [3, 1 << 15])
def test_everybody_hears_everything_in_a_whole_round(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.models.gmpnn._PIECE", piece)
    everyone = torch.arange(len(GRAPH.entities))
    assert heard_by(Neighbourhoods(GRAPH).whole(), everyone, everyone) == heard_in(GRAPH)


def test_some_entities_hear_all_that_is_theirs() -> None:
    some = torch.tensor([0, 3, 19])
    (layer,), senders = Neighbourhoods(GRAPH).layers(some, 1, 0, torch.Generator().manual_seed(0))
    wanted = heard_in(GRAPH)
    assert heard_by(layer, senders, some) == {entity: wanted[entity] for entity in some.tolist()}
    assert torch.equal(senders[layer.kept], some)


def test_a_limit_draws_of_the_messages_alike() -> None:
    some, draws, limit = torch.tensor([0, 3, 19]), 2000, 2
    neighbourhoods, rng = Neighbourhoods(GRAPH), torch.Generator().manual_seed(0)
    wanted, seen = heard_in(GRAPH), {entity: Counter() for entity in some.tolist()}
    for _ in range(draws):
        (layer,), senders = neighbourhoods.layers(some, 1, limit, rng)
        assert layer.counts.tolist() == [min(limit, sum(wanted[entity].values())) for entity in some.tolist()]
        for entity, messages in heard_by(layer, senders, some).items():
            seen[entity] += messages
    for entity in some.tolist():
        degree = sum(wanted[entity].values())
        assert set(seen[entity]) == set(wanted[entity])
        for message, times in wanted[entity].items():
            assert seen[entity][message] / draws == pytest.approx(limit * times / degree, abs=0.1)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_what_a_step_needs_is_encoded_as_in_the_whole(layers: int) -> None:
    case = made_case("g-mpnn", GRAPH, num_layers=layers, num_neighbors=0)
    parameters, some = case.parameters(), torch.tensor([1, 2, 11])
    around = case.model.neighbourhood(some, torch.Generator().manual_seed(0))
    part = around.encode({**parameters, "entities": parameters["entities"][around.rows]}, None)["entities"]
    torch.testing.assert_close(part, case.model.encode(parameters)["entities"][some])


def test_an_entity_without_facts_keeps_its_embedding() -> None:
    both = Hypergraph.of([("is", "zoe"), ("knows", "ann", "bob")])
    graph = Hypergraph.sort(both.entities, both.schema, [(both.blocks[2].relations, both.blocks[2].columns)])
    case = made_case("g-mpnn", graph)
    parameters = case.parameters()
    encoded = case.model.encode(parameters)["entities"]
    assert torch.equal(encoded[2], parameters["entities"][2])
    assert not torch.equal(encoded[0], parameters["entities"][0])


def test_what_was_heard_is_dropped_in_training_alone() -> None:
    plain, dropping = made_case("g-mpnn", GRAPH, num_layers=1), made_case("g-mpnn", GRAPH, num_layers=1, message_dropout=0.5)
    parameters = plain.parameters()
    own, whole = parameters["entities"], plain.model.encode(parameters)["entities"]
    assert torch.equal(dropping.model.encode(parameters)["entities"], whole)
    heard, left = whole - own, dropping.model.encode(parameters, torch.Generator().manual_seed(0))["entities"] - own
    kept = left != 0
    torch.testing.assert_close(left[kept], 2 * heard[kept])
    assert kept[heard != 0].double().mean() == pytest.approx(0.5, abs=0.1)


def encoded(facts: list[tuple[str, ...]], **without: float) -> torch.Tensor:
    """Return the entities of facts after message passing, with some parameters set to one number."""
    case = made_case("g-mpnn", Hypergraph.of(facts))
    parameters = case.parameters(dtype=torch.float64)
    return case.model.encode({**parameters, **{key: torch.full_like(parameters[key], x) for key, x in without.items()}})[
        "entities"
    ]


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0), (2, 1, 0)])
def test_who_is_where_makes_a_difference(order: tuple[int, ...]) -> None:
    facts = [("gave", f"e{x}", f"e{(x + 1) % 7}", f"e{(x + 3) % 7}") for x in range(7)]
    permuted = [(relation, *(entities[position] for position in order)) for relation, *entities in facts]
    assert (encoded(facts) - encoded(permuted)).abs().amin(0).max() > 1e-3
    blind = {"positions": 1.0, "senders": 0.0}
    torch.testing.assert_close(encoded(facts, **blind), encoded(permuted, **blind))


def test_a_receiver_tells_its_senders_positions_apart() -> None:
    one, other = (encoded([("gave", "ann", *others)])[0] for others in (("bob", "cid"), ("cid", "bob")))
    assert (one - other).abs().max() > 1e-3
