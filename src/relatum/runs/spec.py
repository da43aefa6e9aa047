"""What a run is made from: data, model, training and seed, as one TOML file; refused as a whole if any of it is wrong."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from relatum.errors import SettingError
from relatum.files import read_whole
from relatum.models import MODELS, canonical_name
from relatum.models.base import Settings
from relatum.settings import change_of, rules_of, unknown_setting
from relatum.training.settings import TrainingSettings, needs_facts

Recipe = Mapping[str, Mapping[str, Any]]  # settings of `model` and `training`

RECIPES: Mapping[str, Recipe] = {
    # What a spec begins from by default: what did well on validation facts of more than one dataset, in minutes.
    "fast": {
        "model": {"dim": 400, "window": 2, "window_dropout": 0.7},
        "training": {"rows": "questions", "in_relation_share": 0.5, "ema_decay": 0.8},
    },
    # Algorithm 1 as the paper ran it; learning rate and window are from the middle of the grid that it searched.
    "paper": {
        "model": {"dim": 200, "window": 2, "window_dropout": 0.0},
        "training": {
            "negative_sampling": "per-fact",
            "num_negatives": 10,
            "batch_size": 128,
            "batches_per_step": 1,
            "learning_rate": 0.1,
            "epochs": 1000,
            "validate_every": 20,
            "patience": 5,
        },
    },
}


VARY = "vary"  # the table of a file that states a series of runs

_TABLES = ("model", "training")
_KEYS = ("data", "seed", "recipe", *_TABLES)
_MOST = (1 << 63) - 1  # of seeds: what TOML and random generators take


@dataclass(frozen=True, init=False)
class Spec:
    """The settings of a run, checked when it is built; see `from_dict` for its form as a file.

        Spec("example", model="hype", dim=20, epochs=3)

    Args:
        data: the name of a dataset, a directory, or what facts in memory are called.
        model: the name of a model, whatever its case, or a table of its settings, with its `name` unless it is ReAlE.
        settings: those of the model, whole or as a table.
        training: those of training, whole or as a table.
        seed: of everything that is drawn, by default 0.
        recipe: what is not said is as in this recipe, named or as tables, whose part for the model is for ReAlE alone, and
            else as by default.
        spec: what is not said is as in this spec, instead of a recipe; its model's settings count for the same model alone.
        named: settings of model and training by their names alone.
    """

    data: str
    model: str
    settings: Settings
    training: TrainingSettings
    seed: int

    def __init__(
        self,
        data: str | PathLike[str],
        model: str | Mapping[str, Any] | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        training: TrainingSettings | Mapping[str, Any] | None = None,
        seed: int | None = None,
        *,
        recipe: str | Recipe | None = None,
        spec: Spec | None = None,
        **named: Any,
    ) -> None:
        if not isinstance(spec, Spec | None):
            raise SettingError("setting-out-of-range", f"must be a Spec, not {spec!r}", place="spec")
        table = dict(model) if isinstance(model, Mapping) else {} if model is None else {"name": model}
        name = canonical_name(table.pop("name", spec.model if spec else "reale"))
        settings_types: dict[str, type[Any]] = {"model": MODELS[name].settings_type, "training": TrainingSettings}
        if isinstance(settings, Settings) and type(settings) is not settings_types["model"]:
            raise SettingError(
                "setting-type",
                f"{name} takes {settings_types['model'].__name__}, not {type(settings).__name__}",
                place="model",
            )
        begun, routed = _begun(name, recipe, spec), _routed(named, settings_types)
        parts = {"model": (settings, table, routed["model"]), "training": (training, routed["training"])}
        built = {part: _build(part, settings_types, begun[part], given) for part, given in parts.items()}
        seed = seed if seed is not None else spec.seed if spec else 0
        if type(seed) is not int or not 0 <= seed <= _MOST:
            raise SettingError("setting-out-of-range", f"must be a whole number from 0 up, not {seed!r}", place="seed")
        for field, value in (("data", _data(data)), ("model", name), ("seed", seed)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "settings", built["model"])
        object.__setattr__(self, "training", built["training"])

    @classmethod
    def of(cls, data: object, **settings: Any) -> Spec:
        """Return the spec of a name, a path, or facts in memory, with settings as `Spec` takes them.

        What is in memory is called as it says itself (`Split.source`), or else `memory`.
        """
        return cls(data if isinstance(data, str | PathLike) else str(getattr(data, "source", "memory")), **settings)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Spec:
        """Return the spec of `{data, seed, recipe, model: {name, ...}, training: {...}}`; what is unknown or bad is refused.

        Args:
            given: the spec as plain data; what is not said is as in the recipe. `model` may be a name alone.
        """
        if not isinstance(given, Mapping):
            raise SettingError("not-a-section", f"a spec must be a table, not {given!r}")
        _require_printable(given)
        given = _with_tables(given)
        if unknown := [key for key in given if key not in _KEYS]:
            model = given.get("model")
            name = model.get("name", "reale") if isinstance(model, Mapping) else "reale"
            settings_types = {"model": MODELS[canonical_name(name)].settings_type, "training": TrainingSettings}
            inside = {each: f"{part}.{each}" for part, kind in settings_types.items() for each in rules_of(kind)}
            raise unknown_setting(unknown[0], str(unknown[0]), _KEYS, inside)
        for table in _TABLES:
            if not isinstance(given.get(table, {}), Mapping):
                raise SettingError("setting-out-of-range", f"must be a table, not {given[table]!r}", place=table)
        if isinstance(given.get("recipe"), Mapping):  # as tables, recipes are for code: their names are not checked
            raise SettingError("setting-out-of-range", f"must be one of {', '.join(RECIPES)}, not a table", place="recipe")
        return cls(**{"data": None, **given})

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain data, every setting written out."""
        return {
            "data": self.data,
            "seed": self.seed,
            "model": {"name": self.model, **_plain(self.settings)},
            "training": _plain(self.training),
        }

    @classmethod
    def read(cls, path: Path, changes: Iterable[str] = (), options: Mapping[str, Any] | None = None) -> Spec:
        """Return the spec in a TOML file, with changes such as `training.epochs=20` made to it, and then plain data.

        There may be `seeds` and `ensemble` in it too, which are those of an experiment: a run has one seed.
        """
        given = {name: value for name, value in read_toml(path).items() if name not in ("seeds", "ensemble")}
        if VARY in given:
            raise SettingError(
                "series-not-one",
                f"states a series of runs ({VARY}), not one",
                place=path,
                remedy=f"run it with: relatum run {path}",
            )
        return cls.from_dict(merged(given, *map(change_of, changes), options or {}))

    @classmethod
    def of_run(cls, path: Path) -> Spec:
        """Return the spec in a run's own file."""
        return cls.from_dict(read_toml(path))

    def to_toml(self) -> str:
        """Return the spec as TOML."""
        plain = self.to_dict()
        lines = [f"{key} = {toml_of(value)}" for key, value in plain.items() if not isinstance(value, dict)]
        for key, table in plain.items():
            if isinstance(table, dict):
                lines += ["", f"[{key}]", *(f"{name} = {toml_of(value)}" for name, value in table.items())]
        return "\n".join(lines) + "\n"


