"""Settings as data: each states its default, its meaning and its bounds once, and is checked whenever they are built.

    @dataclass(frozen=True)
    class TrainingSettings(Checked, path="training"):
        epochs: int = setting(50, "passes over the training facts, at most", ge=1)

    TrainingSettings(epochs=0)  # SettingError: training.epochs: must be at least 1, not 0

Types are strict: True is no number and 3.0 no whole number, but a whole number will do for a number; NaN and infinity do
not.
A setting of any other type than a number, a text or a truth value is left to the class that has it.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, get_args, get_origin

from relatum.errors import SettingError, nearest_names

T = TypeVar("T")

_BOUNDS = (
    ("ge", "at least", operator.ge),
    ("gt", "above", operator.gt),
    ("le", "at most", operator.le),
    ("lt", "below", operator.lt),
)
_DEEPEST = 20  # tables in tables that a change may name
_KEY = "setting"  # of a rule in the metadata of a field
_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "nothing"}


@dataclasses.dataclass(frozen=True)
class Rule:
    """What holds for a setting: its type, or types, its default, what it means, its bounds, and the words it can be."""

    types: tuple[type, ...]
    default: Any = None
    help: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def type(self) -> type:
        """The type of its values, None left aside."""
        return next(each for each in self.types if each is not type(None))

    @property
    def values(self) -> str:
        """What it can be, in words."""
        if self.choices:
            return ", ".join(self.choices)
        return " ".join([_NAMES.get(self.type, ""), " and ".join(words for words, *_ in self._bounds())]).strip()

    def checked(self, path: str, value: Any) -> Any:
        """Return a value as its type has it; refused if it cannot be."""
        if not set(self.types) <= _NAMES.keys():
            return value
        value = self._typed(path, value)
        if self.choices:
            require(value in self.choices, path, f"must be {_listed(self.choices)}, not {value!r}")
        elif isinstance(value, float):
            require(math.isfinite(value), path, f"must be a finite number, not {value!r}")
        if value is not None and (bounds := self._bounds()):
            within = all(compare(value, bound) for _, compare, bound in bounds)
            require(within, path, f"must be {' and '.join(words for words, *_ in bounds)}, not {value!r}")
        return value

    def _typed(self, path: str, value: Any) -> Any:
        if value is None and type(None) in self.types:
            return None
        if isinstance(value, bool):
            if bool in self.types:
                return value
        elif isinstance(value, str):
            if str in self.types:
                return str(value)
        elif int in self.types and isinstance(value, numbers.Integral):
            whole = int(value)
            require(-(1 << 63) <= whole < 1 << 63, path, "too large a number")
            return whole
        elif float in self.types and isinstance(value, numbers.Real):
            try:
                return float(value)
            except OverflowError:
                raise SettingError("unreadable-value", "too large a number", place=path) from None
        wanted = " or ".join(_NAMES[each] for each in self.types if each is not type(None))
        raise SettingError("setting-out-of-range", f"must be {wanted}, not {value!r}", place=path)

    def _bounds(self) -> list[tuple[str, Callable[[Any, Any], bool], float]]:
        """Return each bound in words, with its comparison and its number."""
        bounds = ((words, compare, getattr(self, name)) for name, words, compare in _BOUNDS)
        return [(f"{words} {bound}", compare, bound) for words, compare, bound in bounds if bound is not None]


def setting(
    default: T,
    help: str,  # noqa: A002
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    choices: Iterable[str] = (),
) -> T:
    """Return the field of a setting: its default, what it means, its bounds (greater or equal, ...), or its words."""
    metadata = {_KEY: {"default": default, "help": help, "ge": ge, "gt": gt, "le": le, "lt": lt, "choices": tuple(choices)}}
    if isinstance(default, dict):
        found: T = dataclasses.field(default_factory=lambda: typing.cast("T", dict(default)), metadata=metadata)
        return found
    return dataclasses.field(default=default, metadata=metadata)


_found: dict[type[Any], dict[str, Rule]] = {}


class Checked:
    """A dataclass whose settings are checked when it is built; errors name a setting behind the class's `path`."""

    settings_path: ClassVar[str] = ""

    def __init_subclass__(cls, path: str | None = None) -> None:
        super().__init_subclass__()
        if path is not None:
            cls.settings_path = path

    def __post_init__(self) -> None:
        """Check every setting, and make whole numbers of type float what they are called."""
        for name, rule in rules_of(type(self)).items():
            object.__setattr__(self, name, rule.checked(self.path_of(name), getattr(self, name)))

    @classmethod
    def path_of(cls, name: str) -> str:
        """Return what a setting is called in a spec and in errors."""
        return f"{cls.settings_path}.{name}" if cls.settings_path else name


