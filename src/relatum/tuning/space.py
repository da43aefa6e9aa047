"""Search spaces: what may be tried for each setting, and the defaults; and the plan of a study, which searches one."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.errors import SettingError
from relatum.runs.spec import Spec, merged, toml_of
from relatum.settings import change_of, nested, rules_of, unknown_setting
from relatum.version import __version__

Value = str | float | bool

_LARGEST = (1 << 53) - 1  # beyond it, whole numbers have no float of their own
_RANGE = re.compile(r"(?P<low>[^,\s]+?)\s*\.\.\s*(?P<high>[^,\s]+)(?P<log>\s+log)?")
_MOST_POINTS = 10_000
_MOST_TRIED = 1000  # combinations in which a value is tried before it is refused


@dataclass(frozen=True)
class Choice:
    """A setting that takes one of a few values."""

    path: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.path}={','.join(map(toml_of, self.values))}"


@dataclass(frozen=True)
class Range:
    """A setting that takes a number from `low` to `high`, both included; a whole one if these are whole."""

    path: str
    low: float
    high: float
    is_log: bool = False

    @property
    def values(self) -> tuple[Value, ...]:
        """Both ends."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{self.path}={self.low}..{self.high}{' log' if self.is_log else ''}"


Dimension = Choice | Range


def read_space(texts: Iterable[str], base: Spec) -> tuple[Dimension, ...]:
    """Return the space of texts such as `training.learning_rate=0.05..1.0 log` and `model.window=1,2,4`.

    A value that fits into no combination with the others is refused, and so is a setting that the base does not have.
    """
    space = tuple(_read(text, base) for text in texts)
    if not space:
        raise SettingError("bad-search", "names no setting", place="search")
    if len({dimension.path for dimension in space}) < len(space):
        raise SettingError("bad-search", "names a setting twice", place="search")
    for number, dimension in enumerate(space):
        others = space[:number] + space[number + 1 :]
        for value in dimension.values:
            _require_possible(base, {dimension.path: value}, others)
    return space


def apply(base: Spec, values: Mapping[str, Value]) -> Spec:
    """Return the base with some settings changed; refused if they do not go together."""
    changes = merged({"model": base.model}, *(nested(path, value) for path, value in values.items()))
    return Spec(base.data, spec=base, **changes)


def grid_points(base: Spec, space: Sequence[Dimension]) -> list[dict[str, Value]]:
    """Return every combination of choices that can be, the last one changing fastest; a range is refused."""
    for one in space:
        if isinstance(one, Range):
            raise SettingError("bad-search", f"a grid needs choices, as {one.path}={one.low},...", place=f"search {one}")
    if math.prod(len(dimension.values) for dimension in space) > _MOST_POINTS:
        raise SettingError("bad-search", f"the grid has more than {_MOST_POINTS} points", place="search")
    return [point for point in _combinations(space) if _error_of(base, point) is None]


def _read(text: str, base: Spec) -> Dimension:
    path, equals, rest = (part.strip() for part in text.partition("="))
    try:
        if not equals or not rest:
            raise SettingError("bad-search", "write training.learning_rate=0.05..1.0 log, or model.window=1,2,4")
        type_ = _type_of(path, base)
        if found := _RANGE.fullmatch(rest):
            return _range(path, type_, found)
        values = tuple(map(_value, rest.split(",")))
        if len(set(values)) < len(values) or "" in values:
            raise SettingError("bad-search", "a choice is missing or given twice")
        return Choice(path, values)
    except SettingError as error:
        raise error if error.place else error.within(f"search {text!r}") from None


def _range(path: str, type_: type, found: re.Match[str]) -> Range:
    if type_ not in (int, float):
        raise SettingError("bad-search", f"{path} is not a number, so it has no range; list its choices")
    try:
        low, high = type_(found["low"]), type_(found["high"])
    except ValueError:
        raise SettingError("bad-search", f"a range goes from one {type_.__name__} to another, such as 1..8") from None
    if type_ is int and max(abs(low), abs(high)) > _LARGEST:
        raise SettingError("bad-search", f"a range of whole numbers goes up to {_LARGEST}")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise SettingError("setting-out-of-range", "the first number must be below the second")
    if found["log"] and low <= 0:
        raise SettingError("bad-search", "log needs numbers above 0")
    return Range(path, low, high, bool(found["log"]))