def read_toml(path: Path) -> dict[str, Any]:
    """Return the plain data in a TOML file."""
    try:
        return tomllib.loads(read_whole(path).decode())
    except FileNotFoundError:
        raise SettingError("no-such-file", "no such file", place=path) from None
    except (ValueError, RecursionError) as error:  # bad syntax or encoding, a number without end, nesting without end
        raise SettingError("not-toml", f"not valid TOML ({error})", place=path) from None


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain data of a spec with that of others written over it."""
    result: dict[str, Any] = {}
    for part in parts:
        result = _over(result, _with_tables(part))
    return result


def toml_of(value: str | float | bool) -> str:
    """Return a value as TOML; JSON writes it alike, but for one control character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with_tables(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain data of a spec with a table for the model, where only its name is given."""
    model = given.get("model")
    return {**given, "model": {"name": model}} if isinstance(model, str) else dict(given)


def _require_printable(given: Iterable[Any], path: str = "") -> None:
    """Refuse names that would break the line in which they are refused."""
    for name in given:
        if not str(name).isprintable():
            raise SettingError("unknown-setting", "no such setting", place=f"{path}{str(name)!r}")


def _over(below: Mapping[str, Any], above: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    _require_printable(above, path)
    result = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping):
            inner = result.get(key, {})
            if not isinstance(inner, Mapping):
                raise SettingError("not-a-section", "is no table, so nothing in it can be set", place=f"{path}{key}")
            result[key] = _over(inner, value, f"{path}{key}.")
        else:
            result[key] = value
    return result


def _data(given: Any) -> str:
    if not isinstance(given, str | PathLike):
        raise SettingError("no-data-named", "name a dataset or a directory", place="data")
    data = os.fspath(given)
    try:
        data.encode()
    except UnicodeEncodeError:
        raise SettingError(
            "path-not-unicode", f"{data!r} is not Unicode, so no spec can name it", place="data", remedy="rename it"
        ) from None
    return data


def _routed(named: Mapping[str, Any], settings_types: Mapping[str, type[Any]]) -> dict[str, dict[str, Any]]:
    """Return settings given by name alone in the tables that have them."""
    tables: dict[str, dict[str, Any]] = {part: {} for part in settings_types}
    for name, value in named.items():
        homes = [part for part, kind in settings_types.items() if name in rules_of(kind)]
        if not homes:
            known = [each for kind in settings_types.values() for each in rules_of(kind)]
            raise unknown_setting(name, name, [*known, *_KEYS])
        if len(homes) > 1:
            ways = " or ".join(f"{part}={{{name!r}: ...}}" for part in homes)
            raise SettingError("setting-of-both", f"both {' and '.join(homes)} have it", place=name, remedy=f"say {ways}")
        tables[homes[0]][name] = value
    return tables


def _begun(model: str, recipe: str | Recipe | None, spec: Spec | None) -> dict[str, dict[str, Any]]:
    """Return the settings that a spec begins from: those of another spec, or of a recipe."""
    if not isinstance(recipe, Mapping | None) and recipe not in tuple(RECIPES):
        raise SettingError("setting-out-of-range", f"must be one of {', '.join(RECIPES)}, not {recipe!r}", place="recipe")
    if spec is None:
        begun = recipe if isinstance(recipe, Mapping) else RECIPES[recipe or "fast"]
        return {"model": dict(begun["model"]) if model == "reale" else {}, "training": dict(begun["training"])}
    if recipe is not None:
        raise SettingError(
            "contradictory-options", "settings begin from a recipe or from a spec, not from both", place="recipe"
        )
    return {"model": _whole(spec.settings) if model == spec.model else {}, "training": _whole(spec.training)}


def _build(part: str, settings_types: Mapping[str, type[Any]], begun: Mapping[str, Any], given: Iterable[Any]) -> Any:
    """Return the settings of a part: those it begins from, with what is given, whole or in tables, none of it twice."""
    kind, above = settings_types[part], dict[str, Any]()
    for each in given:
        if isinstance(each, kind):
            begun = _whole(each)
        elif isinstance(each, Mapping):
            _require_printable(each, f"{part}.")
            if twice := each.keys() & above.keys():
                raise SettingError("setting-twice", "given twice", place=f"{part}.{min(twice)}")
            above |= each
        elif each is not None:
            raise SettingError("setting-out-of-range", f"must be {kind.__name__} or a table, not {each!r}", place=part)
    for name in above:
        if name not in rules_of(kind):
            elsewhere = {
                each: f"{other}.{each}" for other, its in settings_types.items() if other != part for each in rules_of(its)
            }
            raise unknown_setting(f"{part}.{name}", str(name), rules_of(kind), elsewhere)
    if part == "training" and "rows" not in above and needs_facts(above):
        begun = {**begun, "rows": "facts"}  # a recipe's rows give way to what a person wants of training
    return kind(**{**begun, **above})


def _whole(settings: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in rules_of(type(settings))}


def _plain(settings: Any) -> dict[str, Any]:
    return {name: value for name, value in _whole(settings).items() if value is not None}
