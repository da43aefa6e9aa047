"""Every number behind a synthetic dataset, and the presets."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from relatum.data.derivations import OPERATIONS
from relatum.errors import UnknownNameError
from relatum.settings import Checked, change_of, require, rules_of, setting


@dataclass(frozen=True)
class SynthSettings(Checked):
    """How a synthetic dataset is generated; the defaults are those of the preset `rel-er`."""

    entities: int = setting(24_000, "how many may occur; those that no kept tuple holds are left out of the dataset", ge=1)
    skew: float = setting(
        0.65,
        "how unlike the entities' frequencies are, 0 (all alike, as in the paper) to below 1; see `random_blocks`",
        ge=0,
        lt=1,
    )
    relations: int = setting(200, "how many elementary ones there are", ge=1)
    arities: Mapping[int, float] = setting(
        {2: 0.4, 3: 0.41, 4: 0.15, 5: 0.03, 6: 0.01},
        "the share of elementary relations, and of their tuples, by arity",
    )
    elementary_tuples: int = setting(52_000, "how many tuples the elementary relations have together, on average", ge=1)
    spread: float = setting(1.0, "standard deviation of the logarithm of an elementary relation's size", ge=0, le=5)
    repeats: float = setting(0.1, "the share of elementary tuples that hold one entity twice", ge=0, le=1)
    narrow: float = setting(
        0.7,
        "the share of elementary relations of arity 3 and more that have only few entities at one of their positions",
        ge=0,
        le=1,
    )
    domain: int = setting(12, "how many entities those are", ge=1)
    family: int = setting(
        2,
        "how many elementary relations are parts of one random relation that is not itself stored. Relations that"
        " are drawn apart hardly share a tuple, so that their unions and differences are trivial; with 1, as in"
        " the paper, there are such operations only of relations derived from one another",
        ge=1,
    )
    derived: int = setting(140, "how many derived relations to make", ge=0)
    operations: Mapping[str, float] = setting(
        {**dict.fromkeys(OPERATIONS, 1.0), "select": 2.0},
        "how often each operation is the last one, in proportion. Selections count double by default, since their"
        " results are the smallest",
    )
    depths: tuple[float, ...] = setting(
        (4.0, 3.0, 2.0, 1.0),
        "how often a derived relation has depth 1, 2, ..., in proportion; as many depths as numbers",
    )
    least_tuples: int = setting(10, "how many every relation has at least, before sub-sampling", ge=1)
    tries: int = setting(
        300,
        "how often a derived relation is drawn again when what was drawn is empty, small or trivial",
        ge=1,
    )
    tuples: int = setting(70_000, "how many tuples to keep in all parts; if there are fewer, all are kept", ge=1)
    kept_arities: Mapping[int, float] = setting(
        {2: 0.546, 3: 0.335, 4: 0.092, 5: 0.022, 6: 0.005},
        "the share of kept tuples by arity, as far as there are so many; empty for as many of all. The default is"
        " JF17K's, but for arity 6, of which it has only 37 tuples",
    )
    valid: float = setting(0.08, "the share of them that goes into valid", ge=0, le=1)
    test: float = setting(0.08, "the share of them that goes into test", ge=0, le=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("arities", 1), ("kept_arities", 0)):
            given = getattr(self, name)
            fits = isinstance(given, Mapping) and all(type(arity) is int and arity > 0 for arity in given)
            fits = fits and (_are_weights(given.values()) or len(given) == least == 0)
            require(fits, name, f"must be {{arity = share, ...}}, of arities from 1 up and shares above 0, not {given!r}")
            object.__setattr__(self, name, MappingProxyType({arity: float(given[arity]) for arity in sorted(given)}))
        require(isinstance(self.operations, Mapping), "operations", "must be {operation = weight, ...}")
        for name in self.operations:
            if name not in OPERATIONS:
                raise UnknownNameError("operation", str(name), OPERATIONS).within("operations")
        for name, weights in (("operations", list(self.operations.values())), ("depths", self.depths)):
            weighty = isinstance(weights, list | tuple) and _are_weights(weights, zero=True)
            require(weighty, name, f"must be weights from 0 up, not all 0, not {weights!r}")
        operations = {name: float(self.operations.get(name, 0)) for name in OPERATIONS}
        object.__setattr__(self, "operations", MappingProxyType(operations))
        self._check_fit()

    def _check_fit(self) -> None:
        """Refuse what does not fit together."""
        largest, count, least = max(self.arities), len(self.arities), self.relations * self.least_tuples
        for fits, name, rule in (
            (self.entities > largest, "entities", f"more than the largest arity, {largest}"),
            (self.relations >= count, "relations", f"one per arity or more: {count}"),
            (self.elementary_tuples >= least, "elementary_tuples", f"enough for least_tuples of every relation: {least}"),
        ):
            require(fits, name, f"must be {rule}, not {getattr(self, name)}")
        require(self.valid + self.test < 1, "valid and test", "must leave something for train")

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], base: SynthSettings | None = None) -> SynthSettings:
        """Return `base`, or the defaults, with the given settings changed; lists and text keys become what they mean."""
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in (known := rules_of(cls)):
                raise UnknownNameError("setting", name, known)
            values[name] = tuple(value) if isinstance(value, list) else value
            if name.endswith("arities") and isinstance(value, Mapping):
                values[name] = {int(key) if str(key).isdecimal() else key: share for key, share in value.items()}
        return dataclasses.replace(base or cls(), **values)

    def changed(self, changes: Iterable[str]) -> SynthSettings:
        """Return the settings with changes such as `derived=20` or `arities={2=0.5, 3=0.5}`; values are TOML."""
        return self.from_dict({name: value for change in changes for name, value in change_of(change).items()}, self)

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as plain data."""
        return {name: _plain(getattr(self, name)) for name in rules_of(type(self))}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): share for key, share in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _are_weights(values: Iterable[Any], zero: bool = False) -> bool:
    weights = list(values)
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each) for each in weights)
    return numbers and all(value > 0 or (zero and value == 0) for value in weights) and sum(weights) > 0


PRESETS: Mapping[str, SynthSettings] = MappingProxyType(
    {
        name: SynthSettings.from_dict(changed)
        for name, changed in tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8")).items()
    }
)


def find_preset(name: str) -> SynthSettings:
    """Return the preset called `name`."""
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]
