"""Hostile numbers in the files of runs: refused in one line, or within their declared range and harmless.

A number, text, list or object in a JSON, TOML or safetensors file of a run is replaced, and checksums are made to fit. Then
commands answer as on the sound run, refuse, or answer otherwise where what was changed is declared, and within its range.
"""

from __future__ import annotations

import json
import math
import random
import time
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from relatum.artefacts import Given, Within
from relatum.datasets.cache import FactsAbout
from relatum.datasets.row_files import ROWS, VALUES, RowsAbout, ValuesAbout
from relatum.evidence.evidence import EvidenceFile
from relatum.imputation.models import ColumnsFile
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sets import AnswerSets
from relatum.inference.calibration import Calibration
from relatum.inference.new_fact_calibration import NewFactCalibration
from relatum.models.store import Config
from relatum.runs.definitions import DefinitionsFile
from relatum.runs.directory import Environment
from relatum.runs.journal import Event, Update
from relatum.runs.spec import toml_of
from relatum.runs.sql_answers import VIEWS, ViewsFile
from relatum.tensor_files import map_arrays, write_tensors
from relatum.training.checkpoint import Numbers
from torture.areas import Area
from torture.campaign import Campaign
from torture.cases import SMALL
from torture.commands import Ended
from torture.spoiling import refit
from torture.workbench import Workbench, workbench

# What each file of a run is declared as; of a safetensors file, what it says about itself.
KINDS: dict[str, Any] = {
    "calibration.json": Calibration,
    "answer_calibration.json": AnswerCalibration,
    "new_fact_calibration.json": NewFactCalibration,
    "answer_sets.json": AnswerSets,
    "evidence.json": EvidenceFile,
    "columns.json": ColumnsFile,
    "config.json": Config,
    "environment.json": Environment,
    "definitions.json": DefinitionsFile,
    VIEWS: ViewsFile,
    "journal.jsonl": list[Event | Update],
    "facts.safetensors": FactsAbout,
    ROWS: RowsAbout,
    VALUES: ValuesAbout,
    "checkpoint.safetensors": Numbers,
    "model.safetensors": dict[str, str],
    "spec.toml": Any,  # settings have rules of their own, and are read before all else
}
SLOWER, SECONDS = 5.0, 10.0  # times what a command takes on the sound run, and besides
ROOM = 1 << 30  # bytes of memory that a command may take beside what any takes
LONG = 100_000  # elements of a very long list

Arguments = tuple[str, ...]
Path_ = tuple[str | int, ...]

_NUMBERS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 2**63 - 1, -1, 0, 99999999999, 0.5, 1e-320)
_OTHERS = ("x", "", True, None, [], {}, [[]], [0.5] * LONG, ["x"] * LONG)
_SOLD, _BOOK = "sold(drew, ?, book)", "sold(drew, sam, book)"
_FACTS: tuple[Arguments, ...] = (
    ("evaluate", "RUN", "--json"),
    ("complete", "RUN", _SOLD, "-k", "5", "--json"),
    ("complete", "RUN", _SOLD, "--coverage", "0.5", "--json"),
    ("score", "RUN", _BOOK, "--json"),
    ("explain", "RUN", _BOOK, "--json"),
    ("query", "RUN", "project[0](select[2 = book](sold))", "--json"),
    ("sql", "RUN", "SELECT seller, buyer FROM sold WHERE item = 'book' LIMIT 9", "--json"),
    ("doubt", "RUN", "--json"),
    ("predict", "RUN", "--top", "3", "--json"),
    ("rules", "RUN", "--json"),
    ("report", "RUN"),
)
_TABLES: tuple[Arguments, ...] = (
    ("fill", "RUN", "--json"),
    ("fill", "RUN", "--json"),
    ("complete", "RUN", "goods.kind(good7, ?)", "--json"),
    ("evaluate", "RUN", "--json"),
    ("evaluate", "RUN", "--by", "column", "--json"),
    ("score", "RUN", "goods.kind(good7, tea)", "--json"),
    ("explain", "RUN", "goods.kind(good7, tea)", "--json"),
    ("query", "RUN", "project[0](select[1 = tea](goods.kind))", "--json"),
    ("sql", "RUN", "SELECT name, kind FROM goods WHERE NOT known LIMIT 9", "--json"),
    ("doubt", "RUN", "--json"),
    ("predict", "RUN", "--top", "2", "--json"),
    ("schema", "RUN", "--json"),
    ("report", "RUN"),
)
SUBJECTS = {
    "facts": ("rich", _FACTS),
    "tables": ("shop-run", _TABLES),
    "updated": ("grown", _FACTS),
    "joined": ("pair", _FACTS),
}
_DRAWN = ("facts", "tables", "tables", "updated", "joined")


