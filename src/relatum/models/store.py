"""Saved models: `model.safetensors`, `config.json`, `entities.txt`, `relations.txt`. No pickle is written or read."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from relatum.artefacts import Count, read
from relatum.closed_folders import open_file
from relatum.data.hypergraph import Block, Hypergraph
from relatum.data.name_lines import lines_of
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import StoreError
from relatum.files import parse_json, read_whole, write_bytes
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.tensor_files import map_arrays, read_tensors, require_room, write_tensors
from relatum.version import __version__

_VERSION = 1
_FORMAT = "relatum-model"  # of the tensors, whose metadata tell which version of relatum wrote them
_ROWS = 1 << 16  # of an entity table that are looked at together
_FACTS = "facts/"  # tensors of a model that reads facts: facts/ARITY, int32[1 + arity, n]


class Config(TypedDict):
    """What a saved model is: its type, its settings, and the checksums of its names."""

    format: Count
    model: str
    settings: dict[str, Any]  # checked by the type of the model's settings
    entities: str
    relations: str
    parameters: dict[str, list[Count]]


def save_model(folder: Path, model: Model, parameters: Parameters) -> None:
    """Write a model into an existing folder; each file is written under a temporary name and then renamed."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in parameters.items()}
    for name in model.entity_tables:  # those that were rounded lose nothing
        if all(torch.equal(part.bfloat16().float(), part) for part in torch.split(tensors[name], _ROWS)):
            tensors[name] = tensors[name].bfloat16()
    if model.reads_facts:
        for arity, block in model.graph.blocks.items():
            tensors[f"{_FACTS}{arity}"] = torch.from_numpy(np.stack(block.rows))
    lines = lines_of(model.graph.entities.names)
    entities = lines.text.tobytes() + b"\n" * (len(lines) > 0)
    relations = "".join(_line(relation) for relation in model.schema).encode()
    config = {
        "format": _VERSION,
        "model": model.name,
        "settings": dataclasses.asdict(model.settings),
        "entities": hashlib.sha256(entities).hexdigest(),
        "relations": hashlib.sha256(relations).hexdigest(),
        # Sorted, for a checkpoint keeps no order, and a resumed run is to have the same bytes.
        "parameters": {name: list(parameters[name].shape) for name in sorted(parameters)},
    }
    write_bytes(folder / "entities.txt", entities)
    write_bytes(folder / "relations.txt", relations)
    about = {"relatum": __version__, "model": model.name}
    write_own_tensors(folder / "model.safetensors", tensors, _FORMAT, _VERSION, about)
    write_bytes(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())  # last: without it, it is no model


def load_model(folder: Path) -> tuple[Model, Parameters]:
    """Return a saved model and its parameters, on the CPU; whatever does not fit together is refused."""
    try:
        config = parse_json(read_whole(folder / "config.json"))
        if type(config["format"]) is not int or config["format"] != _VERSION:
            raise StoreError(
                "other-format",
                f"saved in format {config['format']}, but this version of relatum reads {_VERSION}",
                place=folder,
            )
        if config["model"] not in MODELS:
            raise StoreError("unknown-model", f"unknown model {config['model']!r}", place=folder)
        read(Config, config)
        model_type = MODELS[config["model"]]
        entities = _checked(folder / "entities.txt", config["entities"])
        relations = _checked(folder / "relations.txt", config["relations"]).decode()
        tensors = _tensors(folder / "model.safetensors")
        vocabulary = Vocabulary.parse(entities.removesuffix(b"\n"))
        schema = Schema(map(_relation, relations.removesuffix("\n").split("\n") if relations else ()))
        facts = [tensors.pop(name).numpy() for name in sorted(tensors) if name.startswith(_FACTS)]
        graph = Hypergraph(vocabulary, schema, (Block(rows[0], rows[1:]) for rows in facts))
        model = model_type(graph, model_type.settings_type(**config["settings"]))
        return model, _fitting(folder, model, tensors)
    except FileNotFoundError as error:
        raise StoreError(
            "incomplete-model", f"not a saved model, for {Path(str(error.filename)).name} is missing", place=folder
        ) from None
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise StoreError(
            "damaged-file", f"a damaged or foreign model ({type(error).__name__}: {reason})", place=folder
        ) from None


