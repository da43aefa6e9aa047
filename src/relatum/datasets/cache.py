"""A columnar copy of a split that loads at once: versioned, checksummed, written atomically, rebuilt when in doubt.

The file is one line, `relatum-columns VERSION SHA256`, and then a safetensors body whose checksum that is. Inside, `about`
is JSON that repeats the key under which the copy was made: what the split's files were and how they were read.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from safetensors import SafetensorError

from relatum.data.column_types import column_types_from_json, column_types_to_json
from relatum.data.derivations import Derivation
from relatum.data.hypergraph import Block, Hypergraph, Split
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError
from relatum.files import read_checksummed, write_checksummed

__all__ = ["load_columns", "save_columns"]

_KIND, _VERSION = "relatum-columns", 1

Key = dict[str, Any]


def save_columns(path: Path, key: Key, split: Split) -> None:
    """Write the columnar copy of a split."""
    about = {
        "key": key,
        "origin": split.source,
        "checksums": dict(split.checksums),
        "skipped": split.skipped,
        "relations": [(relation.name, relation.arity, relation.roles) for relation in split.schema],
        "origins": {name: asdict(origin) for name, origin in split.derivations.items()},
        "domains": column_types_to_json(split.column_types),
        "blocks": {part: list(graph.blocks) for part, graph in split.parts.items()},
    }
    arrays: dict[str, npt.NDArray[Any]] = {
        "about": _to_bytes(json.dumps(about)),
        "entities": _to_bytes("\n".join(split.entities)),
    }
    for part, graph in split.parts.items():
        for arity, block in graph.blocks.items():
            arrays[f"{part}/{arity}"] = np.stack(block.rows)
    body = safetensors.numpy.save(arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_checksummed(path, _KIND, _VERSION, body)


def load_columns(path: Path, key: Key) -> Split | None:
    """Return the split copied under `key`, or None if there is no copy, or an older, other or damaged one."""
    body = read_checksummed(path, _KIND, _VERSION)
    if body is None:
        return None
    try:
        arrays = safetensors.numpy.load(body)
        about = json.loads(_to_text(arrays["about"]))
        if about["key"] != key:
            return None
        return _split(about, arrays)
    except (SafetensorError, DataError, KeyError, TypeError, ValueError):
        return None


def _split(about: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Split:
    names = _to_text(arrays["entities"])
    entities = Vocabulary(names.split("\n") if names else ())
    schema = Schema(
        RelationSchema(name, arity, tuple(roles) if roles else None) for name, arity, roles in about["relations"]
    )
    graphs = {
        part: Hypergraph(entities, schema, (Block(rows[0], rows[1:]) for rows in (arrays[f"{part}/{a}"] for a in arities)))
        for part, arities in about["blocks"].items()
    }
    return Split(
        **graphs,
        source=about["origin"],
        checksums=about["checksums"],
        skipped=tuple(about["skipped"]),
        derivations={name: Derivation(**fields) for name, fields in about.get("origins", {}).items()},
        column_types=column_types_from_json(about.get("domains", {})),
    )


def _to_bytes(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _to_text(array: npt.NDArray[Any]) -> str:
    return array.tobytes().decode()
