"""What a run is made from: data, model, training and seed, as one TOML file; refused as a whole if any of it cannot be."""

from __future__ import annotations

import copy
import dataclasses
import json
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relatum.errors import SettingError, UnknownNameError, nearest_names
from relatum.models import MODELS
from relatum.models.base import Model, Settings
from relatum.runs.recipes import RECIPES
from relatum.training.settings import TrainingSettings

__all__ = ["VARY", "Spec", "changed", "read_toml", "toml_of"]

VARY = "vary"  # the table of a file that states a series of runs


@dataclass(frozen=True)
class Spec:
    """The settings of a run; see `from_dict` for its form as a file."""

    data: str
    model: str = "reale"
    settings: Settings = field(default_factory=lambda: MODELS["reale"].settings_type(**RECIPES["fast"]["model"]))
    training: TrainingSettings = field(default_factory=lambda: TrainingSettings(**RECIPES["fast"]["training"]))
    seed: int = 0

    def __post_init__(self) -> None:
        wanted, given = _kind(self.model).settings_type, type(self.settings)
        if given is not wanted:
            raise SettingError(f"model: {self.model} takes {wanted.__name__}, not {given.__name__}")
        try:
            self.data.encode()
        except UnicodeEncodeError:
            raise SettingError(f"data: {self.data!r} is not Unicode, so no spec can name it; rename it") from None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Spec:
        """Return the spec of `{data, seed, recipe, model: {name, ...}, training: {...}}`; what is unknown or bad is refused.

        What is not said is as in the recipe, whose part for the model is for ReAlE alone, and else as by default.
        """
        _known("", given, ("data", "seed", "recipe", "model", "training"))
        recipe = given.get("recipe", "fast")
        if not isinstance(recipe, str) or recipe not in RECIPES:
            raise SettingError(f"recipe: must be one of {', '.join(RECIPES)}, not {recipe!r}")
        model = dict(_table("model", given.get("model", {})))
        name = model.pop("name", "reale")
        settings_type = _kind(name).settings_type
        if name == "reale":
            model = {**RECIPES[recipe].get("model", {}), **model}
        training = {**RECIPES[recipe].get("training", {}), **_table("training", given.get("training", {}))}
        if not isinstance(given.get("data"), str):
            raise SettingError("data: name a dataset or a directory")
        return cls(
            data=given["data"],
            model=name,
            settings=_build(settings_type, "model", model),
            training=_build(TrainingSettings, "training", training),
            seed=_whole("seed", given.get("seed", 0)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain data, every setting written out."""
        return {
            "data": self.data,
            "seed": self.seed,
            "model": {"name": self.model, **_plain(self.settings)},
            "training": _plain(self.training),
        }

    @classmethod
    def read(cls, path: Path, changes: Iterable[str] = ()) -> Spec:
        """Return the spec in a TOML file, with changes such as `training.epochs=20` made to it.

        There may be `seeds` in it too, which are those of an experiment: a run has one.
        """
        given = read_toml(path)
        given.pop("seeds", None)
        if VARY in given:
            raise SettingError(f"{path}: states a series of runs ({VARY}), not one; run it with: relatum run {path}")
        return cls.from_dict(changed(given, changes))

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
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"{path}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: not valid TOML ({error})") from None


def changed(given: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Return a spec's plain data with `path=value` changes; a value is TOML, or else a plain word."""
    result = copy.deepcopy(dict(given))
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals:
            raise SettingError(f"{change!r}: say path=value, such as training.epochs=20")
        *tables, key = path.strip().split(".")
        target = result
        for table in tables:
            target = target.setdefault(table, {})
            if not isinstance(target, dict):
                raise SettingError(f"{path}: {table} is not a table")
        try:
            target[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            target[key] = text
    return result


def toml_of(value: str | float | bool) -> str:
    """Return a value as TOML; JSON writes it alike, but for one control character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _kind(name: Any) -> type[Model]:
    if not isinstance(name, str) or name not in MODELS:
        raise SettingError(f"model.name: {UnknownNameError('model', str(name), MODELS)}")
    return MODELS[name]


def _build(kind: type[Any], path: str, given: Mapping[str, Any]) -> Any:
    types_of = typing.get_type_hints(kind)
    _known(f"{path}.", given, [known.name for known in dataclasses.fields(kind)])
    return kind(**{name: _typed(f"{path}.{name}", types_of[name], value) for name, value in given.items()})


def _typed(path: str, wanted: Any, value: Any) -> Any:
    choices = typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    if float in choices and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise SettingError(f"{path}: too large a number") from None
    if not any(type(value) is choice for choice in choices):
        names = " or ".join(choice.__name__ for choice in choices if choice is not type(None))
        raise SettingError(f"{path}: must be {names}, not {value!r}")
    return value


def _known(prefix: str, given: Mapping[str, Any], names: Iterable[str]) -> None:
    names = list(names)
    for key in given:
        if key not in names:
            near = nearest_names(key, names)
            hint = f"; did you mean {' or '.join(near)}?" if near else f"; known: {', '.join(names)}"
            raise SettingError(f"{prefix}{key}: no such setting{hint}")


def _table(path: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SettingError(f"{path}: must be a table")
    return value


def _whole(path: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise SettingError(f"{path}: must be a whole number from 0 up, not {value!r}")
    return value


def _plain(settings: Any) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(settings).items() if value is not None}
