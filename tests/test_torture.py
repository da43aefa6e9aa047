"""The campaign in its short form breaks nothing, and what it strikes commands with does strike."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from relatum import DataError

ROOT = Path(__file__).parents[1]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the shim that strikes calls is for Linux")

WRITER = """
import os, sys
try:
    for name in ("one", "two"):
        file = os.open(name, os.O_WRONLY | os.O_CREAT)
        print(os.write(file, b"0123456789"), flush=True)
        os.fsync(file)
        os.rename(name, name + ".done")
except OSError as error:
    print(error.errno)
"""


@LINUX
@pytest.mark.parametrize(
    ("strike", "code", "printed", "sizes"),
    [
        ("WSNRC|0|count|0|0", 0, ["10", "10"], {"one.done": 10, "two.done": 10}),
        ("WSNRC|6|kill|0|0", -signal.SIGKILL, ["10"], {"one.done": 10, "two": 0}),  # before the second write
        ("W|2|tear|0|0", -signal.SIGKILL, ["10"], {"one.done": 10, "two": 5}),
        (f"WC|2|fail|{errno.ENOSPC}|1", 0, [str(errno.ENOSPC)], {"one": 0}),
        (f"N|1|fail|{errno.EIO}|0", 0, ["10", str(errno.EIO)], {"one": 10}),
        (f"S|2|fail|{errno.EIO}|0", 0, ["10", "10", str(errno.EIO)], {"one.done": 10, "two": 10}),
        ("W|1|shorten|0|0", 0, ["5", "10"], {"one.done": 5, "two.done": 10}),
    ],
)
def test_the_shim_strikes_the_call_that_it_is_told_to(
    strike: str, code: int, printed: list[str], sizes: dict[str, int], tmp_path: Path
) -> None:
    from torture.commands import compiled_shim

    folder = tmp_path / "area"
    folder.mkdir()
    told = f"{folder}|{strike}|{tmp_path / 'calls'}"
    environment = {**os.environ, "LD_PRELOAD": str(compiled_shim(tmp_path)), "TORTURE": told}
    command = [sys.executable, "-c", WRITER]
    ended = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == code
    assert ended.stdout.split() == printed
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == sizes


@LINUX
@pytest.mark.parametrize("attacks", [("kills", "pairs", "faults"), ("damage", "fuzz", "surroundings")], ids=" ".join)
def test_the_campaign_in_its_short_form_breaks_nothing(attacks: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "torture", *attacks, "--short"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _spoiled(text: str) -> str | None:
    """A parser with a fault for each first letter."""
    if text.startswith("c"):
        os._exit(7)
    while text.startswith("h"):
        pass
    if text.startswith("k"):
        raise KeyError(text)
    if text.startswith("l"):
        raise DataError("usage", "two\nlines")
    if text.startswith("r"):
        raise DataError("usage", "refused")
    return "another" if text.startswith("a") else None


@LINUX
def test_fuzzing_counts_crashes_hangs_and_wrong_errors_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torture.campaign import Campaign
    from torture.fuzz import batches
    from torture.fuzz.parser import Parser

    class Letters(Parser):
        def input(self, seed: int, number: int, rng: random.Random) -> str:
            return "rcahklok"[number]

    monkeypatch.setattr(batches, "LONGEST", 0.2)
    campaign = Campaign("fuzz", 0, 8, tmp_path, float("inf"))
    batch: batches.Batch | None = batches.Batch(Letters("letters", (), (), _spoiled), 0, range(8), float("inf"))
    while batch is not None:
        batch.start()
        while not batch.has_ended():
            pass
        batch = batch.record(campaign)
    tally = campaign.tallies["letters"]
    assert (tally.tried, tally.broken) == (8, 6)
    faults = " ".join(tally.examples)
    assert all(part in faults for part in ("trial 1: the process ended with 7", "trial 3: more than", "another", "KeyError"))


def test_what_is_spoiled_is_not_what_it_was(tmp_path: Path) -> None:
    from torture.spoiling import spoil

    changed = 0
    for seed in range(200):
        path, other = tmp_path / f"{seed}", tmp_path / f"other {seed}"
        path.write_bytes(bytes(range(256)) * 4)
        other.write_bytes(b"other")
        assert spoil(path, [other], random.Random(seed))
        changed += not path.is_file() or not path.stat().st_mode or path.stat().st_size != 1024
        changed += path.is_file() and path.stat().st_size == 1024 and path.read_bytes() != bytes(range(256)) * 4
    assert changed > 180  # swapping two bytes that are alike, or zeroing a zero, changes nothing


def test_examples_have_no_path_of_this_machine(tmp_path: Path) -> None:
    from torture.campaign import Campaign

    campaign = Campaign("fuzz", 0, 1, tmp_path, float("inf"))
    campaign.record("kind", 3, f"cannot load {sys.prefix}/lib/x.so")
    assert campaign.tallies["kind"].examples == ["trial 3: cannot load VENV/lib/x.so"]
