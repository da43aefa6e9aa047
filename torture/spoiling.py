"""Random damage to a file: bytes flipped, cut, repeated, swapped or zeroed, or something else in its place."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

__all__ = ["refit", "spoil"]


def spoil(path: Path, others: list[Path], rng: random.Random) -> str:
    """Damage a file, and return how.

    Args:
        path: the file.
        others: files whose content may take its place.
        rng: what decides.
    """
    if rng.random() < 0.1 and others:
        other = rng.choice(others)
        path.write_bytes(other.read_bytes())
        return f"holds what {other.name} holds"
    if rng.random() < 0.25:
        how = rng.choice(list(_INSTEAD))
        _INSTEAD[how](path)
        return how
    content = bytearray(path.read_bytes())
    done = [_change(content, rng) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    path.write_bytes(content)
    return ", ".join(done)


def _change(content: bytearray, rng: random.Random) -> str:
    """Change some bytes, and return how; where is as likely among the first ones, where headers are, as anywhere."""
    size = len(content)
    start = rng.randrange(min(size, rng.choice([16, 200, size or 1])) or 1)
    length = rng.choice([1, 1, 2, 8, 64, 512])
    end = min(size, start + length)
    match rng.randrange(8):
        case 0 if size:
            content[start] ^= 1 << rng.randrange(8)
            return f"a bit flipped at {start}"
        case 1 if size:
            content[start:end] = rng.randbytes(end - start)
            return f"noise from {start} to {end}"
        case 2:
            del content[start:]
            return f"cut at {start}"
        case 3:
            del content[start:end]
            return f"{start} to {end} taken out"
        case 4:
            content[start:start] = content[start:end]
            return f"{start} to {end} twice"
        case 5:
            content[start:end] = bytes(end - start)
            return f"zeros from {start} to {end}"
        case 6 if size > 1:
            other = rng.randrange(size)
            content[start], content[other] = content[other], content[start]
            return f"bytes {start} and {other} swapped"
        case _:
            content[start:start] = rng.choice(_PIECES)
            return f"a piece put in at {start}"


_PIECES = (
    b"\0",
    b"\xff\xfe",
    b"\n",
    b"{",
    b"]",
    b'"',
    b"NaN",
    b"-1",
    b"9" * 30,
    b"1e999",
    b"null",
    b"[" * 2000,
    b"\xed\xa0\x80",
)


def _unreadable(path: Path) -> None:
    path.chmod(0)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path, to: str) -> None:
    path.unlink()
    path.symlink_to(to)


_INSTEAD: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "missing": Path.unlink,
    "unreadable": _unreadable,
    "a folder": _folder,
    "a named pipe": _pipe,
    "a link to itself": lambda path: _link(path, path.name),
    "a link to nothing": lambda path: _link(path, "nothing"),
    "a link to a device without end": lambda path: _link(path, "/dev/zero"),
    "a hole of 4 GB": lambda path: os.truncate(path, 4 << 30),  # more than a command may take
}


def refit(folder: Path, path: Path) -> None:
    """Make the checksums of a run fit a file that was damaged, as far as it is one that has a checksum."""
    try:
        if path.suffix == ".safetensors":
            _refit_tensors(path)
        if path.name == "facts.safetensors":
            _note(folder / "environment.json", "facts", path)
        if path.name in ("entities.txt", "relations.txt"):
            _note(folder / "config.json", path.stem, path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return  # too much is damaged for any checksum


def _refit_tensors(path: Path) -> None:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata, tensors = header["__metadata__"], content[8 + length :]
    metadata.pop("sha256", None)
    found = hashlib.sha256(json.dumps(header, sort_keys=True).encode() + tensors)
    metadata["sha256"] = found.hexdigest()
    text = json.dumps(header, ensure_ascii=False).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + tensors)


def _note(document: Path, name: str, path: Path) -> None:
    whole = json.loads(document.read_bytes())
    whole[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    document.write_text(json.dumps(whole), encoding="utf-8")
