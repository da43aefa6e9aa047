"""Inputs that are tried in a process of their own, so that a crash or a hang is seen as what it is."""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import signal
import struct
import tempfile
import time
import warnings
from pathlib import Path

from relatum.progress import announce
from torture.campaign import Campaign
from torture.fuzz.parser import Parser

__all__ = ["LONGEST", "Batch"]

LONGEST = 10.0  # seconds of work that an input may take, and six times as many of waiting
_ROOM = 3 << 30  # bytes that a batch may take more
_LOOK = 0.02  # seconds between looks at a batch
_KEPT = 20  # faults of a batch that are kept whole


class Batch:
    """Numbers of inputs of one parser, tried one after the other by a child.

    Args:
        parser: the parser.
        seed: what inputs follow from, with their numbers.
        numbers: of the inputs.
        until: by `time.monotonic()`, after which no input is tried.
    """

    def __init__(self, parser: Parser, seed: int, numbers: range, until: float) -> None:
        self._parser, self._seed, self._numbers, self._until = parser, seed, numbers, until

    def start(self) -> None:
        """Begin, with a word where that is a new parser: a bar would be a thread, which does not live on in a child."""
        announce(f"fuzz: {self._parser.name}")
        self._at = mmap.mmap(-1, 8)  # shared: the number that is being tried
        self._at[:] = struct.pack("<q", self._numbers.start)
        handle, name = tempfile.mkstemp(prefix="torture-batch-")
        os.close(handle)
        self._found = Path(name)
        self._seen, self._since, self._status = self._numbers.start, time.monotonic(), None
        self._hung, self._spent_since = False, 0.0
        self._process = os.fork()
        if self._process == 0:
            status = 1
            try:
                self._try_all()
                status = 0
            finally:
                os._exit(status)

    def has_ended(self) -> bool:
        """Return whether the child has ended; one that is too long at an input is killed."""
        ended, status = os.waitpid(self._process, os.WNOHANG)
        if ended:
            self._status = status
            return True
        spent = self._spent()
        if (now := self._number()) != self._seen:
            self._seen, self._since, self._spent_since = now, time.monotonic(), spent
        elif spent - self._spent_since > LONGEST or time.monotonic() - self._since > 6 * LONGEST:
            self._hung = True
            os.kill(self._process, signal.SIGKILL)
        time.sleep(_LOOK)
        return False

    def record(self, campaign: Campaign) -> Batch | None:
        """Count what was tried; return what is left to try after an input that ended the child."""
        lines = self._found.read_text(encoding="utf-8").splitlines()
        self._found.unlink()
        *faults, total = map(json.loads, lines if self._status == 0 else [*lines, "{}"])
        for one in faults:  # also those before an input that ended the child
            campaign.record(self._parser.name, one["number"], one["fault"], tried=0)
        if total:
            campaign.record(self._parser.name, 0, **total)
            return None
        number = self._number()
        why = (
            f"more than {LONGEST:.0f} s"
            if self._hung
            else f"the process ended with {os.waitstatus_to_exitcode(self._status)}"
        )
        text = self._parser.input(self._seed, number, random.Random())
        tried = number - self._numbers.start + 1
        campaign.record(self._parser.name, number, f"{why}: {text[:300]!r}", tried=tried)
        rest = range(number + 1, self._numbers.stop)
        return Batch(self._parser, self._seed, rest, self._until) if rest else None

    def _spent(self) -> float:
        """Return the seconds of work that the child has had: others may be at work on the machine."""
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _number(self) -> int:
        return int(struct.unpack("<q", self._at)[0])

    def _try_all(self) -> None:
        """Try all inputs, and write what came of them."""
        warnings.simplefilter("ignore")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # progress that is shown there is of no interest
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM, -1))
        rng, parser, faults, slowest, tried = random.Random(), self._parser, 0, 0.0, 0
        begun = before = time.process_time()
        for number in self._numbers:
            if time.monotonic() > self._until:
                break
            self._at[:] = struct.pack("<q", number)
            text = parser.input(self._seed, number, rng)
            fault = parser.fault(text)
            tried += 1
            if fault is not None:
                faults += 1
                whole = f"{fault} for {text[:300]!r}" if faults < _KEPT else fault[:60]
                self._note({"number": number, "fault": whole})
            now = time.process_time()  # others may be at work on the machine
            slowest, before = max(slowest, now - before), now
        self._note({"tried": tried, "seconds": before - begun, "slowest": slowest})

    def _note(self, found: dict[str, object]) -> None:
        with self._found.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
