"""Saved models: what does not fit together is refused in one sentence, and a kill leaves no half of anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch

from relatum.errors import StoreError
from relatum.models.store import load_model, read_own_tensors, save_model, write_own_tensors
from support.full_disk import LIMITED, files_up_to
from support.made_models import made_case
from support.mistakes import mistake


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    case = made_case("reale")
    save_model(tmp_path, case.model, case.parameters())
    return tmp_path


def edit_config(**changes: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        config = {**json.loads((folder / "config.json").read_text()), **changes}
        (folder / "config.json").write_text(json.dumps({name: value for name, value in config.items() if value is not ...}))

    return edit


def edit_tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        stored = read_own_tensors(folder / "model.safetensors", "relatum-model", 1)
        assert stored is not None
        change(stored[0])
        write_own_tensors(folder / "model.safetensors", stored[0], "relatum-model", 1, stored[1])

    return edit


def truncate(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-20])  # type: ignore[return-value]


DAMAGES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no config": (lambda folder: (folder / "config.json").unlink(), "incomplete-model", "config.json"),
    "no tensors": (lambda folder: (folder / "model.safetensors").unlink(), "incomplete-model", "model.safetensors"),
    "no entities": (lambda folder: (folder / "entities.txt").unlink(), "incomplete-model", "entities.txt"),
    "cut config": (truncate("config.json"), "damaged-file", ""),
    "cut tensors": (truncate("model.safetensors"), "damaged-file", "no parameters of format 1"),
    "cut entities": (truncate("entities.txt"), "model-of-other-shape", "names"),
    "other relations": (lambda folder: (folder / "relations.txt").write_text("sold\t3\n"), "model-of-other-shape", "names"),
    "pickle": (lambda folder: (folder / "model.safetensors").write_bytes(b"\x80\x04cos\nsystem\n."), "damaged-file", ""),
    "newer format": (edit_config(format=2), "other-format", "format 2"),
    "unknown model": (edit_config(model="transformer"), "unknown-model", "'transformer'"),
    "unknown setting": (edit_config(settings={"depth": 3}), "damaged-file", ""),
    "impossible setting": (edit_config(settings={"dim": 12, "window": 5}), "damaged-file", "must divide dim = 12"),
    "other dimension": (edit_config(settings={"dim": 9, "window": 3}), "model-of-other-shape", ", 4], not ["),
    "no entities in the config": (edit_config(entities=...), "damaged-file", ""),
    "list for settings": (edit_config(settings=[]), "damaged-file", ""),
    "list for a setting": (edit_config(settings={"dim": [1]}), "damaged-file", ""),
    "list for a model": (edit_config(model=[]), "damaged-file", ""),
    "true for a format": (edit_config(format=True), "other-format", ""),
    "number for a format": (edit_config(format=1.0), "other-format", ""),
    "list for a config": (lambda folder: (folder / "config.json").write_text("[]"), "damaged-file", ""),
    "missing entities": (edit_tensors(lambda t: t.pop("entities")), "model-of-other-shape", "'entities' is missing"),
    "long entities": (edit_tensors(lambda t: t.update(entities=t["entities"].double())), "model-of-other-shape", "64"),
    "missing parameter": (edit_tensors(lambda tensors: tensors.pop("bias")), "model-of-other-shape", "'bias' is missing"),
    "extra parameter": (edit_tensors(lambda t: t.update(more=torch.zeros(2))), "model-of-other-shape", "'more'"),
    "other type": (edit_tensors(lambda t: t.update(bias=t["bias"].double())), "model-of-other-shape", "64, not torch.f"),
    "wrong facts": (
        edit_tensors(lambda t: t.update({"facts/2": torch.tensor([[9], [9], [99]]).int()})),
        "damaged-file",
        "ids run from",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_fit_is_refused_in_one_sentence(damage: str, saved: Path) -> None:
    harm, code, word = DAMAGES[damage]
    harm(saved)
    with mistake(code) as caught:
        load_model(saved)
    assert isinstance(caught.value, StoreError)
    assert word in caught.value.reason
    assert "\n" not in caught.value.reason
    assert caught.value.place.startswith(str(saved))


def test_the_order_of_the_parameters_makes_no_difference(saved: Path) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    model, parameters = load_model(saved)
    save_model(saved, model, dict(reversed(parameters.items())))
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


@LIMITED
def test_a_save_that_fails_half_way_leaves_the_old_model(saved: Path) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    for size in (0, 1, len(before["entities.txt"]) - 1, len(before["model.safetensors"]) - 1):
        case = made_case("reale")
        with files_up_to(size), pytest.raises(OSError, match="too large"):
            save_model(saved, case.model, {name: tensor + 1 for name, tensor in case.parameters().items()})
        assert {path.name: path.read_bytes() for path in saved.iterdir()} == before


def test_rows_of_entities_that_were_rounded_take_half_and_come_back_as_they_were(tmp_path: Path) -> None:
    case = made_case("reale")
    parameters, whole, half = case.parameters(), tmp_path / "whole", tmp_path / "half"
    rounded = {**parameters, "entities": parameters["entities"].bfloat16().float()}
    for folder, given in ((whole, parameters), (half, rounded)):
        folder.mkdir()
        save_model(folder, case.model, given)
        found = load_model(folder)[1]
        assert all(torch.equal(found[name], tensor) and found[name].dtype == tensor.dtype for name, tensor in given.items())
    types = {
        folder.name: safetensors.torch.load((folder / "model.safetensors").read_bytes())["entities"].dtype
        for folder in (whole, half)
    }
    assert types == {"whole": torch.float32, "half": torch.bfloat16}
