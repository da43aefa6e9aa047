"""Rows of training: questions have the loss and the gradients of the facts behind them, by every path there is."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from relatum import Hypergraph
from relatum.data.questions import questions_of
from relatum.kernels import parallel
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.training_protocols import Gradient, Objective, QuestionBatch
from relatum.training.batches import draw_pool
from relatum.training.loop import State, start, train
from relatum.training.rows import QuestionRows, Rows, rows_of
from relatum.training.settings import OBJECTIVES, TrainingSettings
from support.made_models import WIDE, Case, made_case
from support.mistakes import mistake

BY_QUESTION = TrainingSettings(rows="questions", epochs=3, batch_size=8, batches_per_step=2, num_negatives=8)
UNPENALIZED = {"rae": {"relatedness_weight": 0.0}}  # a penalty compares the facts of a batch with each other


def question_rows(model: Model, graph: Hypergraph, settings: TrainingSettings, seed: int) -> QuestionRows:
    return QuestionRows(model, questions_of(graph), settings, seed)


def made_graph(entities: int = 12, facts: int = 25) -> Hypergraph:
    """Return random facts of arity 1 to 4, few enough entities that most questions have many answers."""
    rng = np.random.default_rng(0)
    return Hypergraph.of(
        (f"r{arity}", *(f"e{entity}" for entity in rng.integers(0, entities, arity)))
        for arity in (1, 2, 3, 4)
        for _ in range(facts)
    )


GRAPH = made_graph()


def changed(**changes: Any) -> TrainingSettings:
    return dataclasses.replace(BY_QUESTION, **changes)


def epoch(rows: Rows, parameters: Parameters) -> tuple[float, float, Parameters]:
    """Return loss and gradients summed over the batches of an epoch, each as much as it weighs, and the weight."""
    loss, weight, full = 0.0, 0.0, {name: torch.zeros_like(tensor).double() for name, tensor in parameters.items()}
    for number in range(rows.start_epoch(0)):
        mean, size, found = rows.gradients(parameters, number)
        loss, weight = loss + mean * size, weight + size
        for gradient in found:
            full[gradient.name][part_of(gradient, full)] += size * gradient.values.double()
    return loss, weight, full


def part_of(gradient: Gradient, full: Parameters) -> Any:
    """Return what indexes the part of a table that a gradient is of."""
    if gradient.rows is None and gradient.columns is None:
        return ...
    rows = np.arange(len(full[gradient.name])) if gradient.rows is None else gradient.rows
    return rows if gradient.columns is None else np.ix_(rows, gradient.columns)


def agree(first: tuple[float, float, Parameters], second: tuple[float, float, Parameters], close: float) -> None:
    assert first[0] == pytest.approx(second[0], rel=close)
    for name, gradient in first[2].items():
        size = max(1.0, float(second[2][name].abs().max()))
        assert torch.allclose(gradient, second[2][name], rtol=close, atol=close * size), name


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("name", MODELS)
def test_questions_have_the_loss_and_the_gradients_of_the_facts_behind_them(name: str, smoothing: float) -> None:
    case = made_case(name, GRAPH, **UNPENALIZED.get(name, {}))
    by_question = changed(negative_sampling="all-entities", label_smoothing=smoothing)
    by_fact = dataclasses.replace(by_question, rows="facts")
    facts = GRAPH.distinct()
    for dtype, close in ((torch.float64, 1e-9), (torch.float32, 2e-4)):
        parameters = case.parameters(dtype=dtype)
        questions, plain = (epoch(rows_of(case.model, facts, each, 0), parameters) for each in (by_question, by_fact))
        agree(questions, plain, close)
        assert plain[1] == len(facts)
        assert questions[1] == sum(arity * len(block) for arity, block in facts.blocks.items())  # per fact and position


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("pool", ["shared", "all-entities"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"window": 1},
        {"window": 2},
        {"window": 12, "scale": 12.0},
        {"window_dropout": 0.5},
        {"window": 1, "window_dropout": 0.4, "dropout_block": 5},
        {"entity_map": "none"},
    ],
    ids=str,
)
def test_one_compiled_call_equals_the_way_of_any_model(
    settings: dict[str, Any], pool: str, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = made_case("reale", GRAPH, **settings)
    training = changed(negative_sampling=pool, objective=objective, answer_damping=0.4, label_smoothing=0.1)
    rows = question_rows(case.model, GRAPH, training, 0)
    compiled = epoch(rows, case.parameters())
    with monkeypatch.context() as patch:
        patch.setattr(type(case.model), "question_gradients", lambda *_: None)
        by_autograd = epoch(rows, case.parameters())
        patch.setenv("RELATUM_BACKEND", "eager")
        eager, precise = epoch(rows, case.parameters()), epoch(rows, case.parameters(dtype=torch.float64))
    assert compiled[1] == pytest.approx(rows.weight)
    for found in (compiled, by_autograd, eager):
        assert found[1] == pytest.approx(precise[1])
        agree(found, precise, 2e-4)


@pytest.mark.parametrize("settings", [{"sigma": "tanh"}, {"sigma": "exp"}, {"entity_map": "clamp"}, {"input_dropout": 0.2}])
def test_what_no_compiled_call_fits_is_trained_too(settings: dict[str, Any]) -> None:
    case = made_case("reale", GRAPH, **settings)
    questions = question_rows(case.model, GRAPH, BY_QUESTION, 0).questions[0]
    batch = QuestionBatch(questions, np.arange(len(questions)), None, Objective())
    assert case.model.question_gradients(case.parameters(), batch, torch.Generator()) is None
    losses = losses_of(case, changed(epochs=8, learning_rate=0.1))
    assert losses[-1] < losses[0]


def losses_of(case: Case, settings: TrainingSettings) -> list[float]:
    """Return the loss of each epoch."""
    found: list[float] = []

    def watch(event: str, _: State, seen: dict[str, Any]) -> None:
        if event == "epoch":
            found.append(seen["loss"])

    train(case.model, case.graph, settings, 0, watch=watch)
    return found


@pytest.mark.parametrize(("pool", "objective"), [("shared", "1vsAll"), ("all-entities", "KvsAll")])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_by_question(name: str, pool: str, objective: str) -> None:
    settings = changed(epochs=12, negative_sampling=pool, objective=objective, answer_damping=0.3, learning_rate=0.3)
    losses = losses_of(made_case(name, GRAPH), settings)
    assert losses[-1] < 0.97 * losses[0]


def test_the_penalty_of_a_model_is_in_the_loss() -> None:
    with_it, without = (made_case("rae", GRAPH, relatedness_weight=weight) for weight in (0.5, 0.0))
    first, second = (
        epoch(question_rows(case.model, GRAPH, BY_QUESTION, 0), case.parameters()) for case in (with_it, without)
    )
    assert first[0] > second[0]
    assert first[2]["pair_out"].any()
    assert not second[2]["pair_out"].any()


def same(first: State, second: State) -> bool:
    """Return whether two states have the same parameters and history, to the bit."""
    pairs = [(first.parameters, second.parameters), (first.history, second.history)]
    return all(one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one) for one, two in pairs)


@pytest.mark.parametrize("name", MODELS)
def test_one_seed_gives_the_same_bits_with_one_thread_or_more(name: str) -> None:
    dropout = {"window_dropout": 0.3} if name == "reale" else {"input_dropout": 0.1}
    case = made_case(name, made_graph(200, 60), dim=48, **dropout, **WIDE.get(name, {}))
    settings = changed(epochs=1, batch_size=20, batches_per_step=3, num_negatives=100, in_relation_share=0.3)
    states = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        parallel.set_threads(threads)
        states.append(train(case.model, case.graph, settings, 3))
    assert all(same(states[0], other) for other in states[1:])
    assert not same(states[0], train(case.model, case.graph, settings, 4))


def test_repeated_facts_weigh_once() -> None:
    case = made_case("reale", GRAPH)
    twice = Hypergraph.union([GRAPH, GRAPH])
    assert question_rows(case.model, twice, BY_QUESTION, 0).weight == question_rows(case.model, GRAPH, BY_QUESTION, 0).weight
    assert same(train(case.model, twice, BY_QUESTION, 0), train(case.model, GRAPH, BY_QUESTION, 0))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_an_epoch_has_every_question_once_in_batches_of_one_position_of_one_relation(size: int) -> None:
    rows = question_rows(made_case("reale", GRAPH).model, GRAPH, changed(batch_size=size), 0)
    orders = []
    for number in range(2):
        assert rows.start_epoch(number) == len(rows._batches)
        orders.append([(id(questions), chosen.tolist()) for questions, chosen in rows._batches])
        for questions in rows.questions:
            chosen = [part for of, part in rows._batches if of is questions]
            assert sorted(np.concatenate(chosen).tolist()) == list(range(len(questions)))
            answers, largest = np.diff(questions.starts), int(np.diff(questions.starts).max())
            assert max(answers[each].sum() for each in chosen) <= 1.5 * size + largest
            assert len(chosen) >= min(len(answers), answers.sum() / (1.5 * size + largest))
    assert orders[0] != orders[1]
    rows.start_epoch(0)
    assert [(id(questions), chosen.tolist()) for questions, chosen in rows._batches] == orders[0]


@pytest.mark.parametrize("damping", [0.0, 0.5, 1.0])
def test_damping_decides_what_a_question_weighs(damping: float) -> None:
    rows = question_rows(made_case("reale", GRAPH).model, GRAPH, changed(answer_damping=damping), 0)
    counts = np.concatenate([np.diff(each.starts) for each in rows.questions])
    assert counts.max() > 3
    assert rows.weight == pytest.approx((counts ** (1 - damping)).sum())


def test_a_pool_has_the_share_of_entities_that_the_relation_is_known_with() -> None:
    graph, rng = made_graph(500, 30), np.random.default_rng(0)
    some, most = changed(num_negatives=40, in_relation_share=0.5), changed(num_negatives=100, in_relation_share=0.9)
    rows = QuestionRows(made_case("reale", graph).model, questions_of(graph), some, 0)
    for questions in rows.questions:
        pool = draw_pool(questions.related.astype(np.int64), len(graph.entities), some, rng)
        assert len(pool) == 40
        assert np.isin(pool, questions.related).sum() >= 20
    few = rows.questions[0].related.astype(np.int64)
    assert np.isin(few, draw_pool(few, len(graph.entities), most, rng)).all()
    by_all = question_rows(rows.model, graph, changed(negative_sampling="all-entities"), 0)
    by_all.start_epoch(0)
    assert by_all.needs(0).entities is None


@pytest.mark.parametrize("table", ["entities", "relations", "bias"])
@pytest.mark.parametrize("pool", ["shared", "all-entities"])
def test_a_parameter_that_is_not_a_number_is_an_error(pool: str, table: str) -> None:
    case, settings = made_case("reale", GRAPH), changed(negative_sampling=pool)
    state = start(case.model, settings, 0)
    state.parameters[table][0, 0] = torch.nan
    with mistake("diverged"):
        train(case.model, GRAPH, settings, 0, state)
