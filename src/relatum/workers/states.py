"""The state of training in parts: what a worker has of it, its files, and one small file that says which of them count.

Each worker writes its rows, those of the best parameters into a file of their own if they have changed; when all have, the
first one replaces `checkpoint.json`, and only then are older parts removed. So a kill at any moment leaves a whole state.
Parts are ranges of rows: any number of workers can read them, or one process. What workers can make again, they share in a
scratch folder of the run, which is removed at the end, and before another start.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor

from relatum.artefacts import Count, read
from relatum.closed_folders import make_folder, names_in, open_file, remove_file, remove_folder
from relatum.errors import DataError, RelatumError
from relatum.files import is_there, read_document, write_document
from relatum.models.base import Model, Parameters
from relatum.models.store import read_own_tensors, write_own_tensors
from relatum.training.checkpoint import Numbers, best_tag, load_best, save_best, saved_numbers, state_numbers
from relatum.training.loop import State
from relatum.workers.group import Group, Shares, packed, unpacked

_PUBLISHED, _FORMAT, _VERSION = "checkpoint.json", "relatum-checkpoint-parts", 2
_PART_FORMAT, _PART_VERSION = "relatum-checkpoint-part", 1
_PART = re.compile(r"checkpoint-(best-)?(refit-)?\d+(-\d+){1,2}of\d+\.safetensors")
_DICTS = ("parameters", "history", "mean", "best")
_SCRATCH = ".scratch"
_PIECE = 1 << 26  # bytes that are gathered at once


class _Part(NamedTuple):
    file: str
    first: Count
    last: Count
    best: str | None  # the file of the best parameters, once there are some


def own_part(state: State, model: Model, shares: Shares) -> State:
    """Return a state with the rows of a worker's entities alone, each table in memory of its own."""

    def own(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: table[shares.first : shares.last].clone() if _has_entities(model, name) else table
            for name, table in tensors.items()
        }

    changes: dict[str, Any] = {name: own(getattr(state, name)) for name in _DICTS}
    return replace(state, **changes)


def save_parts(folder: Path, state: State, model: Model, shares: Shares, group: Group) -> None:
    """Write the state of all workers; it counts once all of them have written their part."""
    tag = f"checkpoint-{'refit-' if state.refit else ''}{state.epoch}-{state.step}"
    parts = []
    for number, found in enumerate(shares.ranges):
        ending = f"{number}of{group.count}.safetensors"
        parts.append(_Part(f"{tag}-{ending}", *found, f"{best_tag(state)}-{ending}" if state.best else None))
    group.together(lambda: _write_part(folder, parts[group.number], state, model, group))

    def publish() -> None:
        if not group.is_first:
            return
        content = {"entities": shares.entities, "parts": [part._asdict() for part in parts], "numbers": saved_numbers(state)}
        write_document(folder / _PUBLISHED, _FORMAT, _VERSION, content)
        _remove(folder, {name for part in parts for name in (part.file, part.best)})

    group.together(publish)


def load_parts(folder: Path, model: Model, first: int = 0, last: int | None = None) -> State | None:
    """Return the state that workers have saved, with the rows of the entities first..last; None where they saved none."""
    path = folder / _PUBLISHED
    if not is_there(path):
        return None
    entities, parts, numbers = read_document(path, _FORMAT, _VERSION, _content)
    if entities != model.num_entities:
        raise DataError(
            "parts-of-two-runs", f"is about {entities:,} entities, and the run has {model.num_entities:,}", place=path
        )
    last = entities if last is None else last
    found: dict[str, dict[str, Tensor]] = {name: {} for name in _DICTS}
    for part in parts:
        overlap = max(first, part.first), min(last, part.last)
        if part.first and overlap[0] >= overlap[1]:  # the first one is read by all: it has what every worker has
            continue
        for key, tensor in _read_part(folder, part, numbers).items():
            group_name, _, name = key.partition("/")
            if group_name not in found:
                raise _missing(folder / part.file)
            table = found[group_name]
            if not _has_entities(model, name):
                table[name] = tensor
                continue
            if len(tensor) != part.last - part.first or tensor.shape[1:] != table.get(name, tensor).shape[1:]:
                raise _missing(folder / part.file)
            if name not in table:
                table[name] = torch.empty(last - first, *tensor.shape[1:], dtype=tensor.dtype)
            if overlap[0] < overlap[1]:
                table[name][overlap[0] - first : overlap[1] - first] = tensor[
                    overlap[0] - part.first : overlap[1] - part.first
                ]
    return State(found["parameters"], found["history"], mean=found["mean"], best=found["best"], **numbers)


