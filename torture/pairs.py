"""Run two commands at once on one thing: both end as if one had come after the other, or one is refused in a line."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import APPLY, PREDICT, STUDY, SUGGEST, TRAIN
from torture.commands import Ended, Started
from torture.contents import Contents, difference
from torture.workbench import Workbench, last_line, workbench

FRESH = 50  # one in so many trials has really fresh processes
CLOSE = 0.05  # seconds: half of the pairs start as close to each other as this

Arguments = tuple[str, ...]
THEIRS = "another program"  # the first word of what is no command, but a program that writes to a SQLite file


@dataclass(frozen=True)
class Pair:
    """Two commands, and what they find in the folder that both run in."""

    name: str
    first: Arguments
    second: Arguments
    inputs: tuple[str, ...] = ()


_TRAIN = (*TRAIN, "--out", "run")
_RESUME = ("train", "--resume", "stopped")
_UPDATE = ("update", "run", "new.txt", "--out", "updated")
_IMPORT = ("import", "shop.db", "--out", "facts")
_DEFINE = ("define", "run", "turned", "permute[1, 0, 2](sold)")
_ASK = ("complete", "run", "sold(drew, ?, book)")
_RUN = ("run", "spec.toml", "--out", "runs", "--results", "results")

PAIRS = (
    Pair("train, train", _TRAIN, _TRAIN),
    Pair("train, evaluate", _TRAIN, ("evaluate", "run")),
    Pair("train, complete", _TRAIN, _ASK),
    Pair("train, define", _TRAIN, _DEFINE),
    Pair("train, clean --yes", _TRAIN, ("clean", "--yes")),
    Pair("train, train: an empty cache", (*TRAIN, "--out", "a"), (*TRAIN, "--out", "b")),
    Pair("resume, resume", _RESUME, _RESUME, ("stopped",)),
    Pair("resume, evaluate", _RESUME, ("evaluate", "stopped"), ("stopped",)),
    Pair("update, update", _UPDATE, _UPDATE, ("run", "new.txt")),
    Pair("update, complete", _UPDATE, _ASK, ("run", "new.txt")),
    Pair("update, evaluate what it makes", _UPDATE, ("evaluate", "updated"), ("run", "new.txt")),
    Pair("update, define", _UPDATE, _DEFINE, ("run", "new.txt")),
    Pair("import, import", _IMPORT, _IMPORT, ("shop.db",)),
    Pair("import, clean --yes", _IMPORT, ("clean", "--yes"), ("shop.db",)),
    Pair("data info, data info: an empty cache", ("data", "info", "facts"), ("data", "info", "facts"), ("facts",)),
    Pair("define, define", _DEFINE, ("define", "run", "other", "permute[2, 1, 0](sold)"), ("run",)),
    Pair("define, define: one name", _DEFINE, _DEFINE, ("run",)),
    Pair("define, complete", _DEFINE, _ASK, ("run",)),
    Pair("predict, predict: one new .csv", (*PREDICT, "new.csv"), (*PREDICT, "new.csv"), ("run",)),
    Pair("predict, predict: one new .db", (*PREDICT, "new.db"), (*PREDICT, "new.db"), ("run",)),
    Pair("predict, complete: one new .db", (*PREDICT, "new.db"), (*SUGGEST, "new.db"), ("run",)),
    Pair("predict, predict: one new .duckdb", (*PREDICT, "new.duckdb"), (*PREDICT, "new.duckdb"), ("run",)),
    Pair("predict, complete: one new .duckdb", (*PREDICT, "new.duckdb"), (*SUGGEST, "new.duckdb"), ("run",)),
    Pair("predict, complete: one old .db", (*PREDICT, "old.db", "--replace"), (*SUGGEST, "old.db"), ("run", "old.db")),
    Pair("predict, another program: one new .db", (*PREDICT, "new.db"), (THEIRS, "new.db"), ("run",)),
    Pair("predict, another program: one old .db", (*PREDICT, "old.db", "--replace"), (THEIRS, "old.db"), ("run", "old.db")),
    Pair("predict, clean --yes: one new .duckdb", (*PREDICT, "new.duckdb"), ("clean", "--yes"), ("run",)),
    Pair("run, run", _RUN, _RUN, ("spec.toml",)),
    Pair("tune, tune", STUDY, STUDY),
    Pair("report, report", ("report", "run"), ("report", "run"), ("run",)),
    Pair("fill, fill: one database", APPLY, APPLY, ("shop-run", "shop.db")),
    Pair("fill, undo: one database", APPLY, ("fill", "--undo", "shop.db"), ("shop-run", "shop.db")),
    Pair("fill, another program: one database", APPLY, (THEIRS, "shop.db"), ("shop-run", "shop.db")),
)


@dataclass(frozen=True)
class InTurn:
    """What there is after the first command, the second, the first and then the second, and the other way round."""

    first: Contents
    second: Contents
    first_second: Contents
    second_first: Contents
    seconds: float  # of the first


def attack(campaign: Campaign) -> None:
    """Run pairs at once, and compare with what they leave one after the other."""
    bench = workbench()
    pairs = list(PAIRS)
    random.Random(campaign.seed).shuffle(pairs)
    known: dict[Pair, InTurn] = {}
    for number, rng in campaign.trials():
        pair = pairs[number % len(pairs)]
        if pair not in known:
            known[pair] = _in_turn(bench, pair)
        begun = time.monotonic()
        fault = _trial(bench, pair, known[pair], rng, fresh=number % FRESH == FRESH - 1)
        campaign.record(pair.name, number, fault, time.monotonic() - begun)


def _in_turn(bench: Workbench, pair: Pair) -> InTurn:
    found = []
    for one, other in ((pair.first, pair.second), (pair.second, pair.first)):
        area = bench.area(pair.inputs)
        ended = _wait(_start(area, one))
        found.append((area.contents(), ended.seconds))
        _wait(_start(area, other))
        found.append((area.contents(), 0.0))
        area.remove()
    return InTurn(found[0][0], found[2][0], found[1][0], found[3][0], found[0][1])


def _trial(bench: Workbench, pair: Pair, known: InTurn, rng: random.Random, *, fresh: bool) -> str | None:
    area = bench.area(pair.inputs)
    try:
        delay = rng.uniform(0, CLOSE) if rng.random() < 0.5 else rng.uniform(0, 1.2 * known.seconds)
        one = _start(area, pair.first, fresh=fresh)
        time.sleep(delay)
        other = _start(area, pair.second, fresh=fresh)
        ended = _wait(one), _wait(other)
        fault = _fault(area, known, *ended)
        lines = "; ".join(last_line(each) for each in ended)
        return fault and f"{delay:.3f} s apart ({lines}): {fault}"
    finally:
        area.remove()


def _fault(area: Area, known: InTurn, first: Ended, second: Ended) -> str | None:
    for name, ended in (("the first", first), ("the second", second)):
        if ended.fault:
            return f"{name}: {ended.fault}"
    if first.code == 2 and second.code == 2:
        return "both are refused"
    right = (known.first_second, known.second_first)
    if first.code == 2:
        right = (known.second,)
    elif second.code == 2:
        right = (known.first,)
    found = area.contents()
    if found not in right:
        return difference(found, right[0]) or "not as one after the other"
    if left := area.temporaries() + area.half_written():
        return f"left behind: {', '.join(left[:4])}"
    return None


def _start(area: Area, arguments: Arguments, *, fresh: bool = False) -> Started | Ended:
    """Start a command, or let another program write now."""
    if arguments[0] != THEIRS:
        return area.start(*arguments, fresh=fresh)
    return _write_theirs(area.folder / arguments[1])


def _wait(started: Started | Ended) -> Ended:
    return started if isinstance(started, Ended) else started.wait()


def _write_theirs(path: Path) -> Ended:
    """Make a table in a SQLite file, which may be new, as any program would; it may find the file locked."""
    begun = time.monotonic()
    try:
        with closing(sqlite3.connect(path, timeout=10)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS their_own (a, b)")
            database.executemany("INSERT INTO their_own VALUES (?, ?)", [(number, "x" * 50) for number in range(100)])
    except sqlite3.OperationalError as error:
        return Ended(2, "", f"relatum: {error}", time.monotonic() - begun)  # refused as relatum would be
    return Ended(0, "", "", time.monotonic() - begun)
