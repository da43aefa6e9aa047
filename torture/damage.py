"""Damaged files: runs, studies, caches, imported folders, databases; whatever they hold, a command answers or refuses.

A quarter of the trials are from the table in `torture.damages`, whose checksums fit; the others are random. Where a
checksum shows the damage, an answer must be the right one; a damaged cache must change no answer at all.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import SMALL, STUDY
from torture.commands import Command, Ended, kernels_folder
from torture.damages import OTHER, damages
from torture.decisions import decisions_trial
from torture.spoiling import refit, spoil
from torture.workbench import Workbench, workbench

PATIENCE = 60.0  # seconds
ROOM = 3 << 30  # bytes that a command may take beside what any command takes: allocating is cheap, using is not
KERNELS = 40  # one in so many trials damages compiled kernels, and is a fresh process that may have to compile again
_CHECKSUMMED = (".safetensors", "entities.txt", "relations.txt")
Arguments = tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """What is damaged, and the commands that read it.

    Attributes:
        name: what it is called in the table.
        inputs: what a trial finds, of what was prepared.
        damaged: the folder or file of it that is damaged.
        commands: those that read it; a trial runs some of them.
        before: a command that makes what is damaged, where it is not among the inputs.
        always: answers must be right however it is damaged.
        by_hand: people may change it; without one of its files it is other data, not damaged data.
    """

    name: str
    inputs: Arguments
    damaged: str
    commands: tuple[Arguments, ...]
    before: Arguments = ()
    always: bool = False
    by_hand: bool = False


_RUN = (
    ("evaluate", "RUN", "--json"),
    ("complete", "RUN", "sold(drew, ?, book)", "-k", "3", "--json"),
    ("query", "RUN", "project[0](select[2 = book](sold))", "--json"),
    ("rules", "RUN", "--json"),
    ("report", "RUN"),
    ("update", "RUN", "new.txt", "--out", "updated-run"),
    ("train", "--resume", "RUN"),
)
_SHOP = (
    ("evaluate", "shop-run", "--json"),
    ("fill", "shop-run", "--json"),
    ("sql", "shop-run", "SELECT name, country FROM makers", "--json"),
    ("complete", "shop-run", "goods.kind(good3, ?)", "--json"),
    ("doubt", "shop-run", "--json"),
    ("schema", "shop-run", "--json"),
    ("predict", "shop-run", "--top", "2", "--json"),
    ("explain", "shop-run", "goods.kind(good3, tea)", "--json"),
    ("similar", "shop-run", "good3", "--json"),
    ("embeddings", "shop-run", "--to", "vectors.csv"),
    ("report", "shop-run"),
)
_FACTS = (
    ("data", "info", "facts", "--json"),
    ("data", "check", "facts", "--json"),
    ("rules", "facts", "--json"),
    ("schema", "facts", "--json"),
    ("train", "--data", "facts", *SMALL, "--out", "trained"),
)
_EXPERIMENT = ("run", "spec.toml", "--out", "runs", "--results", "results")


def _for_run(name: str, commands: tuple[Arguments, ...] = _RUN) -> tuple[Arguments, ...]:
    return tuple(tuple(name if word == "RUN" else word for word in command) for command in commands)


def _source(name: str) -> Subject:
    return Subject(f"tables in {name}", (name,), name, (("import", name, "--out", "imported", "--json"),))


SUBJECTS = (
    Subject("run", ("run", "new.txt"), "run", _for_run("run")),
    Subject("run on tables", ("shop-run",), "shop-run", _SHOP),
    Subject("run that was updated", ("updated", "new.txt"), "updated", _for_run("updated", (*_RUN[:5],))),
    Subject("run that was stopped", ("stopped",), "stopped", (("train", "--resume", "stopped"),)),
    Subject("imported folder", ("facts",), "facts", _FACTS, by_hand=True),
    Subject("copy in the cache", ("facts",), "cache", _FACTS[:1], _FACTS[0], always=True),
    Subject("study", ("study",), "study", (STUDY,)),
    Subject("runs of an experiment", ("spec.toml",), "runs", (_EXPERIMENT,), _EXPERIMENT),
    Subject("results of an experiment", ("spec.toml",), "results", (_EXPERIMENT,), _EXPERIMENT),
    _source("shop.db"),
    _source("old.duckdb"),
    _source("new.parquet"),
    _source("old.csv"),
    _source("new.jsonl"),
    _source("new.xlsx"),
    Subject(
        "database to write to",
        ("run", "old.db", "old.duckdb"),
        "old.db",
        (("predict", "run", "--relation", "sold", "--top", "3", "--to", "old.db", "--replace"),),
    ),
    Subject(
        "database that is filled",
        ("shop-run", "filled.db"),
        "filled.db",
        (
            ("fill", "--log", "filled.db"),
            ("fill", "--undo", "filled.db"),
            ("fill", "shop-run", "--from", "filled.db", "--json"),
        ),
    ),
)
_WEIGHTS = (12, 12, 3, 6, 6, 4, 4, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3)
TABLE = Subject("run, by the table of damages", ("hostile", "new.txt"), "hostile", _for_run("hostile"))


def attack(campaign: Campaign) -> None:
    """Damage something, and have commands read it."""
    bench = workbench()
    attacker = _Attacker(bench)
    table = damages()
    turns = random.Random(0).sample(sorted(table), len(table))  # each has its turn, alike ones far apart
    for number, rng in campaign.trials():
        begun = time.monotonic()
        if number % KERNELS == KERNELS - 1:
            name, fault = "compiled kernels", attacker.kernels(rng)
        elif number % KERNELS == KERNELS // 2:
            name, fault = "decisions", decisions_trial(campaign.folder, rng)
        elif number % 4 == 0:
            which = turns[number // 4 % len(turns)]
            name, fault = TABLE.name, attacker.table(which, table[which], rng)
        else:
            (subject,) = rng.choices(SUBJECTS, _WEIGHTS)
            name, fault = subject.name, attacker.random(subject, rng)
        campaign.record(name, number, fault, time.monotonic() - begun)


class _Attacker:
    """Trials on a workbench, with the right answers of the commands, each found once."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._right: dict[Arguments, str] = {}
        self._prepare()
        self._limits = {"RLIMIT_AS": self._used() + ROOM}

    def _prepare(self) -> None:
        """Add to what is prepared a run that the table of damages fits, and tables in more kinds of files."""
        area = Area(self._bench.commands, self._bench.prepared)
        if (area.folder / "hostile").exists():
            return
        settings = ("model.dim=20", "training.epochs=20", "training.evidence=false")
        area.run_here(
            "train", "--data", "example", *(word for one in settings for word in ("--set", one)), "--out", "hostile"
        )
        area.run_here("define", "hostile", "sellers", "project[0](sold)")
        for name in ("new.jsonl", "new.parquet", "new.xlsx"):
            ended = area.run("predict", "run", "--relation", "sold", "--top", "30", "--to", name)
            assert ended.code == 0 or name == "new.xlsx", ended.err
        _write_workbook(area.folder / "new.xlsx")

    def _used(self) -> int:
        """Return the bytes of memory, used or not, that any command has when it begins."""
        area = self._bench.area()
        started = area.start("data", "list")
        pages = int(Path(f"/proc/{started.process}/statm").read_text().split()[0])
        started.wait()
        area.remove()
        return pages * 4096

    def table(self, what: str, damage: Callable[[Path], None], rng: random.Random) -> str | None:
        """Try one damage of the table, and return what went wrong."""
        chosen = rng.sample(TABLE.commands, 3)
        right = {} if what.endswith(OTHER) else {command: _essence(self._answer(TABLE, command)) for command in chosen}
        area = self._bench.area(TABLE.inputs)
        try:
            damage(area.folder / TABLE.damaged)
            for command in chosen:
                ended = self._run(area, command)
                fault = ended.fault
                if fault is None and ended.code == 0 and right.get(command) not in (None, found := _essence(ended.out)):
                    fault = f"{found} instead of {right[command]}"
                if fault is not None:
                    return f"{what}: relatum {' '.join(command)}: {fault[:300]}"
            return None
        finally:
            area.remove()

    def random(self, subject: Subject, rng: random.Random) -> str | None:
        """Damage a random file of a subject, and return what went wrong."""
        chosen = rng.sample(subject.commands, min(len(subject.commands), 2))
        right = {command: self._answer(subject, command) for command in chosen}
        area = self._bench.area(subject.inputs)
        try:
            if subject.before:
                area.run(*subject.before)
            where = area.folder / subject.damaged
            files = sorted(path for path in where.rglob("*") if path.is_file()) if where.is_dir() else [where]
            path = rng.choice([one for one in files if one.suffix != ".lock"] or files)
            how = f"{path.relative_to(area.folder)}: {spoil(path, files, rng)}"
            sealed = not subject.by_hand if not path.exists() else path.name.endswith(_CHECKSUMMED)
            if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20 and rng.random() < 0.4:
                refit(where, path)
                how, sealed = f"{how} (checksums fit)", False
            for command in chosen:
                ended = self._run(area, command)
                fault = ended.fault
                if fault is None and ended.code == 0 and (sealed or subject.always) and command[-1] == "--json":
                    fault = (
                        None if ended.out == right[command] else f"says {ended.out[:150]} instead of {right[command][:150]}"
                    )
                if fault is not None:
                    return f"{how}: relatum {' '.join(command)}: {fault[:300]}"
            return None
        finally:
            area.remove()

    def kernels(self, rng: random.Random) -> str | None:
        """Damage files of compiled kernels, and return what a fresh process says that should be as it was."""
        command = ("evaluate", "run", "--json")
        right = self._answer(SUBJECTS[0], command)
        area = self._bench.area(("run",))
        try:
            shutil.copytree(kernels_folder(), area.folder / "kernels")
            files = sorted(path for path in (area.folder / "kernels").rglob("*") if path.is_file())
            where = rng.sample(files, min(len(files), 3))
            how = "; ".join(f"{path.name}: {spoil(path, files, rng)}" for path in where)
            said = area.folder / "said"
            environment = {"RELATUM_CACHE": str(area.folder / "cache"), "NUMBA_CACHE_DIR": str(area.folder / "kernels")}
            fresh = Command(command, str(area.folder), f"{said}.out", f"{said}.err", environment, self._limits)
            ended = self._bench.commands.run(fresh, fresh=True, seconds=2 * PATIENCE)
            fault = ended.fault or (None if ended.out == right else f"says {ended.out[:200]!r}")
            return fault and f"{how}: {fault}"
        finally:
            area.remove()

    def _run(self, area: Area, command: Arguments) -> Ended:
        return area.start(*command, limits=self._limits).wait(PATIENCE)

    def _answer(self, subject: Subject, command: Arguments) -> str:
        """Return what a command prints when nothing is damaged."""
        if command not in self._right:
            area = self._bench.area(subject.inputs)
            if subject.before:
                area.run(*subject.before)
            ended = area.run(*command)
            assert ended.code == 0, (command, ended.err)
            self._right[command] = ended.out
            area.remove()
        return self._right[command]


def _essence(out: str) -> Any:
    """Return what no damage of the table may change of what a command prints: ranks, answers and rules."""
    try:
        found = json.loads(out)
    except ValueError:
        return None
    if "mrr" in found:
        return found["mrr"], found["questions"]
    if "question" in found:
        return [one["entities"] for one in found["answers"]]
    return [one["rule"] for one in found["rules"]] if "rules" in found else None


def _write_workbook(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("name", "maker", "price"), *((f"good{number}", f"maker{number % 3}", number / 4) for number in range(20))):
        sheet.append(row)
    book.save(path)
