"""A columnar copy of a split that loads at once: versioned, checksummed, written atomically, rebuilt when in doubt.

The file is a safetensors file: `entities` are their names, one a line, and `train/3`, for example, the training facts of
arity 3, int32[1 + arity, n], relation first; `entity_starts` say where each name starts, where there are many. Its metadata
repeat the key under which the copy was made: what the split's files were and how they were read.

A large file, such as the copy of many facts, is not hashed again if it was not touched since its checksum was found. What is
remembered is the SHA-256 beside the file's size, inode, and the times of its last change, to the nanosecond: of its content,
which anybody can set, and of its inode, which only the system sets. If all are as they were, and were two seconds old or
more when the file was hashed (so that no later change can bear the same time), the content is taken to be the same. That
rests on the file system: bytes that go bad on a disk, or are changed below the file system, do not show.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy.typing as npt

from relatum.artefacts import Count, read
from relatum.closed_folders import status
from relatum.data.column_types import ColumnType
from relatum.data.derivations import Derivation
from relatum.data.hypergraph import Block, Hypergraph, Split
from relatum.data.name_lines import NameLines, lines_of
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Vocabulary
from relatum.errors import DataError, RelatumError
from relatum.files import cache_directory, read_document, sha256_of, write_document
from relatum.tensor_files import TensorFile, map_arrays, read_tensors, write_tensors

_FORMAT, _VERSION = "relatum-facts", 3
_LARGE = 32 << 20  # bytes; fewer are hashed in 30 ms
_SETTLED = 2 * 10**9  # nanoseconds; some file systems keep times in steps of two seconds
_CHECKSUM_FORMAT, _CHECKSUM_VERSION = "relatum-checksum", 1

Key = dict[str, Any]


class FactsAbout(TypedDict):
    """What a copy says about itself."""

    key: Any
    source: str
    checksums: dict[str, str]
    skipped: list[str]
    statement_counts: dict[str, Count]
    relations: list[RelationSchema]
    derivations: dict[str, Derivation]
    column_types: dict[str, tuple[ColumnType, ...]]
    blocks: dict[Literal["train", "valid", "test"], list[Count]]


def save_columns(path: Path, key: Key, split: Split) -> None:
    """Write the columnar copy of a split."""
    about = {
        "key": key,
        "source": split.source,
        "checksums": dict(split.checksums),
        "skipped": split.skipped,
        "statement_counts": dict(split.statement_counts),
        "relations": [asdict(relation) for relation in split.schema],
        "derivations": {name: asdict(derivation) for name, derivation in split.derivations.items()},
        "column_types": {name: [asdict(one) for one in columns] for name, columns in split.column_types.items()},
        "blocks": {part: list(graph.blocks) for part, graph in split.parts.items()},
    }
    lines = lines_of(split.entities.names)
    arrays: dict[str, npt.NDArray[Any] | tuple[npt.NDArray[Any], ...]] = {"entities": lines.text}
    if isinstance(split.entities.names, NameLines) and lines.ascending:
        arrays["entity_starts"] = lines.starts
    for part, graph in split.parts.items():
        for arity, block in graph.blocks.items():
            arrays[f"{part}/{arity}"] = block.rows
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, arrays, _FORMAT, _VERSION, about)


def load_columns(path: Path, key: Key) -> Split | None:
    """Return the split copied under `key`, or None if there is no copy, or another or a damaged one.

    A large copy is mapped: its columns are read when they are touched. It is hashed unless it was found right before and not
    touched since; ids, and where names start, are checked every time.
    """
    try:
        if not _is_large(path):
            return _split(read_tensors(path, _FORMAT, _VERSION), key)
        before = path.stat()
    except OSError:
        return None
    known = known_checksum(path)
    stored = map_arrays(path, _FORMAT, _VERSION, known)
    if stored is None:
        return None
    split = _split(stored, key)
    if known is None and split is not None:
        _remember_checksum(path, stored.checksum, before)
    return split


def _split(stored: TensorFile | None, key: Key) -> Split | None:
    if stored is None:
        return None
    try:
        about = stored.about
        if about["key"] != key:
            return None
        return _rebuilt(read(FactsAbout, about), stored.arrays)
    except (DataError, LookupError, TypeError, AttributeError, ValueError, OverflowError):
        return None


def _rebuilt(about: FactsAbout, arrays: dict[str, npt.NDArray[Any]]) -> Split:
    if "entity_starts" in arrays:
        entities = Vocabulary(NameLines.check(arrays["entities"], arrays["entity_starts"]))
    else:
        entities = Vocabulary.parse(arrays["entities"].tobytes())
    schema = Schema(about["relations"])
    graphs = {
        part: Hypergraph(entities, schema, (Block(rows[0], rows[1:]) for rows in (arrays[f"{part}/{a}"] for a in arities)))
        for part, arities in about["blocks"].items()
    }
    return Split(
        graphs["train"],
        graphs["valid"],
        graphs["test"],
        source=about["source"],
        checksums=about["checksums"],
        skipped=tuple(about["skipped"]),
        statement_counts=about["statement_counts"],
        derivations=about["derivations"],
        column_types=about["column_types"],
    )


def _is_large(path: Path) -> bool:
    """Return whether a file is worth remembering."""
    found = status(path)
    return found is not None and found.st_size >= _LARGE


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal: remembered if it is large and was not touched, else worked out."""
    if not _is_large(path):
        return sha256_of(path)
    known = known_checksum(path)
    if known is None:
        before = path.stat()
        known = sha256_of(path)
        _remember_checksum(path, known, before)
    return known


def known_checksum(path: Path) -> str | None:
    """Return what was remembered of a large file, if it was not touched since."""
    try:
        if not _is_large(path):
            return None
        return read_document(_record(path), _CHECKSUM_FORMAT, _CHECKSUM_VERSION, lambda found: _same(found, path))
    except (OSError, RelatumError):
        return None


def _remember_checksum(path: Path, checksum: str, before: os.stat_result) -> None:
    """Remember the checksum of a large file, unless it was touched since `before` was found out, or only just then."""
    changed = max(before.st_mtime_ns, before.st_ctime_ns)
    with contextlib.suppress(OSError, RelatumError):  # no room or no permission: it is hashed again
        if _is_large(path) and _marks(path.stat()) == _marks(before) and time.time_ns() - changed > _SETTLED:
            record = _record(path)
            record.parent.mkdir(parents=True, exist_ok=True)
            write_document(
                record,
                _CHECKSUM_FORMAT,
                _CHECKSUM_VERSION,
                {"path": str(path.resolve()), "checksum": checksum, **_marks(before)},
            )


def _same(found: dict[str, Any], path: Path) -> str | None:
    marks = {"path": str(path.resolve()), **_marks(path.stat())}
    return str(found["checksum"]) if all(found[name] == value for name, value in marks.items()) else None


def _marks(status: os.stat_result) -> dict[str, int]:
    return {
        "size": status.st_size,
        "device": status.st_dev,
        "inode": status.st_ino,
        "content_changed_ns": status.st_mtime_ns,
        "inode_changed_ns": status.st_ctime_ns,
    }


def _record(path: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_directory() / "checksums" / f"{digest}.json"
