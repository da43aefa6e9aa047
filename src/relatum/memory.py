"""How much memory work may take: a share of what is free, so that it fits without anybody choosing a size."""

from __future__ import annotations

from pathlib import Path

__all__ = ["budget", "free"]

_LEAST, _MOST = 1 << 24, 1 << 28  # 16 MB always; more than 256 MB makes nothing faster
_SHARE = 16  # of the free memory

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def budget() -> int:
    """Return how many bytes one piece of work may take at once: a power of two, so that it seldom changes."""
    share = min(max(free() // _SHARE, _LEAST), _MOST)
    return 1 << (share.bit_length() - 1)


def free() -> int:
    """Return how many bytes are free, for the machine and for the group that the process is confined to."""
    found = []
    for line in _lines(_MEMINFO):
        if line.startswith("MemAvailable:"):
            found.append(int(line.split()[1]) << 10)
    limit, used = (_number(_GROUP / name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None:
        found.append(max(limit - used, 0))
    return min(found, default=_MOST)  # where nobody says, nothing is known but that most machines have this much


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
