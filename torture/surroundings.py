"""Commands in odd surroundings: no home, no room, closed streams, few resources, signals, names that mean harm.

Whatever surrounds it, a command gives the right answer, or says in one line why not and ends with 2; 130 after Ctrl-C. It
prints no traceback, hangs nowhere, and leaves nothing half written.
"""

from __future__ import annotations

import itertools
import random
import time

from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import SMALL
from torture.contents import damaged
from torture.fresh import Fresh, Outcome, run_fresh
from torture.odd_names import NAMES, names_fault, prepare_names
from torture.surrounding_kinds import KINDS, SIGNALS, Kind
from torture.workbench import Workbench, workbench

Arguments = tuple[str, ...]

# What follows `relatum`, with what it finds; those first whose answers can be compared.
COMMANDS: tuple[tuple[Arguments, Arguments], ...] = (
    (("evaluate", "run", "--json"), ("run",)),
    (("complete", "run", "sold(drew, ?, book)", "-k", "3"), ("run",)),
    (("predict", "run", "--relation", "sold", "--top", "3", "--json"), ("run",)),
    (("rules", "run"), ("run",)),
    (("query", "run", "project[0](select[2 = book](sold))"), ("run",)),
    (("sql", "shop-run", "SELECT name, country FROM makers"), ("shop-run",)),
    (("fill", "shop-run"), ("shop-run",)),
    (("data", "info", "facts"), ("facts",)),
    (("schema", "shop-run"), ("shop-run",)),
    (("report", "run"), ("run",)),
    (("predict", "run", "--relation", "sold", "--top", "3", "--to", "new.csv"), ("run",)),
    (("import", "shop.db", "--out", "imported"), ("shop.db",)),
    (("update", "run", "new.txt", "--out", "updated-run"), ("run", "new.txt")),
    (("train", "--data", "example", *SMALL, "--out", "trained"), ()),
)
COMPARED = 9


def attack(campaign: Campaign) -> None:
    """Run a command in each surrounding in turn; every fourth trial has names that mean harm, every fifth a signal."""
    bench = workbench()
    prepare_names(bench)
    right: dict[Arguments, str] = {}
    for number, rng in campaign.trials():
        begun = time.monotonic()
        if number % 4 == 3:
            name, fault = NAMES, names_fault(bench, number // 4)
        elif number % 5 == 4:
            name, fault = SIGNALS, _signalled(bench, rng)
        else:
            kind = KINDS[_turn(number) % len(KINDS)]
            name, fault = kind.name, _trial(bench, kind, rng, right)
        campaign.record(name, number, fault, time.monotonic() - begun)


def _turn(number: int) -> int:
    """Return how many trials before this one were in a surrounding of the table."""
    return sum(1 for one in range(number) if one % 4 != 3 and one % 5 != 4)


def _trial(bench: Workbench, kind: Kind, rng: random.Random, right: dict[Arguments, str]) -> str | None:
    numbers = kind.commands or range(len(COMMANDS))
    chosen = rng.choice(list(numbers))
    arguments, inputs = COMMANDS[chosen]
    if kind.compares and chosen < COMPARED and arguments not in right:
        area = bench.area(inputs)
        right[arguments] = run_fresh(area, Fresh(arguments)).out
        area.remove()
    area = bench.area(inputs)
    try:
        with kind.around(area, rng) as fresh:
            outcome = run_fresh(area, fresh.of(arguments))
        fault = kind.judge(outcome)
        if fault is None and outcome.code == 0 and kind.compares and chosen < COMPARED and outcome.out != right[arguments]:
            fault = f"says {outcome.out[:200]!r} instead of {right[arguments][:200]!r}"
        fault = fault or _left(area, outcome)
        return fault and f"relatum {' '.join(arguments)}: {fault}"
    finally:
        area.remove()


def _left(area: Area, outcome: Outcome) -> str | None:
    """Return what a command has left that is half written."""
    if fault := damaged({name: what for name, what in area.contents().items() if not name.startswith("kernels")}):
        return f"{fault}, after: {outcome.err.strip()[-200:]}"
    left = [
        path.name for path in itertools.chain(area.folder.iterdir(), area.folder.glob("*/.*.tmp")) if _is_half(path.name)
    ]
    return f"left behind: {', '.join(left)}" if left and outcome.code in (0, 2) else None


def _is_half(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _signalled(bench: Workbench, rng: random.Random) -> str | None:
    """Send a signal at a random moment, and see that what is there is whole."""
    arguments, inputs = rng.choice(COMMANDS)
    number, codes = rng.choice([(2, (0, 130, -2)), (15, (0, -15)), (1, (0, -1)), (13, (0, 1, -13)), (3, (0, -3))])
    area = bench.area(inputs)
    try:
        delay = rng.uniform(0.0, 5.0)
        outcome = run_fresh(area, Fresh(arguments, signal=(number, delay)))
        said = f"relatum {' '.join(arguments)}, signal {number} after {delay:.2f} s"
        if "Traceback" in outcome.err or outcome.hangs:
            return f"{said}: {outcome.fault}"
        early = outcome.code == -2 and delay < 1.0  # before Python itself is awake
        if outcome.code not in codes or (outcome.code == -2 and not early):
            return f"{said}: exit code {outcome.code}: {outcome.err[-200:]}"
        if fault := _left(area, outcome):
            return f"{said}: {fault}"
        return None
    finally:
        area.remove()