def _type_of(path: str, base: Spec) -> type:
    """Return the type of the setting at a path, None left aside; a path that cannot be searched is refused."""
    table, _, key = path.partition(".")
    if table not in ("model", "training") or path == "model.name":
        raise SettingError("bad-search", "only settings of model and training can be searched")
    rules = rules_of(type(base.settings if table == "model" else base.training))
    if key not in rules:
        raise unknown_setting(path, key, rules)
    return rules[key].type


def _value(text: str) -> Value:
    """Return a value as a change of a spec reads it."""
    value = change_of(f"value={text.strip()}")["value"]
    if not isinstance(value, str | int | float | bool):
        raise SettingError("bad-search", f"{text} is neither a number nor a word")
    return value


def _require_possible(base: Spec, fixed: Mapping[str, Value], others: Sequence[Dimension]) -> None:
    error = None
    for combination in itertools.islice(_combinations(others), _MOST_TRIED):
        found = _error_of(base, {**fixed, **combination})
        if found is None:
            return
        error = error or found
    raise SettingError("bad-search", f"search {error}")


def _combinations(space: Sequence[Dimension]) -> Iterator[dict[str, Value]]:
    paths = [dimension.path for dimension in space]
    for values in itertools.product(*(dimension.values for dimension in space)):
        yield dict(zip(paths, values, strict=True))


def _error_of(base: Spec, values: Mapping[str, Value]) -> SettingError | None:
    try:
        apply(base, values)
    except SettingError as error:
        return error
    return None


SAMPLERS = ("tpe", "grid")


def default_space(base: Spec, sampler: str) -> tuple[Dimension, ...]:
    """Return the space of a model: its learning rate and what its own settings offer, as far as the base allows it."""
    found = tomllib.loads(Path(__file__).with_name("spaces.toml").read_text(encoding="utf-8"))[sampler]
    texts = found["every"] + found.get(base.model, found["other"])
    return read_space(filter(None, (_fitting(text, base) for text in texts)), base)


def _fitting(text: str, base: Spec) -> str:
    """Return a text without the choices that the base rules out, such as a window that does not divide its dimension."""
    path, _, rest = text.partition("=")
    if ".." in rest:
        return text
    kept = [value for value in rest.split(",") if _error_of(base, {path: _value(value)}) is None]
    return f"{path}={','.join(kept)}" if kept else ""


PRUNERS = ("median", "halving", "none")


@dataclass(frozen=True)
class Plan:
    """A study before its first trial; equal plans are one study, wherever and by whomever they are carried out."""

    base: Spec
    space: tuple[Dimension, ...]
    sampler: str
    pruner: str
    checksums: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of the study: the model, and a hash of all that the study follows from."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return f"relatum-{self.base.model}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def to_json(self) -> dict[str, Any]:
        """Return all that the study follows from; the data by its checksums, since its path differs between machines."""
        plain = self.base.to_dict()
        del plain["data"]
        return {
            **plain,
            "search": [str(dimension) for dimension in self.space],
            "sampler": self.sampler,
            "pruner": self.pruner,
            "checksums": dict(self.checksums),
            "relatum": __version__,
        }


def make_plan(base: Spec, search: Sequence[str], sampler: str, pruner: str, checksums: Mapping[str, str]) -> Plan:
    """Return the plan of a study; without `search`, the default space of the model."""
    for name, value, known in (("sampler", sampler, SAMPLERS), ("pruner", pruner, PRUNERS)):
        if value not in known:
            raise SettingError("setting-out-of-range", f"must be one of {', '.join(known)}, not {value!r}", place=name)
    space = read_space(search, base) if search else default_space(base, sampler)
    if sampler == "grid":
        grid_points(base, space)  # refuses a space that is not a grid
    return Plan(base, space, sampler, pruner, checksums)
