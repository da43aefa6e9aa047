"""Folding in: rows of new entities are fitted, all others are the same to the bit, whatever the model and the threads."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch

import relatum.training.fold_in as folding
from relatum import Hypergraph, KnownAnswers
from relatum.data.splitting import select_facts
from relatum.inference.ranking import Metrics, rank
from relatum.kernels import parallel
from relatum.models import MODELS
from relatum.models.base import Parameters
from relatum.training.fold_in import facts_with, fold_in, init_new_entities
from relatum.training.loop import train
from relatum.training.settings import TrainingSettings
from support.made_models import Case, made_case, made_graph
from support.mistakes import mistake

NEW = np.array([3, 4, 17], np.int64)
TRAINING = TrainingSettings(epochs=7)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a few epochs do."""
    monkeypatch.setattr(folding, "_MOST_EPOCHS", 4)


def begun(name: str) -> tuple[Case, Parameters]:
    # One round of messages, as by default: after two over random facts, a row of one's own says little.
    settings = {"num_layers": 1} if name == "g-mpnn" else {}
    case = made_case(name, made_graph(entities=24, facts=3), **settings)
    return case, init_new_entities(case.model, case.parameters(), case.graph, NEW, seed=0)


def mrr(case: Case, parameters: Parameters) -> float:
    return Metrics.of(rank(case.model, parameters, facts_with(case.graph, NEW), KnownAnswers(case.graph))).mrr


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("name", MODELS)
def test_only_the_new_rows_differ_and_their_facts_rank_better(name: str) -> None:
    case, start = begun(name)
    before = {key: tensor.clone() for key, tensor in start.items()}
    fitted = fold_in(case.model, start, case.graph, NEW, TRAINING)
    assert all(torch.equal(start[key], before[key]) for key in start)  # nothing is changed in place
    assert fitted.keys() == start.keys()
    for key in start:
        if key not in case.model.entity_tables:
            assert torch.equal(fitted[key], start[key])
    for key in case.model.entity_tables:
        differs = (fitted[key] != start[key]).flatten(1).any(1)
        assert np.flatnonzero(differs.numpy()).tolist() == NEW.tolist()
    assert mrr(case, fitted) > mrr(case, start)


@pytest.mark.usefixtures("quickly")
@pytest.mark.parametrize("name", MODELS)
def test_the_same_bits_from_the_same_seed_with_any_number_of_threads(name: str) -> None:
    case, start = begun(name)
    found = []
    for threads, seed in ((1, 5), (2, 5), (3, 6)):
        parallel.set_threads(threads)
        found.append(fold_in(case.model, start, case.graph, NEW, TRAINING, seed)["entities"])
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.usefixtures("quickly")
def test_a_model_is_fitted_by_the_loss_that_it_was_trained_by() -> None:
    case, start = begun("m-transh")
    settings = TrainingSettings(negative_sampling="per-fact", num_negatives=3, label_smoothing=0.3)
    fitted = fold_in(case.model, start, case.graph, NEW, settings)
    assert mrr(case, fitted) > mrr(case, start)
    assert not torch.equal(fitted["entities"], fold_in(case.model, start, case.graph, NEW, TRAINING)["entities"])


@pytest.mark.usefixtures("quickly")
def test_dropout_takes_no_part() -> None:
    case, start = begun("reale")
    dropping = made_case("reale", case.graph, window_dropout=0.5, input_dropout=0.2)
    fitted = [fold_in(one.model, start, case.graph, NEW, TRAINING)["entities"] for one in (case, dropping)]
    assert torch.equal(*fitted)
    assert dropping.model.settings.input_dropout == 0.2


def test_without_facts_that_hold_them_rows_stay_where_they_start() -> None:
    graph = made_graph()
    case = made_case("reale", graph)
    parameters = case.parameters()
    nobody = np.empty(0, np.int64)
    assert torch.equal(fold_in(case.model, parameters, graph, nobody, TRAINING)["entities"], parameters["entities"])


