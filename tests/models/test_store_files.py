"""The files of a saved model: in which order they come to be, what they hold to the byte, and what tensors they take."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor

from relatum import Hypergraph, RelationSchema, memory
from relatum.models import MODELS
from relatum.models.store import (
    all_finite,
    holds_tensors,
    load_model,
    read_own_tensors,
    save_model,
    write_own_tensors,
)
from support.made_models import made_case
from support.mistakes import mistake
from support.recorded_writes import assert_survives_power_cuts, recorded_writes

TENSORS = {
    "weights": torch.tensor([[1.0, math.nan], [3.0, -0.0]]),
    "half": torch.tensor([1.5, 2.5]).bfloat16(),
    "ids": torch.arange(3, dtype=torch.int32),
    "one": torch.tensor(7.0),
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    case = made_case("reale")
    save_model(tmp_path, case.model, case.parameters())
    return tmp_path


def test_every_file_survives_power_cuts_and_the_last_one_makes_it_a_model(tmp_path: Path) -> None:
    case = made_case("reale")
    with recorded_writes() as calls:
        save_model(tmp_path, case.model, case.parameters())
    names = ["entities.txt", "relations.txt", "model.safetensors", "config.json"]
    assert [call.target for call in calls if call.target is not None] == [tmp_path / name for name in names]
    for name in names:
        assert_survives_power_cuts(calls, tmp_path / name)


@pytest.mark.parametrize(("facts", "text"), [([], b""), (["a"], b"a\n"), (["a", "b"], b"a\nb\n")])
def test_names_stand_one_to_a_line(facts: list[str], text: bytes, tmp_path: Path) -> None:
    graph = Hypergraph.of([("is", name) for name in facts], [RelationSchema("is", 1, ("who",)), RelationSchema("met", 2)])
    model = MODELS["m-distmult"](graph)
    save_model(tmp_path, model, model.init_parameters(torch.Generator().manual_seed(0)))
    assert (tmp_path / "entities.txt").read_bytes() == text
    assert (tmp_path / "relations.txt").read_bytes() == b"is\t1\twho\nmet\t2\n"
    loaded, _ = load_model(tmp_path)
    assert (loaded.graph.entities, loaded.schema) == (graph.entities, graph.schema)


def test_the_config_is_readable_text(saved: Path) -> None:
    text = (saved / "config.json").read_text()
    assert text == json.dumps(json.loads(text), indent=2) + "\n"
    assert list(json.loads(text)["parameters"]) == ["bias", "entities", "relations"]


def test_tensors_come_back_as_they_were_in_memory_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    write_own_tensors(path, TENSORS, "relatum-test", 3, {"a": 1})
    found = read_own_tensors(path, "relatum-test", 3)
    assert found is not None
    assert found[1] == {"a": 1}
    assert found[0].keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert (found[0][name].dtype, found[0][name].shape) == (tensor.dtype, tensor.shape)
        assert torch.equal(found[0][name].nan_to_num(9.0), tensor.nan_to_num(9.0))
        found[0][name].zero_()  # nobody else's memory
    for wrong in (("relatum-other", 3), ("relatum-test", 4)):
        assert read_own_tensors(path, *wrong) is None
    assert read_own_tensors(tmp_path / "nowhere", "relatum-test", 3) is None


CHANGES: dict[str, Callable[[dict[str, Tensor]], object]] = {
    "a bit": lambda tensors: tensors.update(weights=torch.tensor([[1.0, math.nan], [3.0, 0.0]])),
    "a shape": lambda tensors: tensors.update(weights=tensors["weights"].reshape(4)),
    "a type": lambda tensors: tensors.update(ids=torch.tensor([0.0, 1.0, 2.0])),
    "a type of the same bits": lambda tensors: tensors.update(ids=tensors["ids"].view(torch.float32)),
    "one less": lambda tensors: tensors.pop("one"),
    "one more": lambda tensors: tensors.update(two=torch.zeros(2)),
    "another name": lambda tensors: tensors.update(two=tensors.pop("one")),
}


def test_a_file_holds_just_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    assert holds_tensors(path, TENSORS, "relatum-test", 3, {"a": 1}) is False
    write_own_tensors(path, TENSORS, "relatum-test", 3, {"a": 1})
    assert holds_tensors(path, TENSORS, "relatum-test", 3, {"a": 1}) is True
    assert holds_tensors(path, dict(reversed(TENSORS.items())), "relatum-test", 3, {"a": 1}) is True
    assert holds_tensors(path, TENSORS, "relatum-test", 4, {"a": 1}) is False
    assert holds_tensors(path, TENSORS, "relatum-test", 3, {"a": 2}) is False


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_differs_is_noticed(change: str, tmp_path: Path) -> None:
    changed = dict(TENSORS)
    CHANGES[change](changed)
    write_own_tensors(tmp_path / "tensors", TENSORS, "relatum-test", 3, None)
    assert not holds_tensors(tmp_path / "tensors", changed, "relatum-test", 3, None)


def test_all_finite_is_about_every_number() -> None:
    assert all_finite(torch.empty(0, 3))
    assert all_finite(torch.ones(1))
    assert all_finite(torch.tensor([1.0, -3e38, 3e38]))
    for wrong in (math.nan, math.inf, -math.inf):
        assert not all_finite(torch.tensor([wrong]))
        assert not all_finite(torch.tensor([[0.0, 1.0], [wrong, 2.0]]))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_parameters_that_are_no_numbers_are_refused(wrong: float, tmp_path: Path) -> None:
    case = made_case("reale")
    parameters = case.parameters()
    parameters["bias"][-1, -1] = wrong
    save_model(tmp_path, case.model, parameters)
    with mistake("model-of-other-shape"):
        load_model(tmp_path)


def test_only_rows_of_entities_may_be_rounded(saved: Path) -> None:
    stored = read_own_tensors(saved / "model.safetensors", "relatum-model", 1)
    assert stored is not None
    tensors = {**stored[0], "bias": stored[0]["bias"].bfloat16()}
    write_own_tensors(saved / "model.safetensors", tensors, "relatum-model", 1, stored[1])
    with mistake("model-of-other-shape"):
        load_model(saved)


def test_a_table_of_which_a_part_only_is_rounded_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.models.store._ROWS", 7)
    case = made_case("reale")
    parameters = case.parameters()
    parameters["entities"][:-1] = parameters["entities"][:-1].bfloat16().float()
    save_model(tmp_path, case.model, parameters)
    assert torch.equal(load_model(tmp_path)[1]["entities"], parameters["entities"])


@pytest.mark.parametrize("arity", ["x", "-2", "²", "٣", "", "9" * 18])
def test_an_arity_is_written_in_plain_digits_and_not_too_many(saved: Path, arity: str) -> None:
    text = f"a\t{arity}\n".encode()
    (saved / "relations.txt").write_bytes(text)
    config = {**json.loads((saved / "config.json").read_text()), "relations": hashlib.sha256(text).hexdigest()}
    (saved / "config.json").write_text(json.dumps(config))
    with mistake("damaged-file"):
        load_model(saved)


def test_tensors_that_overlap_are_refused(saved: Path) -> None:
    header = json.dumps({"bias": {"dtype": "F32", "shape": [9], "data_offsets": [0, 4]}}).encode()
    (saved / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"1234")
    with mistake("damaged-file"):
        load_model(saved)


@pytest.mark.parametrize("name", ["model.safetensors", "entities.txt"])
def test_files_that_memory_cannot_hold_are_refused_before_they_are_read(
    name: str, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable: 1 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    monkeypatch.setattr(memory, "_last", (-math.inf, 0))
    with (saved / name).open("r+b") as file:
        file.truncate((16 << 20) + 1)  # bytes that the disk need not hold; 16 MB always fit
    with mistake("larger-than-memory"):
        load_model(saved)


def test_a_model_of_facts_has_them_by_arity(tmp_path: Path) -> None:
    case = made_case("g-mpnn")
    save_model(tmp_path, case.model, case.parameters())
    assert load_model(tmp_path)[0].graph == case.graph
    tensors = safetensors.torch.load((tmp_path / "model.safetensors").read_bytes())
    for arity, block in case.graph.blocks.items():
        assert np.array_equal(tensors[f"facts/{arity}"].numpy(), np.stack(block.rows))
    plain = made_case("reale")
    save_model(tmp_path, plain.model, plain.parameters())
    assert not any("facts" in name for name in safetensors.torch.load((tmp_path / "model.safetensors").read_bytes()))
