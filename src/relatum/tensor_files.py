"""Tensors on disk as ordinary safetensors files, whose metadata say what they are and hold a checksum.

Any safetensors tool opens them. The metadata are the strings `format`, `version`, `about`, which is JSON, and `sha256`,
which is over the rest of the header and the tensors' bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relatum import memory
from relatum.closed_folders import open_file
from relatum.errors import RelatumError
from relatum.files import atomic_file, parse_json, require_file

_LONGEST_HEADER = 100_000_000  # bytes; safetensors reads no longer one
_METADATA, _CHECKSUM = "__metadata__", "sha256"
# Types of arrays, as numpy and safetensors call them, in the order in which safetensors puts them. For numpy, which has no
# bfloat16, these are unsigned numbers of the same bits.
_TYPES = {
    "<i8": "I64",
    "<f8": "F64",
    "<f4": "F32",
    "<i4": "I32",
    "<u2": "BF16",
    "<f2": "F16",
    "<i2": "I16",
    "|i1": "I8",
    "|u1": "U8",
    "|b1": "BOOL",
}
_ORDER = list(_TYPES)
_UNREADABLE = (StopIteration, OSError, KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError)


class TensorFile(NamedTuple):
    """The arrays of a file that is whole, what it says about itself, and its checksum."""

    arrays: dict[str, npt.NDArray[Any]]
    about: Any
    checksum: str


def write_tensors(
    path: Path,
    tensors: Mapping[str, npt.NDArray[Any] | tuple[npt.NDArray[Any], ...]],
    format_name: str,
    version: int,
    about: object,
) -> None:
    """Write arrays, or the rows of them, without a copy of them all in memory; the same bytes for the same content.

    The header is made here, for safetensors itself writes metadata in another order each time.
    """
    pieces = {name: one if isinstance(one, tuple) else (one,) for name, one in tensors.items()}
    ordered = sorted(pieces, key=lambda name: (_ORDER.index(pieces[name][0].dtype.str), name))  # each starts at a multiple
    metadata = {"about": json.dumps(about, ensure_ascii=False), "format": format_name, "version": str(version)}
    header, at = dict[str, Any]({_METADATA: metadata}), 0
    for name in ordered:
        rows, whole = pieces[name], tensors[name]
        shape = [len(rows), *rows[0].shape] if isinstance(whole, tuple) else list(whole.shape)
        end = at + sum(row.nbytes for row in rows)
        header[name] = {"dtype": _TYPES[rows[0].dtype.str], "shape": shape, "data_offsets": [at, end]}
        at = end
    content = [piece for name in ordered for piece in pieces[name]]
    metadata[_CHECKSUM] = _checksum(header, *content)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    if len(text) > _LONGEST_HEADER:
        raise RelatumError(
            "too-many-names",
            f"too many names for one file ({len(text):,} bytes, and {_LONGEST_HEADER:,} is the most)",
            place=path,
        )
    with atomic_file(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for piece in content:
            file.write(np.ascontiguousarray(piece).data)


def _empty(shape: list[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return np.empty(shape, dtype)


def read_tensors(
    path: Path, format_name: str, version: int, empty: Callable[[list[int], np.dtype[Any]], npt.NDArray[Any]] = _empty
) -> TensorFile | None:
    """Return the tensors of a file, each read straight into memory of its own; None if it is another or a damaged one.

    Args:
        path: the file.
        format_name: what it must be.
        version: of which version.
        empty: returns room for a tensor, by shape and type.
    """
    try:
        require_room(path)
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if length > min(size, _LONGEST_HEADER):
                return None
            header = parse_json(file.read(length))
            metadata = _metadata(header, format_name, version)
            found, at, tensors = _begun(header), 0, dict[str, npt.NDArray[Any]]()
            entries = [(name, entry) for name, entry in header.items() if name != _METADATA]
            for name, entry in sorted(entries, key=lambda one: one[1]["data_offsets"]):
                start, end = entry["data_offsets"]
                dtype, shape = _dtype(entry), [int(one) for one in entry["shape"]]
                whole = start == at and min(shape, default=0) >= 0 and math.prod(shape) * dtype.itemsize == end - start
                if not whole or 8 + length + end > size:  # before there is room for it
                    return None
                tensor = tensors[name] = empty(shape, dtype)
                room = tensor.reshape(-1).view(np.uint8).data
                if file.readinto(room) != len(room):
                    return None
                found.update(room)
                at = end
            if 8 + length + at != size or found.hexdigest() != metadata[_CHECKSUM]:
                return None
            return TensorFile(tensors, parse_json(metadata["about"].encode()), metadata[_CHECKSUM])
    except _UNREADABLE:
        return None


def map_arrays(path: Path, format_name: str, version: int, known: str | None) -> TensorFile | None:
    """Return the arrays of a file, mapped: read when they are touched, never written; None if it is another or damaged.

    Args:
        path: the file; while it is mapped it may be replaced, but must not be cut.
        format_name: what it must be.
        version: of which version.
        known: the checksum that was found right before, in a file that was not touched since: then it is not worked out.
    """
    try:
        require_file(path)
        with open_file(path) as file:
            body = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = 8 + int.from_bytes(body[:8], "little")
        if end > min(len(body), 8 + _LONGEST_HEADER):
            return None
        header, content = parse_json(body[8:end]), memoryview(body)[end:]
        metadata = _metadata(header, format_name, version)
        if metadata[_CHECKSUM] != known and metadata[_CHECKSUM] != _checksum(header, content):
            return None
        arrays = {name: _array(content, entry) for name, entry in header.items() if name != _METADATA}
        if sum(array.nbytes for array in arrays.values()) != len(content):
            return None
        return TensorFile(arrays, parse_json(metadata["about"].encode()), metadata[_CHECKSUM])
    except _UNREADABLE:
        return None


def require_room(path: Path) -> None:
    """Refuse what is no file, or one that the free memory cannot hold, before any of it is read."""
    require_file(path)
    if path.is_file() and not memory.fits(size := path.stat().st_size):
        raise RelatumError("larger-than-memory", f"its {size:,} bytes are more than the free memory can hold", place=path)


def _array(tensors: memoryview, entry: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return the array that an entry of the header describes; a `ValueError` if it is not within the tensors."""
    start, end = entry["data_offsets"]
    dtype = _dtype(entry)
    if not 0 <= start <= end <= len(tensors):
        raise ValueError("a tensor outside the file")
    return np.frombuffer(tensors[start:end], dtype).reshape(entry["shape"])


def _dtype(entry: Mapping[str, Any]) -> np.dtype[Any]:
    return np.dtype(next(kind for kind, name in _TYPES.items() if name == entry["dtype"]))


def _metadata(header: Any, format_name: str, version: int) -> dict[str, str]:
    """Return what a header says about its file; a `ValueError` if that is of another format or version."""
    metadata: dict[str, str] = header[_METADATA]
    if (metadata["format"], metadata["version"]) != (format_name, str(version)):
        raise ValueError("another format or version")
    return metadata


def _checksum(header: dict[str, Any], *tensors: memoryview | npt.NDArray[Any]) -> str:
    """Return the SHA-256 over a header, but for the checksum in it, and the tensors."""
    found = _begun(header)
    for piece in tensors:
        found.update(np.ascontiguousarray(piece).data)
    return found.hexdigest()


def _begun(header: dict[str, Any]) -> hashlib._Hash:
    """Return the SHA-256 over a header, but for the checksum in it, to go on with."""
    metadata = {name: text for name, text in header[_METADATA].items() if name != _CHECKSUM}
    return hashlib.sha256(json.dumps({**header, _METADATA: metadata}, sort_keys=True).encode())
