"""What attacks share: how many trials there are and until when, what is random, and what has come of them."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from relatum.progress import progress

EXAMPLES = 5  # broken trials of a kind that are kept to be looked at


@dataclass
class Tally:
    """What has come of the trials of one kind."""

    attack: str
    seed: int
    kind: str
    tried: int = 0
    broken: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    examples: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return {**vars(self), "seconds": round(self.seconds, 3), "slowest": round(self.slowest, 3)}


class Campaign:
    """The trials of one attack: each is counted under its kind, and what is broken is kept with its number.

    Args:
        attack: the name of the attack.
        seed: what is random in a trial depends on this, the attack and the trial's number alone.
        trials: how many trials there are.
        folder: where trials work; each makes and removes what it needs.
        until: by `time.monotonic()`, after which no trial begins.
        first: the number of the first trial, to repeat one that has broken.
        parsers: for fuzzing, only parsers whose names hold this.
    """

    def __init__(
        self, attack: str, seed: int, trials: int, folder: Path, until: float, first: int = 0, parsers: str = ""
    ) -> None:
        self.attack, self.seed, self.size, self.folder, self.until, self.first = attack, seed, trials, folder, until, first
        self.parsers = parsers
        self.tallies: dict[str, Tally] = {}

    def trials(self) -> Iterator[tuple[int, random.Random]]:
        """Yield the number of each trial with its own random numbers, as long as there is time."""
        with progress(self.attack, self.size) as advance:
            for number in range(self.first, self.first + self.size):
                if time.monotonic() > self.until:
                    return
                yield number, random.Random(f"{self.attack} {self.seed} {number}")
                advance(1)

    def record(
        self,
        kind: str,
        number: int,
        fault: str | None = None,
        seconds: float = 0.0,
        tried: int = 1,
        slowest: float | None = None,
    ) -> None:
        """Count a trial, or several at once, with the slowest of them.

        `fault` says what broke: what was lost, torn, raised, or took too long.
        """
        tally = self.tallies.setdefault(kind, Tally(self.attack, self.seed, kind))
        tally.tried += tried
        tally.seconds += seconds
        tally.slowest = max(tally.slowest, seconds if slowest is None else slowest)
        if fault is not None:
            tally.broken += 1
            if len(tally.examples) < EXAMPLES:
                shown = fault.replace(sys.prefix, "VENV")  # results hold no path of a machine
                tally.examples.append(f"trial {number}: {shown}")
