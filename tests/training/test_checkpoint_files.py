"""What a checkpoint may hold, and how its files come and go; states here were made by hand, not trained."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from relatum.artefacts import read
from relatum.tensor_files import read_tensors, write_tensors
from relatum.training.checkpoint import (
    Numbers,
    best_tag,
    load_best,
    load_state,
    remove_state,
    require_fitting,
    save_best,
    save_state,
    saved_numbers,
    state_numbers,
)
from relatum.training.loop import State, start
from relatum.training.settings import TrainingSettings
from support.made_models import made_case
from support.mistakes import mistake
from support.recorded_writes import assert_survives_power_cuts, recorded_writes

NAME = "checkpoint.safetensors"
VERSIONS = (  # of the files of `state()`: another version would not be read by who has the program of today
    (NAME, "checkpoint", 4),
    ("checkpoint-best-2.safetensors", "checkpoint-best", 1),
)


def state(**changes: Any) -> State:
    """Return a small state in which every part differs from every other."""
    parts = {part: {"entities": torch.full((2, 3), float(number))} for number, part in enumerate(("p", "h", "m", "b"))}
    return State(parts["p"], parts["h"], mean=parts["m"], best=parts["b"], best_score=0.5, best_epoch=2, epoch=3, **changes)


def alike(first: State, second: State) -> bool:
    """Return whether two states are the same, to the bit."""
    parts = ("parameters", "history", "mean", "best")
    return saved_numbers(first) == saved_numbers(second) and all(
        getattr(first, part).keys() == getattr(second, part).keys()
        and all(torch.equal(tensor, getattr(second, part)[name]) for name, tensor in getattr(first, part).items())
        for part in parts
    )


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_checkpoint_survives_power_cuts_and_names_what_was_written_before(tmp_path: Path) -> None:
    with recorded_writes() as calls:
        save_state(tmp_path / NAME, state())
    best = tmp_path / "checkpoint-best-2.safetensors"
    for path in (best, tmp_path / NAME):
        assert_survives_power_cuts(calls, path)
    named = [call.target for call in calls if call.target is not None]
    assert named == [best, tmp_path / NAME]


def test_the_best_parameters_are_in_their_own_file_alone_and_nowhere_while_there_are_none(tmp_path: Path) -> None:
    save_state(tmp_path / NAME, state())
    (stored, best) = (read_tensors(tmp_path / name, f"relatum-{kind}", version) for name, kind, version in VERSIONS)
    assert stored is not None
    assert best is not None
    assert set(stored.arrays) == {f"{part}/entities" for part in ("parameters", "history", "mean")}
    assert set(best.arrays) == {"entities"}
    early = tmp_path / "early"
    early.mkdir()
    save_state(early / NAME, State({"entities": torch.ones(2, 3)}, {}))
    assert files(early) == [NAME]


def test_the_best_parameters_that_no_checkpoint_names_are_removed_after_it(tmp_path: Path) -> None:
    save_state(tmp_path / NAME, state())
    with recorded_writes() as calls:
        save_state(tmp_path / NAME, state(refit=1))
    (removed,) = (number for number, call in enumerate(calls) if call.what == "os.remove")
    assert calls[removed].path.name == "checkpoint-best-2.safetensors"
    assert removed > max(number for number, call in enumerate(calls) if call.target == tmp_path / NAME)
    assert files(tmp_path) == ["checkpoint-best-refit-2.safetensors", NAME]


def test_the_best_of_a_refit_has_a_name_of_its_own() -> None:
    assert best_tag(state()) == "checkpoint-best-2"
    assert best_tag(state(refit=4)) == "checkpoint-best-refit-2"


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    for one in (state(), state(refit=3, done=True, seconds=1.5), State({"entities": torch.ones(1)}, {})):
        save_state(tmp_path / NAME, one)
        loaded = load_state(tmp_path / NAME)
        assert loaded is not None
        assert alike(loaded, one)
    assert load_state(tmp_path) is None
    assert load_state(tmp_path / "nowhere") is None


def test_a_removed_checkpoint_leaves_nothing_of_itself_and_all_else(tmp_path: Path) -> None:
    save_state(tmp_path / NAME, state())
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "checkpoint-best-x.safetensors").touch()
    for _ in range(2):  # once more does no harm
        remove_state(tmp_path / NAME)
        assert files(tmp_path) == ["checkpoint-best-x.safetensors", "model.safetensors"]


@pytest.mark.parametrize("changed", ["best_epoch", "best_score", "refit"])
def test_the_best_parameters_are_those_of_a_state_or_none(tmp_path: Path, changed: str) -> None:
    path, one = tmp_path / "best", state()
    assert load_best(path, one) is None
    save_best(path, one.best, one)
    found = load_best(path, one)
    assert found is not None
    assert torch.equal(found["entities"], one.best["entities"])
    assert load_best(path, dataclasses.replace(one, **{changed: 7})) is None


def test_the_best_parameters_are_written_once(tmp_path: Path) -> None:
    path, one = tmp_path / "best", state()
    save_best(path, one.best, one)
    written = path.stat().st_ino, path.read_bytes()
    save_best(path, one.best, one)
    assert (path.stat().st_ino, path.read_bytes()) == written
    save_best(path, one.mean, one)
    assert path.read_bytes() != written[1]


@pytest.mark.parametrize(
    "name", ["model.safetensors", "checkpoint-best-x.safetensors", 3, ["x"], "../checkpoint-best-2.safetensors"]
)
def test_a_checkpoint_takes_no_other_file_for_its_best_parameters(tmp_path: Path, name: object) -> None:
    one = state()
    save_state(tmp_path / NAME, one)
    (tmp_path / "checkpoint-best-2.safetensors").rename(tmp_path / str(name))
    stored = read_tensors(tmp_path / NAME, "relatum-checkpoint", 4)
    assert stored is not None
    write_tensors(tmp_path / NAME, stored.arrays, "relatum-checkpoint", 4, {**stored.about, "best": name})
    assert load_state(tmp_path / NAME) is None


@pytest.mark.parametrize("about", [None, 0, [], ["ab"], [["best_score", 1]], {}, {"best_score": None, "best": "x" * 400}])
def test_numbers_that_are_none_are_no_state(tmp_path: Path, about: object) -> None:
    save_state(tmp_path / NAME, dataclasses.replace(state(), best={}))
    stored = read_tensors(tmp_path / NAME, "relatum-checkpoint", 4)
    assert stored is not None
    write_tensors(tmp_path / NAME, stored.arrays, "relatum-checkpoint", 4, about)
    assert load_state(tmp_path / NAME) is None


@pytest.mark.parametrize(
    ("name", "fitting", "wrong"),
    [
        ("epoch", [0, 1, 10**9], [-1, 1.0, True, "1", None, math.inf]),
        ("best_epoch", [0, 3], [-1, 0.5, False]),
        ("done", [True, False], [0, 1, None, "yes"]),
        ("loss", [0, -1.5, 3], [math.nan, math.inf, -math.inf, None, True, "1"]),
        ("seconds", [0.0, 9], [math.nan, None]),
        ("best_score", [0.5, 0, None], [math.nan, math.inf, "0.5", True]),
    ],
)
def test_every_number_is_what_it_is_called(name: str, fitting: list[Any], wrong: list[Any]) -> None:
    numbers = saved_numbers(state())
    for value in fitting:
        expected = -math.inf if name == "best_score" and value is None else value
        assert state_numbers(read(Numbers, {**numbers, name: value})) == {**numbers, name: expected}
    for value in wrong:
        with mistake("damaged-file", place=name):
            read(Numbers, {**numbers, name: value})


def test_numbers_that_are_missing_or_of_no_state_are_named() -> None:
    numbers = saved_numbers(state())
    del numbers["stale"]
    with mistake("damaged-file"):
        read(Numbers, numbers)
    with mistake("damaged-file"):
        read(Numbers, {**saved_numbers(state()), "some": 1})


def test_a_score_that_is_none_yet_is_written_as_none() -> None:
    assert saved_numbers(state())["best_score"] == 0.5
    assert saved_numbers(dataclasses.replace(state(), best_score=-math.inf))["best_score"] is None


FAULTS: dict[str, Callable[[Tensor], Tensor | None]] = {
    "is missing": lambda _: None,
    "has another shape or type": lambda tensor: tensor.reshape(-1, 1, 1),
    "has another shape or type, too": lambda tensor: tensor.double(),
    "holds a number that is not finite": lambda tensor: torch.full_like(tensor, math.nan),
}


@pytest.mark.parametrize("part", ["parameters", "history", "mean", "best"])
@pytest.mark.parametrize("fault", [*FAULTS, "is not one of the model"])
def test_a_state_of_another_model_is_refused(part: str, fault: str) -> None:
    case, settings = made_case("reale"), TrainingSettings(epochs=1)
    begun = start(case.model, settings, 0)
    begun = dataclasses.replace(begun, mean=dict(begun.parameters), best=dict(begun.parameters), best_epoch=1)
    require_fitting(Path("run") / NAME, begun, case.model, settings)
    tensors = dict(getattr(begun, part))
    name = "more" if fault not in FAULTS else min(tensors)
    changed = torch.zeros(1) if fault not in FAULTS else FAULTS[fault](tensors.pop(name))
    if changed is not None:
        tensors[name] = changed
    with mistake("checkpoint-of-other-run", place=Path("run") / NAME):
        require_fitting(Path("run") / NAME, dataclasses.replace(begun, **{part: tensors}), case.model, settings)


def test_only_what_cannot_be_there_yet_may_be_missing() -> None:
    case, settings = made_case("reale"), TrainingSettings(epochs=1)
    begun = start(case.model, settings, 0)
    require_fitting(Path(NAME), dataclasses.replace(begun, mean={}, best={}), case.model, settings)
    for changes in ({"best_epoch": 1}, {"done": True}):
        with mistake("checkpoint-of-other-run"):
            require_fitting(Path(NAME), dataclasses.replace(begun, mean={}, best={}, **changes), case.model, settings)
    full = dataclasses.replace(begun, mean={}, best=dict(begun.parameters), best_epoch=1, done=True)
    require_fitting(Path(NAME), full, case.model, settings)
    with mistake("checkpoint-of-other-run"):
        spoiled = {**full.best, "bias": full.best["bias"] * math.nan}
        require_fitting(Path(NAME), dataclasses.replace(full, best=spoiled), case.model, settings)
    with mistake("checkpoint-of-other-run"):
        require_fitting(Path(NAME), dataclasses.replace(begun, parameters={}), case.model, settings)
