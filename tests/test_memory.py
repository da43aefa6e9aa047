"""Work takes a share of what is free."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from relatum import memory


def lay_out(monkeypatch: pytest.MonkeyPatch, folder: Path, available: int | None, limit: str, used: int) -> None:
    """Let the machine have `available` bytes, and the group of the process `limit`, of which some are used."""
    meminfo = folder / "meminfo"
    if available is not None:
        meminfo.write_text(f"MemTotal: 99 kB\nMemAvailable: {available >> 10} kB\n")
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_GROUP", folder)
    monkeypatch.setattr(memory, "_last", (-math.inf, 0))  # whatever was read before is old


@pytest.mark.parametrize(
    ("available", "limit", "used", "free"),
    [
        (1 << 30, "max", 5, 1 << 30),
        (1 << 30, str(1 << 29), 1 << 28, 1 << 28),
        (1 << 20, str(1 << 29), 1 << 28, 1 << 20),
        (1 << 30, "100", 200, 0),
        (None, "max", 0, 1 << 28),
    ],
)
def test_what_is_free_is_the_least_of_machine_and_group(
    available: int | None, limit: str, used: int, free: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lay_out(monkeypatch, tmp_path, available, limit, used)
    assert memory.free() == free


def test_what_is_free_is_read_again_after_a_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lay_out(monkeypatch, tmp_path, 1 << 30, "max", 0)
    now = 100.0
    monkeypatch.setattr(memory.time, "monotonic", lambda: now)
    assert memory.free() == 1 << 30
    (tmp_path / "meminfo").write_text("MemAvailable: 1024 kB\n")
    assert memory.free() == 1 << 30
    now += 1
    assert memory.free() == 1 << 20


@pytest.mark.parametrize(("free", "budget"), [(0, 1 << 24), (3 << 30, 1 << 27), (1 << 40, 1 << 28)])
def test_the_budget_is_a_power_of_two_within_bounds(free: int, budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: free)
    assert memory.budget() == budget


def test_copies_of_files_give_way_and_a_little_always_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lay_out(monkeypatch, tmp_path, 1 << 40, str(1 << 30), (1 << 30) - 5)
    assert memory.free() == 5
    assert memory.fits(1 << 24)
    assert not memory.fits((1 << 24) + 1)
    (tmp_path / "memory.stat").write_text(f"anon 7\nactive_file {1 << 27}\ninactive_file {1 << 28}\n")
    monkeypatch.setattr(memory, "_last", (-math.inf, 0))
    assert memory.free() == (1 << 27) + (1 << 28) + 5
    assert memory.fits(1 << 28)


def test_where_nobody_says_what_is_free_everything_fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lay_out(monkeypatch, tmp_path, None, "max", 0)
    assert memory.fits(1 << 60)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of addresses on Windows")
def test_a_limit_of_addresses_counts() -> None:
    import resource

    assert memory.address_room() is None
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), before[1]))
    try:
        room = memory.address_room()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert room is not None
    assert 1 << 27 < room <= 1 << 28