def attack(campaign: Campaign) -> None:
    """Replace something in a file of a run, and have commands read it."""
    attacker = _Attacker(workbench())
    for number, rng in campaign.trials():
        begun, subject = time.monotonic(), rng.choice(_DRAWN)
        fault = attacker.trial(subject, rng)
        campaign.record(f"run: {subject}", number, fault, time.monotonic() - begun)


@dataclass(frozen=True)
class _Change:
    """What was put where: the file, the path in what it says, and the value; the path of a tensor begins with `tensor`."""

    file: str
    path: Path_
    value: object

    def __str__(self) -> str:
        shown = repr(self.value)
        return f"{self.file}: {'.'.join(map(str, self.path))} = {shown if len(shown) < 40 else f'{shown[:40]} ...'}"


class _Attacker:
    """Trials on a workbench, with what commands say of the sound runs."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._sound: dict[Arguments, Ended] = {}
        self._prepare()
        area = bench.area()
        started = area.start("data", "list")
        pages = int(Path(f"/proc/{started.process}/statm").read_text().split()[0])
        started.wait()
        area.remove()
        self._limits = {"RLIMIT_AS": pages * 4096 + ROOM}

    def _prepare(self) -> None:
        """Train runs that have everything: sets of answers, evidence, definitions, views, an update, an ensemble."""
        area = Area(self._bench.commands, self._bench.prepared)
        if (area.folder / "pair").exists():
            return
        longer = ("train", "--data", "example", "--set", "model.dim=20", "--set", "training.epochs=30")
        area.run_here(*longer, "--out", "rich")
        area.run_here("define", "rich", "sellers", "project[0](sold)")
        area.run_here("sql", "rich", "CREATE VIEW traded AS SELECT seller, item FROM sold")
        area.run_here("update", "rich", "new.txt", "--out", "grown")
        area.run_here("train", "--data", "example", *SMALL, "--seed", "1", "--out", "second")
        area.run_here("join", "run", "second", "--out", "pair")
        for name, commands in SUBJECTS.values():  # so that all that they import is there when they are forked
            for command in dict.fromkeys(commands):
                area.run_here(*(name if word == "RUN" else word for word in command))

    def trial(self, subject: str, rng: random.Random) -> str | None:
        """Change something in one run, and return what went wrong."""
        name, commands = SUBJECTS[subject]
        chosen = [tuple(name if word == "RUN" else word for word in one) for one in rng.sample(commands, 2)]
        sound = [self._on_sound(name, one) for one in chosen]
        area = self._bench.area((name,))
        try:
            change = _changed(area.folder / name, rng)
            for command, right in zip(chosen, sound, strict=True):
                began = time.monotonic()
                ended = area.start(*command, limits=self._limits).wait(SLOWER * right.seconds + SECONDS)
                seconds = time.monotonic() - began
                fault = ended.fault or _fault(change, ended, right)
                if fault is None and seconds > SLOWER * right.seconds + SECONDS:
                    fault = f"{seconds:.1f} s instead of {right.seconds:.1f} s"
                if fault is not None:
                    return f"{change}: relatum {' '.join(command)}: {fault[:400]}"
            return None
        finally:
            area.remove()

    def _on_sound(self, name: str, command: Arguments) -> Ended:
        if command not in self._sound:
            area = self._bench.area((name,))
            self._sound[command] = area.run(*command)
            area.remove()
            assert self._sound[command].code == 0, (command, self._sound[command].err)
        return self._sound[command]


def _fault(change: _Change, ended: Ended, sound: Ended) -> str | None:
    """Return what is wrong with what a command said of a run in which something was changed."""
    if "RuntimeWarning" in ended.err:
        return f"a warning: {ended.err.strip()[-200:]}"
    if ended.code:
        return None
    try:
        found, right = json.loads(ended.out), json.loads(sound.out)
    except ValueError:
        found, right = None, None  # no JSON: a report
    for probability in _probabilities(found):
        if not (isinstance(probability, float) and 0 < probability < 1):
            return f"probability {probability} of what is not known"
    if _answers(found) < _answers(right) and not _is_allowed(change):
        return f"{_answers(found)} answers instead of {_answers(right)}, without a word"
    if found != right and not _is_allowed(change):
        return f"says {ended.out[:150]!r} instead of {sound.out[:150]!r}"
    return None


def _probabilities(found: Any) -> Iterator[object]:
    """Yield the probabilities of what is not known, wherever they stand in what a command says."""
    if isinstance(found, dict):
        known = found.get("known") is True or found.get("source") is not None or found.get("negated") is True
        if found.get("probability") is not None and not known:
            yield found["probability"]
        for each in found.values():
            yield from _probabilities(each)
    elif isinstance(found, list):
        for each in found:
            yield from _probabilities(each)


def _answers(found: Any) -> int:
    """Return how many objects a command lists."""
    lists = [each for each in found.values() if isinstance(each, list)] if isinstance(found, dict) else []
    return sum(map(len, lists))


def _is_allowed(change: _Change) -> bool:
    """Return whether a change leaves something that is declared, and within its range: then answers may be others."""
    if change.path[:1] == ("tensor",):
        return True  # a finite number that fits its type, or the commands had refused it
    kind = KINDS.get("checkpoint.safetensors" if change.file.startswith("checkpoint") else change.file)
    return kind is not None and _fits(kind, change.path, change.value)


def _fits(hint: Any, path: Path_, value: object) -> bool:
    """Return whether a value may stand at a path of what is declared by a type, as far as this alone tells."""
    origin = get_origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return _fits(get_args(hint)[0], path, value)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(one, path, value) for one in get_args(hint))
    base, *marks = get_args(hint) if origin is Annotated else (hint,)
    if base is Any or any(hasattr(one, "read") for one in marks):
        return True  # read with what else is known
    if path:
        return _fits_within(base, path, value, hint)
    if get_origin(base) is Literal:
        return value in get_args(base)
    if base is types.NoneType:
        return value is None
    if get_origin(base) is np.ndarray or get_origin(base) in (tuple, list, dict) or _fields(base):
        return isinstance(value, list | dict)  # what is in it is looked at by its length alone
    if base in (int, float):
        (within,) = (one for one in marks if isinstance(one, Within))
        return _is_within(value, base, within)
    return type(value) is base


def _fits_within(base: Any, path: Path_, value: object, hint: Any) -> bool:
    step, rest = path[0], path[1:]
    if fields := _fields(base):
        return step in fields and _fits(fields[str(step)], rest, value)
    inner = get_args(base)
    if get_origin(base) is np.ndarray:
        (within,) = (one for one in get_args(hint) if isinstance(one, Within))
        return isinstance(value, list) or _is_within(value, float, within)
    if get_origin(base) is dict:
        return _fits(inner[1], rest, value)
    return bool(inner) and _fits(inner[0 if inner[-1] is ... or len(inner) == 1 else int(step)], rest, value)


def _is_within(value: object, kind: type, within: Within) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | kind):  # type: ignore[arg-type]
        return False
    below = math.inf if isinstance(within.below, str) else within.below
    return bool(within.least <= value <= within.most and value < below)  # type: ignore[operator]


def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields that files hold of a dataclass, a named tuple or a typed dict."""
    if not (is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields")):
        return {}
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if Given not in get_args(hint)}


