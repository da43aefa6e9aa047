"""The state of training in parts: what a worker has of it, its files, and one small file that says which of them count.

Each worker writes its rows; when all have, the first one replaces `checkpoint.json`, and only then are older parts removed.
So a kill at any moment leaves a whole state. Parts are ranges of rows: any number of workers can read them, or one process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import safetensors.torch
import torch
from torch import Tensor

from relatum.errors import DataError, RelatumError
from relatum.files import read_document, write_document
from relatum.models.base import Model, Parameters
from relatum.models.store import own_tensors
from relatum.tensor_files import read_tensor_file, write_tensor_file
from relatum.training.loop import State
from relatum.workers.group import Group
from relatum.workers.messages import packed, unpacked
from relatum.workers.shares import Shares

__all__ = ["gathered", "load_parts", "own_part", "remove_parts", "save_parts"]

_PUBLISHED, _FORMAT, _VERSION = "checkpoint.json", "relatum-checkpoint-parts", 1
_PART_FORMAT = "relatum-checkpoint-part"
_PART = re.compile(r"checkpoint-(refit-)?\d+-\d+-\d+of\d+\.safetensors")
_DICTS = ("parameters", "history", "mean", "best")
_NUMBERS = ("epoch", "step", "loss", "best_score", "best_epoch", "stale", "done", "refit", "revision", "seconds")
_PIECE = 1 << 26  # bytes that are gathered at once


class _Part(NamedTuple):
    file: str
    first: int
    last: int


def own_part(state: State, model: Model, shares: Shares) -> State:
    """Return a state with the rows of a worker's entities alone, each table in memory of its own."""
    return _mapped(state, model, lambda table: table[shares.first : shares.last].clone())


def save_parts(folder: Path, state: State, model: Model, shares: Shares, group: Group) -> None:
    """Write the state of all workers; it counts once all of them have written their part."""
    tag = f"checkpoint-{'refit-' if state.refit else ''}{state.epoch}-{state.step}"
    parts = [_Part(f"{tag}-{number}of{group.count}.safetensors", *found) for number, found in enumerate(shares.ranges)]
    group.together(lambda: _write_part(folder / parts[group.number].file, state, model, group))

    def publish() -> None:
        if not group.is_first:
            return
        numbers = {name: getattr(state, name) for name in _NUMBERS}
        if not math.isfinite(state.best_score):
            numbers["best_score"] = None
        content = {"entities": shares.entities, "parts": [list(part) for part in parts], "numbers": numbers}
        write_document(folder / _PUBLISHED, _FORMAT, _VERSION, content)
        _remove(folder, {part.file for part in parts})

    group.together(publish)


def load_parts(folder: Path, model: Model, first: int = 0, last: int | None = None) -> State | None:
    """Return the state that workers have saved, with the rows of the entities first..last; None where they saved none."""
    path = folder / _PUBLISHED
    if not path.exists():
        return None
    entities, parts, numbers = read_document(path, _FORMAT, _VERSION, _content)
    if entities != model.num_entities:
        raise DataError(f"{path}: is about {entities:,} entities, and the run has {model.num_entities:,}")
    last = entities if last is None else last
    found: dict[str, dict[str, Tensor]] = {name: {} for name in _DICTS}
    for part in parts:
        overlap = max(first, part.first), min(last, part.last)
        if part.first and overlap[0] >= overlap[1]:  # the first one is read by all: it has what every worker has
            continue
        for key, tensor in _read_part(folder / part.file).items():
            group_name, _, name = key.partition("/")
            table = found[group_name]
            if not _has_entities(model, name):
                table[name] = tensor
                continue
            if name not in table:
                table[name] = torch.empty(last - first, *tensor.shape[1:], dtype=tensor.dtype)
            if overlap[0] < overlap[1]:
                table[name][overlap[0] - first : overlap[1] - first] = tensor[
                    overlap[0] - part.first : overlap[1] - part.first
                ]
    return State(found["parameters"], found["history"], mean=found["mean"], best=found["best"], **numbers)


def remove_parts(folder: Path) -> None:
    """Remove what workers have saved, once one process has saved a later state."""
    (folder / _PUBLISHED).unlink(missing_ok=True)
    _remove(folder, set())


def gathered(parameters: Parameters, model: Model, shares: Shares, group: Group) -> Parameters | None:
    """Return whole parameters to the first worker, from what all have of them; None to the others. Rows come in pieces."""
    whole = dict(parameters)
    for name in sorted(parameters.keys() & set(model.entity_tables)):
        own = parameters[name]
        if group.is_first:
            whole[name] = torch.empty(shares.entities, *own.shape[1:], dtype=own.dtype)
        row = own.element_size() * math.prod(own.shape[1:])
        size = max(1, _PIECE // max(1, row * group.count))
        longest = max(last - first for first, last in shares.ranges)
        for start in range(0, longest, size):
            rows = own[start : start + size].contiguous().numpy()
            nothing = packed([rows[:0]])
            sent = [packed([rows]) if number == 0 else nothing for number in range(group.count)]
            for (first, _), message in zip(shares.ranges, group.exchange(sent), strict=True):
                piece = torch.from_numpy(unpacked(message)[0])
                if group.is_first and len(piece):
                    whole[name][first + start : first + start + len(piece)] = piece
    return whole if group.is_first else None


def _mapped(state: State, model: Model, change: Callable[[Tensor], Tensor]) -> State:
    """Return a state with another tensor for each that has a row per entity."""
    dicts: dict[str, Any] = {
        part: {name: change(table) if _has_entities(model, name) else table for name, table in getattr(state, part).items()}
        for part in _DICTS
    }
    return State(**dicts, **{name: getattr(state, name) for name in _NUMBERS})


def _has_entities(model: Model, name: str) -> bool:
    """Return whether a table, or what the optimizer remembers of it, has a row per entity."""
    return name.partition("/")[0] in model.entity_tables


def _write_part(path: Path, state: State, model: Model, group: Group) -> None:
    tensors = {
        f"{part}/{name}": table.detach().contiguous()
        for part in _DICTS
        for name, table in getattr(state, part).items()
        if group.is_first or _has_entities(model, name)
    }
    write_tensor_file(path, safetensors.torch.save(tensors), _PART_FORMAT, _VERSION, {})


def _read_part(path: Path) -> dict[str, Tensor]:
    stored = read_tensor_file(path, _PART_FORMAT, _VERSION)
    if stored is None:
        where = "on several hosts the run must lie in a directory that all of them share"
        raise RelatumError(f"{path}: this part of the checkpoint is missing or damaged; {where}")
    return own_tensors(stored.body)


def _content(whole: dict[str, Any]) -> tuple[int, list[_Part], dict[str, Any]]:
    parts = [_Part(str(file), int(first), int(last)) for file, first, last in whole["parts"]]
    numbers = {name: whole["numbers"][name] for name in _NUMBERS}
    if numbers["best_score"] is None:
        numbers["best_score"] = -math.inf
    bounds = [0, *(part.last for part in parts)]
    if [part.first for part in parts] != bounds[:-1] or bounds[-1] != whole["entities"]:
        raise DataError("its parts do not cover all entities")
    if not all(_PART.fullmatch(part.file) for part in parts):
        raise DataError("it names a file that is no part of a checkpoint")
    return int(whole["entities"]), parts, numbers


def _remove(folder: Path, kept: Iterable[str]) -> None:
    for path in folder.iterdir():
        if _PART.fullmatch(path.name) and path.name not in kept:
            path.unlink()
