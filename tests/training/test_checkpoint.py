"""Checkpoints: what is loaded is what was saved or nothing, and training goes on from any of them to the same bits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from relatum import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.models.base import Parameters
from relatum.tensor_files import read_tensors, write_tensors
from relatum.training.checkpoint import load_state, save_best, save_state
from relatum.training.loop import State, start, train
from relatum.training.settings import TrainingSettings
from support.made_models import made_case

ROLES = [RelationSchema("is", 1, ("who",)), RelationSchema("knows", 2, ("who", "whom"))]
ROLES += [RelationSchema("met", 3, ("who", "whom", "where"))]
PAIRS = [("knows", *pair) for pair in ("ab", "bc", "cd", "da", "ac", "bd")]
SMALL = Hypergraph.of([("is", "a"), ("is", "b"), *PAIRS, ("met", *"abd"), ("met", *"dca")], ROLES)
TINY = TrainingSettings(epochs=3, batch_size=3, batches_per_step=2, num_negatives=5, validate_every=2)
RUNS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "reale": ("reale", {}, {}),
    "reale, no validation": ("reale", {}, {}),
    "reale, dropout": ("reale", {"input_dropout": 0.2, "window_dropout": 0.3}, {}),
    "reale, cosine": ("reale", {}, {"learning_rate_schedule": "cosine"}),
    "reale, own replacements": ("reale", {}, {"negative_sampling": "per-fact", "batches_per_step": 1}),
    "reale, averaged": ("reale", {}, {"ema_decay": 0.7}),
    "reale, questions": (
        "reale",
        {"window_dropout": 0.3},
        {"rows": "questions", "objective": "KvsAll", "answer_damping": 0.4},
    ),
    "nalp, questions": ("nalp", {}, {"rows": "questions", "batch_size": 2, "in_relation_share": 0.5}),
    "nalp, all": ("nalp", {}, {"negative_sampling": "all-entities"}),
    "m-distmult, patience": ("m-distmult", {}, {"epochs": 9, "validate_every": 1, "patience": 1}),
}


class Stopped(Exception):  # noqa: N818
    """Raised by a watcher."""


def same(first: State, second: State) -> bool:
    """Return whether two states are equal to the bit."""
    for field in dataclasses.fields(State):
        mine, theirs = getattr(first, field.name), getattr(second, field.name)
        if not isinstance(mine, dict):
            if mine != theirs:
                return False
        elif mine.keys() != theirs.keys() or not all(
            torch.equal(mine[name], theirs[name]) and mine[name].dtype == theirs[name].dtype for name in mine
        ):
            return False
    return True


def quality(parameters: Parameters) -> float:
    """Return something that goes up and down while parameters change."""
    return math.sin(1e4 * float(parameters["entities"].double().abs().sum()))


def test_what_is_loaded_can_be_trained_on_and_shares_nothing(tmp_path: Path) -> None:
    case = made_case("reale", SMALL)
    state = start(case.model, TINY, 0)
    save_state(tmp_path / "checkpoint.safetensors", state)
    loaded = load_state(tmp_path / "checkpoint.safetensors")
    assert loaded is not None
    train(case.model, case.graph, TINY, 0, state=loaded)
    again = load_state(tmp_path / "checkpoint.safetensors")
    assert again is not None
    assert same(again, state)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    case = made_case("reale", SMALL, dim=3, window=3)
    save_state(tmp_path / "checkpoint.safetensors", train(case.model, case.graph, TINY, 0))
    return tmp_path / "checkpoint.safetensors"


@pytest.mark.parametrize("names", [["about"], ["entities"], ["elsewhere/entities"]])
def test_a_whole_file_whose_tensors_are_no_state_is_none_or_has_none_of_them(saved: Path, names: list[str]) -> None:
    stored = read_tensors(saved, "relatum-checkpoint", 4)
    assert stored is not None
    write_tensors(saved, {name: np.zeros(1, np.float32) for name in names}, "relatum-checkpoint", 4, stored.about)
    loaded = load_state(saved)
    assert loaded is None or (names == ["about"] and not loaded.parameters)


@pytest.mark.parametrize("damage", ["cut", "byte", "missing", "others"])
def test_without_its_best_parameters_a_checkpoint_is_none_and_the_next_one_whole(saved: Path, damage: str) -> None:
    state, best = load_state(saved), saved.with_name("checkpoint-best-3.safetensors")
    assert state is not None
    content = bytearray(best.read_bytes())
    if damage == "others":
        save_best(best, state.best, dataclasses.replace(state, best_score=0.5))
    else:
        content[-1] ^= damage == "byte"
        best.unlink()
        if damage != "missing":
            best.write_bytes(content[: len(content) // 2 if damage == "cut" else None])
    assert load_state(saved) is None
    save_state(saved, state)
    loaded = load_state(saved)
    assert loaded is not None
    assert same(loaded, state)


def stopped_and_resumed(name: str, saves: str, path: Path) -> tuple[State, list[str]]:
    """Stop a run at each of its events in turn and go on from the last checkpoint; it must end as if never stopped."""
    kind, model_settings, changes = RUNS[name]
    case = made_case(kind, SMALL, **model_settings)
    settings = dataclasses.replace(TINY, **changes)
    validate = None if name == "reale, no validation" else quality
    events: list[str] = []
    straight = train(case.model, SMALL, settings, 5, None, validate, lambda event, *_: events.append(event))
    for stop in range(len(events)):
        path.unlink(missing_ok=True)
        left = iter(range(stop, -1, -1))

        def watch(event: str, state: State, _: dict[str, Any], left: Iterator[int] = left) -> None:
            if event in saves.split():
                save_state(path, state)
            if next(left) == 0:
                raise Stopped

        with pytest.raises(Stopped):
            train(case.model, SMALL, settings, 5, None, validate, watch)
        resumed = train(case.model, SMALL, settings, 5, load_state(path), validate)
        on_time = dataclasses.replace(resumed, seconds=straight.seconds)  # the clock alone is never the same
        assert same(on_time, straight), (stop, events[stop])
    return straight, events


@pytest.mark.parametrize("name", RUNS)
def test_a_run_stopped_at_any_event_ends_in_the_same_bits(name: str, tmp_path: Path) -> None:
    straight, events = stopped_and_resumed(name, "step epoch validation end", tmp_path / "checkpoint.safetensors")
    assert set(events) == {"step", "epoch", "end"} | (set() if "no validation" in name else {"validation"})
    assert straight.epoch == events.count("epoch")
    assert straight.epoch < 9 if "patience" in name else straight.epoch == 3


@pytest.mark.parametrize("saves", ["step", "epoch", "validation", "nothing"])
def test_it_does_so_however_old_the_last_checkpoint_is(saves: str, tmp_path: Path) -> None:
    stopped_and_resumed("reale", saves, tmp_path / "checkpoint.safetensors")


@pytest.mark.parametrize("longer", range(0, 64, 8))
def test_what_is_loaded_lies_in_memory_of_its_own(longer: int, tmp_path: Path) -> None:
    state = State({"entities": torch.ones(5, 3), "x" * (1 + longer): torch.ones(7)}, {"entities": torch.ones(5, 3)})
    save_state(tmp_path / "checkpoint.safetensors", state)
    loaded = load_state(tmp_path / "checkpoint.safetensors")
    assert loaded is not None
    # Where numbers lie decides how kernels sum them: a header of another length must not change the bits of training.
    assert all(tensor.data_ptr() % 64 == 0 for part in (loaded.parameters, loaded.history) for tensor in part.values())