def remove_parts(folder: Path) -> None:
    """Remove what workers have saved, once one process has saved a later state."""
    remove_file(folder / _PUBLISHED)
    _remove(folder, set())


def gathered(parameters: Parameters, model: Model, shares: Shares, group: Group, folder: Path) -> Parameters | None:
    """Return whole parameters to the first worker, from what all have of them; None to the others.

    Rows come in pieces, and go to tables that are mapped from files in a folder.
    """
    whole, names = dict(parameters), sorted(parameters.keys() & set(model.entity_tables))

    def make_room() -> None:
        for name in names if group.is_first else ():
            own = parameters[name]
            whole[name] = mapped_table(folder / name, (shares.entities, *own.shape[1:]), own.numpy().dtype)

    group.together(make_room)
    for name in names:
        own = parameters[name]
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


def _has_entities(model: Model, name: str) -> bool:
    """Return whether a table, or what the optimizer remembers of it, has a row per entity."""
    return name.partition("/")[0] in model.entity_tables


def _write_part(folder: Path, part: _Part, state: State, model: Model, group: Group) -> None:
    """Write what this worker has: its entities, and where it is the first also what all workers have."""

    def own(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: table.detach().contiguous()
            for name, table in tensors.items()
            if group.is_first or _has_entities(model, name)
        }

    if part.best is not None:
        save_best(folder / part.best, own(state.best), state)
    tensors = {f"{which}/{name}": table for which in _DICTS[:-1] for name, table in own(getattr(state, which)).items()}
    write_own_tensors(folder / part.file, tensors, _PART_FORMAT, _PART_VERSION, {})


def _read_part(folder: Path, part: _Part, numbers: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the tensors of a part, the best parameters among them."""
    stored = read_own_tensors(folder / part.file, _PART_FORMAT, _PART_VERSION)
    if stored is None:
        raise _missing(folder / part.file)
    if part.best is None:
        return stored[0]
    best = load_best(folder / part.best, State({}, {}, **numbers))
    if best is None:
        raise _missing(folder / part.best)
    return {**stored[0], **{f"best/{name}": tensor for name, tensor in best.items()}}


def _missing(path: Path) -> RelatumError:
    where = "on several hosts the run must lie in a directory that all of them share"
    return RelatumError("missing-part", f"this part of the checkpoint is missing or damaged; {where}", place=path)


class _Published(TypedDict):
    """What the file says that counts: of which parts a checkpoint is made, by the entities of each."""

    entities: Count
    parts: list[_Part]
    numbers: Numbers


def _content(whole: dict[str, Any]) -> tuple[int, list[_Part], dict[str, Any]]:
    found = read(_Published, whole)
    parts, bounds = found["parts"], [0, *(part.last for part in found["parts"])]
    if [part.first for part in parts] != bounds[:-1] or bounds[-1] != found["entities"]:
        raise DataError("parts-of-two-runs", "its parts do not cover all entities")
    if not all(_PART.fullmatch(name) for part in parts for name in (part.file, part.best) if name is not None):
        raise DataError("parts-of-two-runs", "it names a file that is no part of a checkpoint")
    return found["entities"], parts, state_numbers(found["numbers"])


def _remove(folder: Path, kept: Container[str | None]) -> None:
    for name in names_in(folder):
        if _PART.fullmatch(name) and name not in kept:
            remove_file(folder / name)


def scratch_folder(run: Path) -> Path:
    """Return the folder, which is made if it is not there."""
    folder = run / _SCRATCH
    make_folder(folder)
    return folder


def remove_scratch(run: Path) -> None:
    """Remove the folder, and what killed workers may have left in it."""
    remove_folder(run / _SCRATCH)


def stale_scratch(run: Path) -> Path | None:
    """Return the folder that killed workers have left in a run that nobody trains, if there is one."""
    folder = run / _SCRATCH
    return folder if folder.is_dir() and not folder.is_symlink() else None


def mapped_table(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """Return a table of zeros in a new file, which the system keeps in memory as far as there is room.

    It begins at a page, so that kernels sum it as they do any other.
    """
    size = max(1, math.prod(shape) * dtype.itemsize)
    remove_file(path)  # one that is mapped stays as it is
    with open_file(path, "x+b") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)  # else a full disk would end the process when rows are written
        return torch.from_numpy(np.memmap(file, dtype, "r+", shape=shape))
