"""The loop: the loss falls, validation alone decides what is kept, and one seed gives the same bits on any threads."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import relatum
from relatum import Hypergraph, memory
from relatum.errors import SettingError
from relatum.kernels import parallel
from relatum.models import MODELS
from relatum.models.base import Parameters
from relatum.training.loop import State, _learning_rate, start, train
from relatum.training.settings import NEGATIVE_SAMPLING, SCHEDULES, TrainingSettings
from support.made_models import WIDE, Case, made_case
from support.mistakes import mistake
from support.strategies import restrict

SHORT = TrainingSettings(epochs=3, batch_size=8, batches_per_step=2, num_negatives=8, validate_every=1)


def made_graph(entities: int, facts: int) -> Hypergraph:
    """Return random facts of three relations, of arity 1 to 3."""
    rng = np.random.default_rng(0)
    return Hypergraph.of(
        (f"r{arity}", *(f"e{entity}" for entity in rng.integers(0, entities, arity)))
        for arity in (1, 2, 3)
        for _ in range(facts)
    )


@pytest.fixture
def case() -> Case:
    return made_case("reale", made_graph(20, 15))


def same(first: Parameters, second: Parameters) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def run(case: Case, settings: TrainingSettings = SHORT, seed: int = 0, **more: Any) -> State:
    return train(case.model, case.graph, settings, seed, **more)


def changed(**changes: Any) -> TrainingSettings:
    return dataclasses.replace(SHORT, **changes)


def scripted(scores: list[float]) -> Callable[[Parameters], float]:
    """Return a validation that gives these scores, one after the other, whatever the parameters are."""
    left = iter(scores)
    return lambda _: next(left)


class Events(list[tuple[str, int, dict[str, Any]]]):
    """What a watcher was told, and the parameters at each validation."""

    def __init__(self) -> None:
        self.parameters: list[Parameters] = []

    def __call__(self, event: str, state: State, said: dict[str, Any]) -> None:
        self.append((event, state.epoch, said))
        if event == "validation":
            self.parameters.append({name: tensor.clone() for name, tensor in state.parameters.items()})


@pytest.mark.parametrize("candidates", NEGATIVE_SAMPLING)
def test_the_loss_falls(case: Case, candidates: str) -> None:
    told = Events()
    run(case, changed(epochs=12, negative_sampling=candidates, learning_rate=0.3), watch=told)
    losses = [said["loss"] for event, _, said in told if event == "epoch"]
    assert len(losses) == 12
    assert losses[-1] < 0.95 * losses[0]


def test_a_watcher_is_told_of_every_step_epoch_validation_and_the_end(case: Case) -> None:
    told = Events()
    run(case, changed(validate_every=2), validate=lambda _: 0.0, watch=told)
    done = [said["done"] for event, _, said in told if event in ("step", "epoch")]
    assert done == sorted(done)
    assert done[-1] == 1
    steps = sum(event == "step" for event, *_ in told) // 3
    epoch = ["step"] * steps + ["epoch"]
    assert [event for event, *_ in told] == [*epoch, *epoch, "validation", *epoch, "validation", "end"]
    facts = len(case.graph.distinct())
    assert sum(said["facts"] for event, _, said in told if event == "step") == 3 * facts
    in_steps = [said["loss"] * said["facts"] for event, epochs, said in told if event == "step" and epochs == 0]
    assert sum(in_steps) / facts == pytest.approx(next(said["loss"] for event, _, said in told if event == "epoch"))


def test_training_ends_when_patience_does_which_a_better_validation_renews(case: Case) -> None:
    settings = changed(epochs=50, validate_every=2, patience=3)
    state = run(case, settings, validate=scripted([0.1, 0.5, 0.5, 0.4, 0.2, 0.9]))
    assert (state.epoch, state.best_epoch, state.best_score, state.stale) == (10, 4, 0.5, 3)
    assert state.done
    state = run(case, changed(epochs=50, patience=2), validate=scripted([0.3, 0.1, 0.4, 0.1, 0.2, 0.9]))
    assert (state.epoch, state.best_epoch) == (5, 3)


def test_of_several_numbers_the_first_decides_and_the_others_are_told(case: Case) -> None:
    told, scores = Events(), iter([0.1, 0.9, 0.4])
    state = run(case, changed(epochs=3), validate=lambda _: {"corrected-mrr": next(scores), "mrr": 0.5}, watch=told)
    assert (state.best_epoch, state.best_score) == (2, 0.9)
    said = [said for event, _, said in told if event == "validation"]
    assert said[1] == {"score": 0.9, "best": True, "mrr": 0.5}


@pytest.mark.parametrize("best", range(5))
def test_the_best_parameters_are_a_copy_that_later_steps_do_not_change(case: Case, best: int) -> None:
    told = Events()
    scores = [1.0 if number == best else 0.5 - number for number in range(5)]
    state = run(case, changed(epochs=5), validate=scripted(scores), watch=told)
    assert state.best_epoch == best + 1
    assert same(state.best, told.parameters[best])
    assert same(state.best, state.parameters) == (best == 4)
    assert not any(state.best[name] is state.parameters[name] for name in state.best)


def test_validation_decides_what_is_kept_or_else_the_last_parameters_are(case: Case) -> None:
    rising, falling = Events(), Events()
    first = run(case, validate=scripted([1.0, 2.0, 3.0]), watch=rising)
    second = run(case, validate=scripted([3.0, 2.0, 1.0]), watch=falling)
    third = run(case)
    assert same(first.parameters, second.parameters)
    assert same(first.parameters, third.parameters)
    assert same(first.best, rising.parameters[2])
    assert same(second.best, rising.parameters[0])
    state = run(case)
    assert same(state.best, state.parameters)
    assert state.best_epoch == state.epoch == 3
    assert state.best_score == -math.inf


def test_schedules_start_at_the_rate_and_fall_to_their_end() -> None:
    settings = {name: changed(epochs=10, learning_rate=0.8, learning_rate_schedule=name) for name in SCHEDULES}
    shares = [passed / 100 for passed in range(101)]
    for name, each in settings.items():
        rates = [_learning_rate(each, share) for share in shares]
        assert rates[0] == pytest.approx(0.8)
        assert rates[-1] == pytest.approx(0.8 if name == "constant" else 0.08)
        assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(rates))
        assert rates[50] == pytest.approx(0.8 if name == "constant" else 0.44)
    assert _learning_rate(settings["linear"], 0.25) == pytest.approx(0.8 - 0.72 * 0.25)
    assert _learning_rate(settings["cosine"], 0.25) == pytest.approx(0.08 + 0.72 * (1 + math.cos(math.pi / 4)) / 2)


def test_a_schedule_is_followed_step_by_step(case: Case) -> None:
    told = {name: Events() for name in SCHEDULES}
    ends = [run(case, changed(learning_rate_schedule=name), watch=told[name]) for name in SCHEDULES]
    losses = [[said["loss"] for event, _, said in told[name] if event == "step"] for name in SCHEDULES]
    assert losses[0][:2] != losses[0][1:3]
    assert len({each[0] for each in losses}) == 1  # the first step is taken at the same rate
    assert len({each[-1] for each in losses}) == 3
    assert not same(ends[0].parameters, ends[1].parameters)


@pytest.mark.parametrize("candidates", ["shared", "per-fact"])
def test_every_epoch_draws_anew(candidates: str) -> None:
    graph = made_graph(200, 60)
    case, one = made_case("m-distmult", graph), restrict(graph, [("r3", *next(iter(graph.table("r3"))))])
    told = Events()
    settings = changed(
        epochs=4, negative_sampling=candidates, learning_rate=1e-30
    )  # nothing is learned: what differs is what is drawn
    train(case.model, one, settings, 0, watch=told)
    assert len({said["loss"] for event, _, said in told if event == "epoch"}) == 4


def test_every_batch_of_an_epoch_draws_for_itself() -> None:
    graph = made_graph(200, 60)
    first, second = [("r1", *fact) for fact in graph.table("r1")][:2]
    case, twins = made_case("m-distmult", graph), restrict(graph, [first, second])
    settings = changed(epochs=1, batch_size=1, batches_per_step=1, negative_sampling="per-fact", learning_rate=1e-30)
    state = start(case.model, settings, 0)
    state.parameters["entities"][graph.entities.id(first[1])] = state.parameters["entities"][graph.entities.id(second[1])]
    told = Events()
    train(case.model, twins, settings, 0, state, watch=told)
    assert len({said["loss"] for event, _, said in told if event == "step"}) == 2


def bits(case: Case, settings: TrainingSettings, threads: int, seed: int = 3) -> State:
    torch.set_num_threads(threads)
    parallel.set_threads(threads)
    return run(case, settings, seed)


@pytest.mark.parametrize("name", MODELS)
def test_one_seed_gives_the_same_bits_with_one_thread_or_two(name: str) -> None:
    case = made_case(name, made_graph(300, 60), dim=48, input_dropout=0.1, **WIDE.get(name, {}))
    first, *others = (bits(case, changed(epochs=1, batch_size=30, num_negatives=100), threads) for threads in (1, 2, 2))
    assert all(same(first.parameters, other.parameters) and same(first.history, other.history) for other in others)


@pytest.mark.parametrize("candidates", NEGATIVE_SAMPLING)
def test_any_candidates_give_the_same_bits_on_any_threads(candidates: str) -> None:
    case = made_case("reale", made_graph(300, 60), dim=48, window_dropout=0.2)
    settings = changed(epochs=1, batch_size=30, negative_sampling=candidates, num_negatives=50)
    first, second = (bits(case, settings, threads) for threads in (1, 2))
    assert same(first.parameters, second.parameters)
    assert same(first.history, second.history)


def test_repeated_facts_are_seen_once_and_torch_has_its_threads_back(case: Case) -> None:
    twice = Hypergraph.union([case.graph, case.graph])
    assert len(twice) == 2 * len(case.graph)
    assert same(train(case.model, twice, SHORT, 0).parameters, run(case).parameters)
    torch.set_num_threads(2)
    run(case)
    assert torch.get_num_threads() == 2
    with pytest.raises(KeyboardInterrupt):
        run(case, watch=raising)
    assert torch.get_num_threads() == 2


def raising(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_state_that_is_done_is_only_told_so(case: Case) -> None:
    state = run(case)
    before = {name: tensor.clone() for name, tensor in state.parameters.items()}
    told = Events()
    again = run(case, state=state, watch=told)
    assert [event for event, *_ in told] == ["end"]
    assert same(again.parameters, before)
    assert again.epoch == 3


@pytest.mark.parametrize("candidates", NEGATIVE_SAMPLING)
@pytest.mark.parametrize("name", ["reale", "m-distmult"])
def test_a_loss_that_is_not_a_number_is_an_error_that_says_what_to_try(name: str, candidates: str) -> None:
    case = made_case(name, made_graph(20, 15))
    settings = changed(negative_sampling=candidates)
    state = start(case.model, settings, 0)
    state.parameters["relations"][:] = torch.nan
    with mistake("diverged"):
        run(case, settings, state=state)


def test_a_running_mean_over_epochs_is_what_is_validated_and_kept(case: Case) -> None:
    after: list[Parameters] = []
    judged: list[Parameters] = []

    def watch(event: str, state: State, _: dict[str, Any]) -> None:
        if event == "epoch":
            after.append({name: tensor.clone() for name, tensor in state.parameters.items()})

    def validate(parameters: Parameters) -> float:
        judged.append({name: tensor.clone() for name, tensor in parameters.items()})
        return float(len(judged))

    state = train(case.model, case.graph, changed(epochs=4, validate_every=1, ema_decay=0.6), 0, None, validate, watch)
    mean = after[0]
    for number, latest in enumerate(after):
        mean = {name: 0.6 * mean[name] + 0.4 * latest[name] for name in mean} if number else mean
        assert all(torch.allclose(judged[number][name], mean[name], atol=1e-6) for name in mean)
    assert all(torch.equal(state.best[name], judged[-1][name]) for name in mean)
    assert any(not torch.equal(state.best[name], state.parameters[name]) for name in mean)


@pytest.mark.parametrize("model", ["reale", "hype", "getd", "g-mpnn"])
@pytest.mark.parametrize("dim", [10**11, 10**18])
def test_a_dim_without_end_is_one_line(model: str, dim: int) -> None:
    with pytest.raises(SettingError) as caught:
        relatum.fit("example", model=model, recipe="fast", dim=dim, progress=False)
    assert caught.value.place == "model.dim"
    assert caught.value.code in ("too-large-to-train", "unreadable-value")  # by what the first table would hold


def test_entities_times_dim_are_held_against_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [("likes", f"e{number}", f"e{number + 1}") for number in range(1000)]
    monkeypatch.setattr(memory, "free", lambda: 1 << 20)
    with mistake("too-large-to-train") as caught:
        relatum.fit(facts, recipe="fast", dim=20_000, epochs=1, progress=False)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(memory, "_free_bytes", lambda: None)  # where nobody says, nothing is refused
    relatum.fit(facts[:20], recipe="fast", dim=20, epochs=1, evidence=False, progress=False)