@pytest.mark.parametrize("name", ["reale", "m-distmult", "m-transh"])
def test_facts_among_new_entities_alone_are_learned(name: str) -> None:
    known = [("r", f"a{n}", f"b{n}") for n in range(8)]
    fresh = [("r", f"x{n}", f"y{n}") for n in range(4)]
    case = made_case(name, Hypergraph.of([*known, *fresh]), dim=24)
    new = np.sort(case.graph.entities.ids(name for _, *names in fresh for name in names)).astype(np.int64)
    old = select_facts(case.graph, np.array([fact in known for fact in case.graph]))
    trained = train(case.model, old, TrainingSettings(epochs=40, learning_rate=0.3), seed=0).best
    start = init_new_entities(case.model, trained, case.graph, new, seed=0)
    fitted = fold_in(case.model, start, case.graph, new, TRAINING)
    ranks = [Metrics.of(rank(case.model, one, facts_with(case.graph, new), None)).mrr for one in (start, fitted)]
    assert ranks[1] > max(0.9, ranks[0])


@pytest.mark.usefixtures("quickly")
def test_one_entity_among_very_many_is_not_in_every_step() -> None:
    case = made_case("reale", Hypergraph.of([("r", f"e{n:04}", f"e{n + 1:04}") for n in range(3000)]))
    new = np.array([7], np.int64)
    start = init_new_entities(case.model, case.parameters(), case.graph, new, seed=0)
    fitted = fold_in(case.model, start, case.graph, new, TRAINING)
    assert np.flatnonzero((fitted["entities"] != start["entities"]).any(1).numpy()).tolist() == [7]


def test_facts_are_found_by_a_loop_and_parameters_that_are_no_numbers_are_an_error() -> None:
    graph = Hypergraph.union([made_graph(), made_graph()])
    names = {graph.entities[number] for number in NEW.tolist()}
    expected = sorted({fact for fact in graph if names & set(fact[1:])})
    assert sorted(facts_with(graph, NEW)) == expected
    case, start = begun("hype")
    start["relations"] = torch.full_like(start["relations"], torch.nan)
    with mistake("not-finite"):
        fold_in(case.model, start, case.graph, NEW, TRAINING)


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


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_NOISE", 0.0)


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


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("name", MODELS)
def test_an_entity_starts_between_those_in_its_company(name: str) -> None:
    new = {"new", "inn", "tea"}
    graph, before, after = rows_of(name, sorted(new))
    for entity in ("new", "inn"):
        expected = by_hand(graph, before["entities"], entity, new)
        assert torch.allclose(after["entities"][graph.entities.id(entity)], expected, atol=1e-5), entity


@pytest.mark.usefixtures("no_noise")
def test_without_company_places_tell_and_without_these_the_mean_of_all() -> None:
    graph, before, after = rows_of("reale", ["lonely", "twin", "alone"])
    rows, ids = before["entities"], graph.entities.ids
    assert torch.allclose(after["entities"][graph.entities.id("twin")], rows[ids(["ann"])][0])
    assert torch.allclose(after["entities"][graph.entities.id("lonely")], rows[ids(["bob"])][0])
    known = [name for name in graph.entities if name not in ("lonely", "twin", "alone")]
    assert torch.allclose(after["entities"][graph.entities.id("alone")], rows[ids(known)].mean(0), atol=1e-6)


@pytest.mark.usefixtures("no_noise")
def test_nothing_but_the_rows_of_new_entities_differs() -> None:
    graph, before, after = rows_of("m-cp", ["new", "tea"])
    others = [number for number, name in enumerate(graph.entities) if name not in ("new", "tea")]
    assert torch.equal(after["entities"][others], before["entities"][others])
    assert after["relations"] is before["relations"]
    assert torch.isfinite(after["entities"]).all()


@pytest.mark.usefixtures("no_noise")
def test_company_that_very_many_keep_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_MANY", 1)
    graph, before, after = rows_of("reale", ["new"])  # tea is liked by two, cake by one
    assert torch.allclose(after["entities"][graph.entities.id("new")], before["entities"][graph.entities.id("cat")])


@pytest.mark.usefixtures("no_noise")
def test_noise_parts_what_would_start_alike_and_follows_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_NOISE", 0.1)
    facts = [*FACTS, ("likes", "new2", "tea"), ("likes", "new2", "cake")]
    graph, _, first = rows_of("reale", ["new", "new2"], facts)
    _, _, again = rows_of("reale", ["new", "new2"], facts)
    one, two = (first["entities"][graph.entities.id(name)] for name in ("new", "new2"))
    assert not torch.equal(one, two)
    assert torch.equal(first["entities"], again["entities"])