def write_own_tensors(path: Path, tensors: Mapping[str, Tensor], format_name: str, version: int, about: object) -> None:
    """Write tensors of the CPU, without a copy of them in memory."""
    arrays = {name: _bits(tensor.detach()).numpy() for name, tensor in tensors.items()}
    write_tensors(path, arrays, format_name, version, about)


def holds_tensors(path: Path, tensors: Mapping[str, Tensor], format_name: str, version: int, about: object) -> bool:
    """Return whether a file is whole and has just these tensors, to the bit, and this to say about itself."""
    stored = map_arrays(path, format_name, version, None)
    if stored is None or stored.about != about or stored.arrays.keys() != tensors.keys():
        return False
    arrays = {name: _bits(tensor.detach()).numpy() for name, tensor in tensors.items()}
    return all(
        found.dtype == arrays[name].dtype and found.shape == arrays[name].shape and _same_bits(found, arrays[name])
        for name, found in stored.arrays.items()
    )


def _same_bits(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Return whether arrays of one type are the same to the bit, so that a number that is none equals itself."""
    first, second = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (one, other))
    return np.array_equal(first, second)


def read_own_tensors(path: Path, format_name: str, version: int) -> tuple[dict[str, Tensor], Any] | None:
    """Return tensors, each in memory of its own, and what their file says about itself; None as `read_tensors` does.

    A file may have its numbers anywhere, and where they lie in memory decides in which order kernels sum them: read as they
    stand, the same numbers would not give the same bits.
    """
    found: list[Tensor] = []

    def empty(shape: list[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        wanted = torch.bfloat16 if dtype == np.uint16 else torch.from_numpy(np.empty(0, dtype)).dtype
        found.append(torch.empty(shape, dtype=wanted))
        return np.asarray(_bits(found[-1]).numpy())

    stored = read_tensors(path, format_name, version, empty)
    return None if stored is None else (dict(zip(stored.arrays, found, strict=True)), stored.about)


def _bits(tensor: Tensor) -> Tensor:
    """Return a tensor as numpy can have it."""
    return tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor


def _tensors(path: Path) -> dict[str, Tensor]:
    stored = read_own_tensors(path, _FORMAT, _VERSION)
    if stored is None:
        path.lstat()  # one that is not there is missing, not damaged
        raise StoreError("damaged-file", f"damaged, or no parameters of format {_VERSION}", place=path)
    return stored[0]


def _fitting(folder: Path, model: Model, tensors: dict[str, Tensor]) -> Parameters:
    """Return the parameters if they are exactly those that the model has, in name, shape and type."""
    expected = model.parameter_shapes()
    for name in model.entity_tables:
        if name in tensors and tensors[name].dtype == torch.bfloat16:
            tensors[name] = tensors[name].float()
    for name in sorted(expected.keys() | tensors.keys()):
        if fault := fault_of(tensors.get(name), expected.get(name)):
            reason = f"parameter {name!r} {fault}"
            raise StoreError("model-of-other-shape", reason, place=folder, remedy="train the model again")
    return {name: tensors[name] for name in expected}


def fault_of(found: Tensor | None, wanted: Tensor | None) -> str | None:
    """Return why a tensor is not like the one that is wanted, with finite numbers; None where it is."""
    if found is None:
        return "is missing"
    if wanted is None:
        return "is not one of the model"
    if found.shape != wanted.shape:
        return f"has shape {[*found.shape]}, not {[*wanted.shape]}"
    if found.dtype != wanted.dtype:
        return f"is {found.dtype}, not {wanted.dtype}"
    return None if all_finite(found) else "holds a number that is not finite"


def all_finite(tensor: Tensor) -> bool:
    """Return whether a tensor holds no NaN and no infinity, in one pass and without a copy."""
    return tensor.numel() == 0 or all(torch.isfinite(one).item() for one in torch.aminmax(tensor))


def _checked(path: Path, checksum: str) -> bytes:
    require_room(path)
    with open_file(path) as file:
        content = file.read()
    if hashlib.sha256(content).hexdigest() != checksum:
        raise StoreError("model-of-other-shape", "not the names that the model was trained with", place=path)
    return content


def _line(relation: RelationSchema) -> str:
    return "\t".join((relation.name, str(relation.arity), *(relation.roles or ()))) + "\n"


def _relation(line: str) -> RelationSchema:
    name, arity, *roles = line.split("\t")
    if not (arity.isascii() and arity.isdecimal()):
        raise ValueError(f"arity {arity!r} of relation {name!r}")
    return RelationSchema(name, int(arity), tuple(roles) or None)