def _changed(folder: Path, rng: random.Random) -> _Change:
    """Replace something in a file of a run."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".jsonl", ".toml", ".safetensors"))
    path = rng.choice([one for one in files for _ in range(3 if one.suffix == ".json" else 1)])
    if rng.random() < 0.05:
        other = rng.choice([one for one in files if one.suffix == path.suffix])
        path.write_bytes(other.read_bytes())
        refit(folder, path)
        return _Change(path.name, ("all",), f"what {other.name} holds")
    if path.suffix == ".safetensors":
        change = _changed_tensors(path, rng)
    else:
        read, write = _FORMS[path.suffix]
        whole = read(path)
        change = _replaced(path.name, whole, folder, rng)
        path.write_bytes(write(whole).encode())
    refit(folder, path)
    return change


def _replaced(file: str, whole: Any, folder: Path, rng: random.Random) -> _Change:
    """Replace something in plain data: as likely in each of its parts, however many numbers these have."""
    at, path = whole, list[str | int]()
    while True:
        step = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
        path.append(step)
        if not isinstance(at[step], dict | list) or not at[step] or rng.random() < 0.1:
            break
        at = at[step]
    at[step] = value = _hostile(at[step], folder, rng)
    return _Change(file, tuple(path), value)


def _hostile(old: object, folder: Path, rng: random.Random) -> object:
    draw = rng.random()
    if draw < 0.6:
        return rng.choice(_NUMBERS)
    if draw < 0.85:
        return rng.choice(_OTHERS)
    if isinstance(old, list) and old and draw < 0.9:
        return old * (LONG // len(old))
    other = rng.choice(sorted(folder.glob("*.json")))  # a value from somewhere else
    at = json.loads(other.read_bytes())
    while isinstance(at, dict | list) and at and rng.random() < 0.9:
        at = rng.choice(list(at.values()) if isinstance(at, dict) else at)
    return at


def _changed_tensors(path: Path, rng: random.Random) -> _Change:
    metadata = json.loads(path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")])["__metadata__"]
    stored = map_arrays(path, metadata["format"], int(metadata["version"]), None)
    assert stored is not None
    arrays, about = {name: np.array(array) for name, array in stored.arrays.items()}, stored.about
    full = [name for name, array in arrays.items() if array.size]
    if about and rng.random() < 0.5:
        change = _replaced(path.name, about, path.parent, rng)
    else:
        name = rng.choice(full)
        array, value = arrays[name].reshape(-1), rng.choice(_NUMBERS)
        if array.dtype.kind in "iub":
            limits = np.iinfo(array.dtype if array.dtype.kind != "b" else np.uint8)
            value = rng.choice((limits.min, limits.max, -1, 0, 1, 2, 3)) if array.dtype.kind == "i" else rng.randrange(256)
        with np.errstate(all="ignore"):
            array[rng.randrange(len(array))] = value
        change = _Change(path.name, ("tensor", name), value)
    write_tensors(path, arrays, metadata["format"], int(metadata["version"]), about)
    return change


def _toml(whole: dict[str, Any]) -> str:
    """Return tables as TOML, with numbers that JSON has no words for."""

    def line(name: str, value: Any) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} = {value}"
        return f"{name} = {toml_of('' if value is None else value if value != {} else [])}"

    plain = [line(name, value) for name, value in whole.items() if not isinstance(value, dict)]
    tables = [(name, value) for name, value in whole.items() if isinstance(value, dict)]
    return "\n".join(
        [*plain, *(part for name, one in tables for part in (f"[{name}]", *(line(*each) for each in one.items())))]
    )


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


_FORMS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], str]]] = {
    ".json": (lambda path: json.loads(path.read_bytes()), json.dumps),
    ".jsonl": (_lines, lambda whole: "".join(f"{json.dumps(line)}\n" for line in whole)),
    ".toml": (lambda path: tomllib.loads(path.read_text(encoding="utf-8")), _toml),
}
