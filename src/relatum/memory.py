"""How much memory work may take: a share of what is free, so that it fits without anybody choosing a size."""

from __future__ import annotations

import sys
import time
from pathlib import Path

_LEAST, _MOST = 1 << 24, 1 << 28  # 16 MB always; more than 256 MB makes nothing faster
_SHARE = 16  # of the free memory
_RECENT = 0.05  # seconds for which what was read counts: to read it takes longer than a small piece of work

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")
_STATM = Path("/proc/self/statm")
_last: tuple[float, int] = (-_RECENT, 0)  # when it was read, and how much was free


def budget() -> int:
    """Return how many bytes one piece of work may take at once: a power of two, so that it seldom changes."""
    share = min(max(free() // _SHARE, _LEAST), _MOST)
    return 1 << (share.bit_length() - 1)


def free() -> int:
    """Return how many bytes are free, for the machine, the group that the process is confined to and the process."""
    global _last
    read, found = _last
    now = time.monotonic()
    if now - read >= _RECENT:
        found = _read()
        _last = now, found
    return found


def fits(size: int) -> bool:
    """Return whether so many bytes are free, as far as is known; what a file says of its size is held against this."""
    return size <= max(free(), _LEAST) or _free_bytes() is None


def address_room() -> int | None:
    """Return how many bytes of addresses a limit, such as that of `ulimit -v`, leaves to this process; None without one."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    pages = " ".join(_lines(_STATM)).split()
    return max(limit - int(pages[0]) * resource.getpagesize(), 0) if pages else limit


def require_addresses(size: int) -> None:
    """Refuse, as Python does, to go on where a limit leaves fewer addresses: some libraries would end the process."""
    room = address_room()
    if room is not None and room < size:
        raise MemoryError(f"{room} bytes of addresses are left, and {size} may be needed")


def _read() -> int:
    found = _free_bytes()
    return _MOST if found is None else found  # where nobody says, nothing is known but that most machines have this much


def _free_bytes() -> int | None:
    found = []
    for line in _lines(_MEMINFO):
        if line.startswith("MemAvailable:"):
            found.append(int(line.split()[1]) << 10)
    limit, used = (_number(_GROUP / name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None:
        found.append(max(limit - used + _cached(), 0))
    if (room := address_room()) is not None:
        found.append(room)
    return min(found, default=None)


def _cached() -> int:
    """Return how many bytes of the group's memory are copies of files, which give way to whatever needs room."""
    fields = (line.split() for line in _lines(_GROUP / "memory.stat"))
    return sum(int(field[1]) for field in fields if field[0] in ("active_file", "inactive_file"))


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
