"""Tensors on disk as ordinary safetensors files, whose metadata say what they are and hold a checksum.

Any safetensors tool opens them. The metadata are the strings `format`, `version`, `about`, which is JSON, and `sha256`,
which is over the rest of the header and the tensors' bytes. An older file is a title line, `FORMAT VERSION SHA256`, and then
a safetensors body with `about` as a tensor of bytes; it is still read.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from relatum.errors import RelatumError
from relatum.files import atomic_file

__all__ = ["TensorFile", "is_damaged", "read_tensor_file", "read_titled_file", "write_tensor_file"]

_LONGEST_HEADER = 100_000_000  # bytes; safetensors reads no longer one
_METADATA, _CHECKSUM = "__metadata__", "sha256"
_UNREADABLE = (OSError, KeyError, TypeError, AttributeError, ValueError, RecursionError)


class TensorFile(NamedTuple):
    """The safetensors bytes of a file that is whole, and what it says about itself."""

    body: bytes
    about: Any


def write_tensor_file(path: Path, body: bytes, format_name: str, version: int, about: object) -> None:
    """Write safetensors bytes with metadata; atomically, and the same bytes for the same content.

    The header is made here, for safetensors itself writes metadata in another order each time.
    """
    entries, tensors = _parts(body)
    metadata = {"about": json.dumps(about, ensure_ascii=False), "format": format_name, "version": str(version)}
    header = {_METADATA: metadata, **{name: entry for name, entry in entries.items() if name != _METADATA}}
    metadata[_CHECKSUM] = _checksum(header, tensors)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    if len(text) > _LONGEST_HEADER:
        raise RelatumError(f"{path}: too many names for one file ({len(text):,} bytes, and {_LONGEST_HEADER:,} is the most)")
    with atomic_file(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        file.write(tensors)


def read_tensor_file(path: Path, format_name: str, version: int) -> TensorFile | None:
    """Return what `write_tensor_file` wrote, or None if there is no file, or another, older or damaged one."""
    try:
        body = path.read_bytes()
        header, tensors = _parts(body)
        metadata = header[_METADATA]
        if (metadata["format"], metadata["version"]) != (format_name, str(version)):
            return None
        whole = metadata[_CHECKSUM] == _checksum(header, tensors)
        return TensorFile(body, json.loads(metadata["about"])) if whole else None
    except _UNREADABLE:
        return None


def read_titled_file(path: Path, format_name: str, version: int) -> TensorFile | None:
    """Return the same of an older file, with a title line; its `about` is still among the tensors, too."""
    try:
        title, _, body = path.read_bytes().partition(b"\n")
        if title != f"{format_name} {version} {hashlib.sha256(body).hexdigest()}".encode():
            return None
        header, tensors = _parts(body)
        start, end = header["about"]["data_offsets"]
        return TensorFile(body, json.loads(bytes(tensors[start:end])))
    except _UNREADABLE:
        return None


def is_damaged(body: bytes) -> bool:
    """Return whether safetensors bytes have a checksum and it is wrong; without one nothing can be said."""
    header, tensors = _parts(body)
    wanted = header.get(_METADATA, {}).get(_CHECKSUM)
    return wanted is not None and wanted != _checksum(header, tensors)


def _parts(body: bytes) -> tuple[dict[str, Any], memoryview]:
    """Return the header of safetensors bytes, and the bytes of the tensors."""
    end = 8 + int.from_bytes(body[:8], "little")
    header = json.loads(body[8:end])
    if not isinstance(header, dict):
        raise ValueError("the header is not an object")
    return header, memoryview(body)[end:]


def _checksum(header: dict[str, Any], tensors: memoryview) -> str:
    """Return the SHA-256 over a header, but for the checksum in it, and the tensors."""
    metadata = {name: text for name, text in header[_METADATA].items() if name != _CHECKSUM}
    found = hashlib.sha256(json.dumps({**header, _METADATA: metadata}, sort_keys=True).encode())
    found.update(tensors)
    return found.hexdigest()