def rules_of(kind: type[Any]) -> Mapping[str, Rule]:
    """Return the rules of all settings of a dataclass by name, in their order: what its documentation can print."""
    if kind not in _found:
        hints = typing.get_type_hints(kind)
        _found[kind] = {each.name: _rule(hints[each.name], each.metadata.get(_KEY, {})) for each in dataclasses.fields(kind)}
    return _found[kind]


def _rule(hint: Any, stated: Mapping[str, Any]) -> Rule:
    if get_origin(hint) is typing.Literal:
        return Rule((str,), **{**stated, "choices": get_args(hint)})
    return Rule(get_args(hint) if isinstance(hint, types.UnionType) else (hint,), **stated)


def change_of(text: str) -> dict[str, Any]:
    """Return the plain data that a text such as `training.epochs=20` states; a value is TOML, or else a plain word."""
    path, equals, value = text.partition("=")
    if not equals:
        raise SettingError("bad-option-form", "is no change", place=f"{text!r}", remedy="write name=value")
    if path.count(".") > _DEEPEST:
        raise SettingError("unknown-setting", f"{path[:20]}...: no such setting")
    try:
        return nested(path, tomllib.loads(f"value = {value}")["value"])
    except tomllib.TOMLDecodeError:
        return nested(path, value)
    except (ValueError, RecursionError):  # a number, or nesting, without end
        raise SettingError("unreadable-value", f"{value[:20]}... cannot be read", place=path) from None


def nested(path: str, value: Any) -> dict[str, Any]:
    """Return plain data with a value at a path, such as `training.epochs`."""
    for key in reversed(path.strip().split(".")):
        value = {key: value}
    found: dict[str, Any] = value
    return found


def whole_number(path: str, value: object, least: int = 1) -> int:
    """Return what a caller gave for a whole number, such as k; refused, as a setting is, if it is none or too small."""
    number: int = Rule((int,), ge=least).checked(path, value)
    return number


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"


def require(holds: bool, path: str, reason: str) -> None:
    """Refuse a setting that cannot be."""
    if not holds:
        raise SettingError("setting-out-of-range", reason, place=path)


# What other libraries call it, and what it is, or may be, called here.
_CALLED = (
    ("lr rate alpha step_size eta", "learning_rate"),
    ("lr_schedule lr_scheduler scheduler schedule", "learning_rate_schedule"),
    ("n_epochs num_epochs max_epochs iterations num_iterations", "epochs"),
    ("bs batch batchsize train_batch_size minibatch", "batch_size"),
    ("accumulate gradient_accumulation accumulate_grad_batches", "batches_per_step"),
    ("negatives neg_samples num_negs nneg n_neg negative_ratio neg_ratio num_neg_samples num_negs_per_pos", "num_negatives"),
    ("sampler negative_sampler neg_sampling", "negative_sampling"),
    ("ema polyak", "ema_decay"),
    ("l2 regularization reg lambda wd decay_rate", "weight_decay"),
    ("smoothing lb_smooth", "label_smoothing"),
    ("early_stopping early_stopping_patience", "patience"),
    ("eval_every valid_steps evaluation_frequency", "validate_every"),
    ("embedding_dim embedding_size emb_dim emb_size hidden_dim hidden_size dimension dims k", "dim"),
    ("dropout drop dropout_rate input_drop", "input_dropout window_dropout hidden_dropout"),
    ("window_size", "window"),
    ("activation nonlinearity", "sigma"),
    ("n_layers", "num_layers"),
    ("random_seed random_state", "seed"),
    ("dataset data_path train_data", "data"),
)
SYNONYMS: Mapping[str, tuple[str, ...]] = {word: tuple(ours.split()) for words, ours in _CALLED for word in words.split()}


def folded(name: str) -> str:
    """Return a model's name without case, hyphens and underscores: HypE and m_distmult are hype and m-distmult."""
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def unknown_setting(place: str, name: str, names: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> SettingError:
    """Return the refusal of an unknown name, with what it may mean among `names`, or in other tables (name: its path)."""
    names, elsewhere = list(names), elsewhere or {}
    word = name.casefold().replace("-", "_")
    words = (word, *SYNONYMS.get(word, ()))
    similar = [other for other in names if other in words] or [path for other, path in elsewhere.items() if other in words]
    similar = similar or list(nearest_names(name, names)) or [elsewhere[other] for other in nearest_names(name, elsewhere)]
    if not similar:  # perhaps a slip in another library's name
        meant = (new for other in nearest_names(name, SYNONYMS) for new in SYNONYMS[other])
        similar = list(dict.fromkeys(new for new in meant if new in names))
    remedy = "" if similar else f"known: {', '.join(names)}"
    return SettingError("unknown-setting", "no such setting", place=place, remedy=remedy, nearest=similar)
