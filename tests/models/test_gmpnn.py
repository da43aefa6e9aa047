"""Messages are the facts themselves: each entity hears, of every fact that it is in, the relation and the other entities."""

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
    """Return what each entity should hear, as (relation, others in order of their ids): a plain loop over the facts."""
    found: Heard = {number: Counter() for number in range(len(graph.entities))}
    for relation, *names in set(graph):
        ids = [graph.entities.id(name) for name in names]
        for place, receiver in enumerate(ids):
            found[receiver][graph.schema.id(relation), *sorted(ids[:place] + ids[place + 1 :])] += 1
    return found


def heard_by(layer: Layer, before: torch.Tensor, after: torch.Tensor) -> Heard:
    found: Heard = {int(entity): Counter() for entity in after}
    for part in layer.parts:
        for relation, others, receiver in zip(part.relations, part.others.T, part.receivers, strict=True):
            found[int(after[receiver])][int(relation), *sorted(before[others].tolist())] += 1
    assert layer.counts.tolist() == [sum(messages.values()) for messages in found.values()]
    return found


def test_everybody_hears_everything_in_a_whole_round() -> None:
    everyone = torch.arange(len(GRAPH.entities))
    assert heard_by(Neighbourhoods(GRAPH).whole(), everyone, everyone) == heard_in(GRAPH)


def test_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.models.gmpnn._PIECE", 3)
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
