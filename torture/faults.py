"""Have calls fail under commands that write: a full disk, a broken one, a quota, short writes, and limits of the system."""

from __future__ import annotations

import errno
import random
import time
from dataclasses import dataclass

from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import CASES, Case
from torture.workbench import ALL, Workbench, last_line, workbench


@dataclass(frozen=True)
class Kind:
    """A kind of fault: which classes of calls it strikes, what becomes of them, and whether it stays."""

    name: str
    classes: str
    action: str = "fail"
    error: int = 0
    lasting: bool = False


KINDS = (
    Kind("full disk", "WC", error=errno.ENOSPC, lasting=True),
    Kind("quota", "WC", error=errno.EDQUOT, lasting=True),
    Kind("one write fails", "W", error=errno.EIO),
    Kind("one sync fails", "S", error=errno.EIO),
    Kind("one rename or link fails", "N", error=errno.EIO),
    Kind("broken disk", ALL, error=errno.EIO, lasting=True),
    Kind("short write", "W", "shorten"),
)
LIMITS = {"RLIMIT_FSIZE": (2000, 20_000), "RLIMIT_NOFILE": (5, 40)}  # from where to where
LIMITED = 0.2  # the share of trials with a limit instead


def attack(campaign: Campaign) -> None:
    """Have calls fail: one line and exit code 2, or success; old files whole; and the right bits once nothing fails."""
    bench = workbench()
    cases = [case for case in CASES for _ in range(min(case.weight, 3))]
    random.Random(campaign.seed).shuffle(cases)
    for number, rng in campaign.trials():
        case, begun = cases[number % len(cases)], time.monotonic()
        fault = _trial(bench, case, rng)
        campaign.record(case.name, number, fault, time.monotonic() - begun)


def _trial(bench: Workbench, case: Case, rng: random.Random) -> str | None:
    area = bench.area_of(case)
    try:
        how, fault = _strike(bench, area, case, rng)
        fault = fault or bench.fault_after(area, case, reads=rng.random() < 0.3)
        fault = fault or bench.fault_again(area, case, cleans=rng.random() < 0.1)
        return fault and f"{how}: {fault}"
    finally:
        area.remove()


def _strike(bench: Workbench, area: Area, case: Case, rng: random.Random) -> tuple[str, str | None]:
    """Run a case with a fault; return what the fault was, and what the case did wrong."""
    kind = rng.choice(KINDS) if rng.random() >= LIMITED else None
    if kind is None:
        limit = rng.choice(list(LIMITS))
        value = rng.randint(*LIMITS[limit])
        ended = area.run(*case.arguments, limits={limit: value})
        how = f"{limit} {value}"
    else:
        calls = [call for call in bench.undisturbed(case).calls if call[0] in kind.classes]
        number = rng.randint(1, max(len(calls), 1))
        strike = area.strike(kind.classes, number, kind.action, kind.error, lasting=kind.lasting)
        ended = area.run(*case.arguments, strike=strike)
        how = f"{kind.name} from call {number} on" if kind.lasting else f"{kind.name}, call {number}"
        how += f" ({area.struck})" if not kind.lasting else ""
    fault = ended.fault
    # Where nothing can be removed either, what was half written stays, and goes the next time.
    if (
        fault is None
        and ended.code == 2
        and not (kind and "R" in kind.classes and kind.lasting)
        and (left := area.half_written())
    ):
        fault = f"left behind: {', '.join(left)}"
    return f"{how}, {last_line(ended)}", fault
