"""What a block does to files, in order, as the system is told: opened for writing, synced, renamed, linked, removed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest


class Call(NamedTuple):
    """One call; `target` is the new name, and `size` that of a synced file when it was synced."""

    what: str
    path: Path
    target: Path | None = None
    size: int = 0


_recording: list[list[Call]] = []


def _hear(event: str, given: tuple[object, ...]) -> None:
    if not _recording:
        return
    # The flags are 0 where only a mode is known.
    if event == "open" and isinstance(given[0], str):
        if (given[1] and set(str(given[1])) & set("wax+")) or int(str(given[2])) & (os.O_WRONLY | os.O_RDWR):
            _recording[-1].append(Call("open", Path(given[0])))
    elif event in ("os.rename", "os.link"):
        _recording[-1].append(Call(event, Path(str(given[0])), Path(str(given[1]))))
    elif event in ("os.remove", "os.rmdir"):
        _recording[-1].append(Call(event, Path(str(given[0]))))


sys.addaudithook(_hear)  # it stays for good, and hears nothing unless somebody records


@contextmanager
def recorded_writes() -> Iterator[list[Call]]:
    """Yield a list that receives every call of the block; syncing has no event of its own, and is heard by a wrapper."""
    calls: list[Call] = []
    sync = os.fsync

    def heard(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        calls.append(Call("sync", path, size=os.fstat(descriptor).st_size))
        sync(descriptor)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", heard)
        _recording.append(calls)
        try:
            yield calls
        finally:
            _recording.pop()


def assert_survives_power_cuts(calls: list[Call], path: Path) -> None:
    """Assert that a file was written elsewhere, synced as it is now, given its name, and that name synced."""
    names = [number for number, call in enumerate(calls) if call.target == path]
    assert names, f"{path.name} is never renamed into being"
    named = calls[names[-1]]
    before, after = calls[: names[-1]], calls[names[-1] + 1 :]
    assert not [call for call in calls if call == Call("open", path)], f"{path.name} is written where it stands"
    synced = [number for number, call in enumerate(before) if call.what == "sync" and call.path == named.path]
    written = [number for number, call in enumerate(before) if call == Call("open", named.path)]
    assert synced, f"{path.name} has its name before its content is on the disk"
    assert synced[-1] > max(written, default=-1), f"{path.name} is written after it was synced"
    assert path.is_dir() or before[synced[-1]].size == path.stat().st_size
    assert path.parent in {call.path for call in after if call.what == "sync"}, f"the name {path.name} is not synced"
