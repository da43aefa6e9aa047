"""Files that the program itself writes: documents of JSON, and tensors with their header."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from relatum.errors import RelatumError
from relatum.files import parse_json, read_document
from relatum.tensor_files import map_arrays, read_tensors, write_tensors
from torture.fuzz.mutations import BYTES
from torture.fuzz.parser import Parser
from torture.fuzz.scratch import holding

__all__ = ["DOCUMENTS"]

_FORMAT, _VERSION = "relatum-fuzz", 1
_JSON = (
    b'{"format": "relatum-fuzz", "version": 1, "a": [1, 2.5, null, true], "b": {"c": "\\u00e9"}}',
    b'[{"slope": [1.5, -0.25], "raw_logits": [[1e10, -1e-10]], "n": 9223372036854775807}]',
    '{"format": "relatum-fuzz", "version": 1, "name": "日本 😀", "deep": [[[[[]]]]]}'.encode(),
)
_WORDS = (b'"format"', b"NaN", b"-Infinity", b"\\ud800", b"9" * 30, b"9" * 5000, b"1e400", b"[[", b'{"a":', b"]", b"}")


def _document(content: bytes) -> str | None:
    found = parse_json(content)
    json.dumps(found)
    try:
        read_document(holding(content), _FORMAT, _VERSION, lambda whole: whole)
    except RelatumError as error:
        if "\n" in str(error):
            return "refuses in more than one line"
    return None


def _tensor_files() -> tuple[bytes, ...]:
    """Return files of tensors of several types and shapes."""
    found = []
    cases: list[tuple[dict[str, Any], object]] = [
        ({"a": np.arange(6, dtype="<f4").reshape(2, 3), "b": np.arange(4, dtype="<i4")}, {"n": 1}),
        ({"x/y": np.ones((1, 2, 2), "<i8"), "z": np.zeros(0, "|u1"), "s": np.ones((), "<f4")}, ["é"]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for tensors, about in cases:
            path = Path(folder) / "whole"
            write_tensors(path, tensors, _FORMAT, _VERSION, about)
            found.append(path.read_bytes())
    return tuple(found)


def _with_checksum(content: bytes) -> bytes:
    """Return a file whose checksum fits what it says, as somebody who means harm would; as it is if it says too little."""
    try:
        length = int.from_bytes(content[:8], "little")
        header: dict[str, Any] = json.loads(content[8 : 8 + length])
        metadata = header["__metadata__"]
        metadata.pop("sha256", None)
        tensors = content[8 + length :]
        plain = json.dumps({**header, "__metadata__": metadata}, sort_keys=True).encode()
        metadata["sha256"] = hashlib.sha256(plain + tensors).hexdigest()
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + tensors
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return content


def _with_length(content: bytes) -> bytes:
    """Return a file whose first bytes say how long its header is, if that can be guessed."""
    end = content.find(b"}}", 8)
    end = content.find(b"}}", end + 2) if 0 < end < len(content) // 2 else end
    return (end + 2 - 8).to_bytes(8, "little") + content[8:] if end > 8 else content


def _tensors(content: bytes) -> str | None:
    """All that read a file agree on whether it is whole, and on its tensors."""
    if len(content) & 3:
        content = _with_checksum(content if len(content) & 1 else _with_length(content))
    path = holding(content, ".safetensors")
    mapped = map_arrays(path, _FORMAT, _VERSION, None)
    read = read_tensors(path, _FORMAT, _VERSION)
    if mapped is not None:
        for name, array in mapped.arrays.items():
            if array.nbytes != math.prod(array.shape) * array.itemsize or array.nbytes > len(content):
                return f"{name!r} is of no possible size"
            array.tobytes()
        if read is not None and any(mapped.arrays[name].tobytes() != one.tobytes() for name, one in read.arrays.items()):
            return "read and mapped, the tensors differ"
    return None


_HEADER = (
    b'"dtype"',
    b'"F32"',
    b'"I64"',
    b'"shape":[',
    b'"data_offsets":[0,',
    b"-1,",
    b"24]",
    b"1e3",
    b"0,",
    b"null",
    b"F64",
)
DOCUMENTS = (
    Parser("documents of JSON", _JSON, (*BYTES, *_WORDS), _document, (ValueError,)),
    Parser("files of tensors", _tensor_files(), (*BYTES, *_HEADER, *_WORDS, b"\0" * 8, b"\x01\0\0\0"), _tensors),
)
