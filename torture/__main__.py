"""`python -m torture [ATTACK ...]`: attack the program, and print one table of what was tried and what broke."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

from relatum.files import write_bytes
from relatum.version import __version__
from torture.campaign import Campaign, Tally

# How many trials each attack has: in full, and in the short form that tests run.
TRIALS = {
    "kills": (1000, 12),
    "pairs": (500, 8),
    "faults": (400, 12),
    "damage": (2000, 8),
    "fuzz": (1_000_000, 300),  # for each parser
    "surroundings": (200, 6),
    "links": (300, 8),
    "artefacts": (2000, 8),
    "clocks": (1000, 24),
    "server": (100_000, 1000),
}


def main() -> int:
    """Run the attacks that are wanted; return 1 if anything broke."""
    given = _arguments()
    until = time.monotonic() + 60 * given.minutes if given.minutes else float("inf")
    tallies: list[Tally] = []
    for attack in given.attacks:
        full, short = TRIALS[attack]
        trials = given.trials or (short if given.short else full)
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            campaign = Campaign(attack, given.seed, trials, Path(folder), until, given.first, given.parsers)
            try:
                importlib.import_module(f"torture.{attack}").attack(campaign)
            except KeyboardInterrupt:
                until = 0.0  # what was tried is told all the same
        tallies += campaign.tallies.values()
        _print(list(campaign.tallies.values()))
        if not until:
            break
    broken = sum(tally.broken for tally in tallies)
    print(f"{sum(tally.tried for tally in tallies):,} tried, {broken:,} broken")
    if given.out:
        _write(Path(given.out), tallies, whole=not given.parsers)
    return 1 if broken else 0


def _write(path: Path, tallies: list[Tally], *, whole: bool) -> None:
    """Write what came of attacks in the place of what came of the same ones before, or only of the same kinds of them."""
    done = {(tally.attack, "" if whole else tally.kind) for tally in tallies}
    before = json.loads(path.read_text(encoding="utf-8"))["attacks"] if path.exists() else []
    kept = [one for one in before if (one["attack"], "" if whole else one["kind"]) not in done]
    every = kept + [tally.to_json() for tally in tallies]
    every.sort(key=lambda one: list(TRIALS).index(one["attack"]))
    found = {"version": __version__, "python": platform.python_version(), "attacks": every}
    write_bytes(path, (json.dumps(found, indent=1) + "\n").encode())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("attacks", nargs="*", help=f"by default all: {', '.join(TRIALS)}")
    parser.add_argument("--short", action="store_true", help="few trials of each, as tests do")
    parser.add_argument("--trials", type=int, help="so many of each attack (fuzz: of each parser)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial, to repeat one")
    parser.add_argument("--parsers", default="", help="fuzz only those whose names hold this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="begin no trial after so long")
    parser.add_argument("--out", help="write the table as JSON, beside what other attacks gave")
    given = parser.parse_args()
    given.attacks = given.attacks or list(TRIALS)
    if unknown := sorted(set(given.attacks) - set(TRIALS)):
        parser.error(f"no such attack: {', '.join(unknown)}; there are {', '.join(TRIALS)}")
    return given


def _print(tallies: list[Tally]) -> None:
    for tally in tallies:
        counts = f"{tally.tried:9,} tried {tally.broken:6,} broken  slowest {tally.slowest:.1f} s"
        print(f"{tally.attack:13} {tally.kind:50} {counts}")
        for example in tally.examples:
            print(f"    {example}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
