"""The state of training in parts: what has not changed is not written again; and scratch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist

from relatum import Hypergraph
from relatum.models.base import Model
from relatum.training.checkpoint import saved_numbers
from relatum.training.loop import State, train
from relatum.training.settings import TrainingSettings
from relatum.workers.group import Group, Shares
from relatum.workers.states import load_parts, mapped_table, remove_scratch, save_parts, scratch_folder
from support.full_disk import LIMITED, files_up_to
from support.made_models import made_case
from support.mistakes import mistake

GRAPH = Hypergraph.of([("knows", *pair) for pair in ("ab", "bc", "cd", "da", "ac", "bd")])
DICTS = ("parameters", "history", "mean", "best")


@pytest.fixture
def group() -> Iterator[Group]:
    """Return a group of one worker."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    found = Group()
    yield found
    found.close()


@pytest.fixture
def model() -> Model:
    return made_case("reale", GRAPH).model


@pytest.fixture
def state(model: Model) -> State:
    return train(model, GRAPH, TrainingSettings(epochs=2, batch_size=3, num_negatives=5), 0)


def require_same(found: State | None, expected: State) -> None:
    assert found is not None
    for part in DICTS:
        tensors, others = getattr(found, part), getattr(expected, part)
        assert tensors.keys() == others.keys()
        assert all(torch.equal(tensor, others[name]) for name, tensor in tensors.items())
    assert saved_numbers(found) == saved_numbers(expected)


def test_the_best_parameters_are_written_when_they_change(tmp_path: Path, model: Model, state: State, group: Group) -> None:
    shares = Shares(model.num_entities, 1, 0)
    save_parts(tmp_path, state, model, shares, group)
    require_same(load_parts(tmp_path, model), state)
    best = tmp_path / "checkpoint-best-2-0of1.safetensors"
    before = best.stat().st_ino
    later = replace(state, epoch=3, parameters=state.best, stale=1)
    save_parts(tmp_path, later, model, shares, group)
    assert best.stat().st_ino == before
    require_same(load_parts(tmp_path, model), later)
    better = replace(later, epoch=4, best={name: tensor + 1 for name, tensor in state.best.items()}, best_epoch=4)
    save_parts(tmp_path, better, model, shares, group)
    require_same(load_parts(tmp_path, model), better)
    names = {"checkpoint.json", "checkpoint-4-0-0of1.safetensors", "checkpoint-best-4-0of1.safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == names
    (tmp_path / "checkpoint-best-4-0of1.safetensors").unlink()
    with mistake("missing-part"):
        load_parts(tmp_path, model)


def test_a_table_lies_in_its_file_and_stays_when_another_takes_its_name(tmp_path: Path) -> None:
    folder = scratch_folder(tmp_path)
    first = mapped_table(folder / "entities", (5, 3), np.dtype(np.float32))
    first[:] = torch.arange(15.0).view(5, 3)
    assert first.data_ptr() % 64 == 0
    assert np.array_equal(np.fromfile(folder / "entities", np.float32), np.arange(15))
    second = mapped_table(folder / "entities", (2, 0), np.dtype(np.float32))
    remove_scratch(tmp_path)
    assert not list(tmp_path.iterdir())
    assert second.shape == (2, 0)
    assert first.sum() == 105


@LIMITED
def test_a_full_disk_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    with files_up_to(1000), pytest.raises(OSError, match="too large"):
        mapped_table(tmp_path / "entities", (1000, 3), np.dtype(np.float32))
