"""Kill commands that write: before each call that changes a file, in the middle of a write, and at random moments."""

from __future__ import annotations

import random
import time

from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import CASES, Case
from torture.workbench import ALL, Workbench, workbench

FRESH = 50  # one in so many trials is a really fresh process: a fork may hide something
MOMENTS = 0.2  # the share of kills at a random moment
CHAINS = 0.25  # the share of kills after which the next attempt is killed, too
START = 4.0  # seconds that a fresh process takes to begin, about


def attack(campaign: Campaign) -> None:
    """Kill commands, and see that old files are whole and the same command, once more, ends with the same bits."""
    bench = workbench()
    # Each case has its turn as often as it has calls, about.
    turns = [(case, turn) for case in CASES for turn in range(case.weight)]
    random.Random(campaign.seed).shuffle(turns)
    for number, rng in campaign.trials():
        case, turn = turns[number % len(turns)]
        begun = time.monotonic()
        fault = _trial(bench, case, turn + number // len(turns) * case.weight, rng, fresh=number % FRESH == FRESH - 1)
        campaign.record(case.name, number, fault, time.monotonic() - begun)


def _trial(bench: Workbench, case: Case, turn: int, rng: random.Random, *, fresh: bool) -> str | None:
    points = _points(bench, case)
    area = bench.area_of(case)
    try:
        how = _kill(bench, area, case, None if rng.random() < MOMENTS else points[turn % len(points)], rng, fresh=fresh)
        while rng.random() < CHAINS:
            how += "; then " + _kill(bench, area, case, rng.choice(points), rng, fresh=False)
        fault = bench.fault_after(area, case, reads=rng.random() < 0.3)
        fault = fault or bench.fault_again(area, case, cleans=rng.random() < 0.1)
        return fault and f"{how}: {fault}"
    finally:
        area.remove()


def _points(bench: Workbench, case: Case) -> list[tuple[int, str]]:
    """Return the moments at which a case can be killed by its calls, in a random order that is always the same."""
    calls = bench.undisturbed(case).calls
    points = [(number, "kill") for number in range(1, len(calls) + 1)]
    points += [(number, "tear") for number, call in enumerate(calls, start=1) if call.startswith("W")]
    random.Random(case.name).shuffle(points)
    return points


def _kill(
    bench: Workbench, area: Area, case: Case, point: tuple[int, str] | None, rng: random.Random, *, fresh: bool
) -> str:
    """Kill a case at one of its calls, or at a random moment; return what happened."""
    begun = " ".join(case.arguments[:2]) + (" in a fresh process" if fresh else "")
    if point is None:
        started = area.start(*case.arguments, fresh=fresh)
        delay = rng.uniform(0, 1.1 * bench.undisturbed(case).seconds + (START if fresh else 0))
        time.sleep(delay)
        started.kill()
        ended = started.wait()
        return f"{begun}, killed after {delay:.3f} s" + (f" ({ended.fault})" if ended.fault else "")
    ended = area.run(*case.arguments, strike=area.strike(ALL, point[0], point[1]), fresh=fresh)
    if ended.code == 2 and case.otherwise:  # a chain: it was killed before
        area.log.unlink(missing_ok=True)
        ended = area.run(*case.otherwise, strike=area.strike(ALL, point[0], point[1]))
    if ended.fault:
        return f"{begun}, not killed ({ended.fault})"
    return f"{begun}, {point[1]} at call {point[0]} ({area.struck})"
