"""What files of a run may hold, read into the types that declare it: whatever has another type, length or range is refused.

    @dataclass(frozen=True)
    class Curve(Declared):
        slope: Annotated[float, Within(0, 100)]
        points: Annotated[Float64, Within(-50, 50, shape=("relations",), rising=True)]

    Curve.from_json({"slope": nan, "points": [1, 2]}, relations=2)  # DataError: slope: must be a finite number, not nan

No number can be declared without a range. The name of a length is that of something known beside the file, such as the
relations; lists of one object whose lengths have a name of which nothing is known are equally long, and not empty.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import repeat
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Self,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import numpy.typing as npt

from relatum.errors import DataError, RelatumError
from relatum.settings import Rule

Known = dict[str, Any]
_Reader = Callable[[Any, Known], Any]


@dataclass(frozen=True)
class Within:
    """What a number may be, or each number of an array, and how long an array or a list is.

    Attributes:
        least: the least that a number may be.
        most: the greatest.
        below: what it must be below: a number, or the name of what it counts from 0.
        shape: how long it is in each direction: a number, a name, or None for any length.
        rising: of an array, that no number is below the one before it.
    """

    least: float = -math.inf
    most: float = math.inf
    below: float | str = math.inf
    shape: tuple[int | str | None, ...] = ()
    rising: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether it says between what a number is."""
        return math.isfinite(self.least) and (self.below != math.inf or math.isfinite(self.most))

    def rule(self, kind: type, known: Known) -> Rule:
        """Return what holds for one such number."""
        below = _size(known[self.below]) if isinstance(self.below, str) else self.below
        ge, le, lt = (one if math.isfinite(one) else None for one in (self.least, self.most, below))
        return Rule((kind,), ge=ge, le=le, lt=lt)

    def check_length(self, dimension: int, length: int, known: Known) -> None:
        """Refuse another length than there should be."""
        wanted = self.shape[dimension]
        if isinstance(wanted, str):
            wanted = _size(known.setdefault(wanted, max(1, length)))
        if wanted is not None and length != wanted:
            raise _wrong(f"there must be {wanted}, not {length}")


Count = Annotated[int, Within(0, 1 << 53)]
Share = Annotated[float, Within(0, 1)]
# In units of a model's score, which has no bounds of its own: the product of a few is finite, however large they are.
Score = Within(-1e30, 1e30)


class Given:
    """In an annotation: that a field is no part of the file, but known beside it, by the same name."""


class Named:
    """In an annotation of a number: that files hold what has this number by name; `what` is known by names and numbers."""

    def __init__(self, what: str) -> None:
        self._what = what

    def read(self, data: Any, known: Known) -> int:
        """Return the number of a name."""
        if type(data) is not str:
            raise _wrong(f"must be a name, not {_shown(data)}")
        return int(known[self._what].id(data))

    def write(self, number: int, known: Known) -> str:
        """Return the name of a number."""
        one = known[self._what][number]
        return str(getattr(one, "name", one))


class Declared:
    """The base of dataclasses that files hold; in `check` they refuse what no single field shows."""

    __slots__ = ()

    def to_json(self, **known: Any) -> dict[str, Any]:
        """Return it as plain data."""
        kind: Any = type(self)
        found: dict[str, Any] = _form(kind).write(self, known)
        return found

    @classmethod
    def from_json(cls, data: Any, **known: Any) -> Self:
        """Return what plain data says; anything else is refused."""
        found: Self = read(cls, data, **known)
        return found

    def check(self, known: Known) -> None:
        """Refuse what does not fit together, or what is known."""


def read(kind: Any, data: Any, **known: Any) -> Any:
    """Return plain data as a type: a dataclass, a typed dict, or whatever their fields may be; anything else is refused."""
    return _form(kind).read(data, known)


class _Form(NamedTuple):
    """How values of a type come from plain data, and become it."""

    read: _Reader
    write: _Reader


@cache
def _form(hint: Any) -> _Form:
    """Return the form of values of a type; a `TypeError` if it is none that is declared."""
    if get_origin(hint) in (Required, NotRequired):
        return _form(get_args(hint)[0])
    base, marks = (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())
    within = next((one for one in marks if isinstance(one, Within)), Within())
    origin, inner = get_origin(base), get_args(base)
    if marks and hasattr(marks[0], "read"):
        return _Form(marks[0].read, marks[0].write)
    if base is Any:
        return _Form(_same, _same)
    if origin in (types.UnionType, typing.Union):
        return _optional(_form(next(one for one in inner if one is not types.NoneType)))
    if origin is np.ndarray:
        return _array(np.dtype(get_args(inner[1])[0]), within)
    if origin is Literal:
        return _Form(_by_rule(Rule((str,), choices=inner)), _same)
    if base in (bool, str):
        return _Form(_by_rule(Rule((base,))), _same)
    if base in (int, float):
        return _Form(_number(base, within), _same)
    if origin is tuple or origin is list:
        return _listed(inner, within, origin)
    if origin in (dict, Mapping):
        return _mapping(_form(inner[1]))
    return _object(base)


def _same(value: Any, known: Known) -> Any:
    return value


def _optional(form: _Form) -> _Form:
    return _Form(
        lambda data, known: None if data is None else form.read(data, known),
        lambda value, known: None if value is None else form.write(value, known),
    )


def _by_rule(rule: Rule) -> _Reader:
    (kind,), choices = rule.types, frozenset(rule.choices)

    def found(data: Any, known: Known) -> Any:
        return data if type(data) is kind and (not choices or data in choices) else _ruled(rule, data)

    return found


def _number(kind: type, within: Within) -> _Reader:
    if not within.is_bounded:
        raise TypeError("a number of a file is declared with its range")
    least, most, below = within.least, within.most, within.below
    allowed = (int, float) if kind is float else (int,)

    def found(data: Any, known: Known) -> Any:
        if (
            type(data) in allowed
            and least <= data <= most
            and data < (_size(known[below]) if isinstance(below, str) else below)
        ):
            return kind(data)
        return _ruled(within.rule(kind, known), data)

    return found


def _array(dtype: np.dtype[Any], within: Within) -> _Form:
    if not within.is_bounded:
        raise TypeError("the numbers of a file are declared with their range")
    kind, dimensions = (int if dtype.kind == "i" else float), len(within.shape)

    def found(data: Any, known: Known) -> npt.NDArray[Any]:
        _require_numbers(data, kind, dimensions)
        try:
            array = np.array(data, dtype)
        except (ValueError, OverflowError):
            raise _wrong("lists in it must be equally long") from None
        for dimension, length in enumerate(array.shape):
            within.check_length(dimension, length, known)
        rule = within.rule(kind, known)
        inside = (array >= within.least) & (array <= (within.most if rule.le is None else rule.le))
        inside &= array < (math.inf if rule.lt is None else rule.lt)
        if not inside.all():
            where = np.argwhere(~inside)[0].tolist()
            with _at("".join(f"[{index}]" for index in where)):
                _ruled(rule, array[tuple(where)].item())
        if within.rising and (array[..., 1:] < array[..., :-1]).any():
            raise _wrong("the numbers must never fall")
        return array

    return _Form(found, lambda value, known: value.tolist())


def _require_numbers(data: Any, kind: type, dimensions: int) -> None:
    """Refuse what is no list of numbers, or of such lists."""
    if type(data) is not list:
        raise _wrong(f"must be a list, not {_shown(data)}")
    if dimensions > 1:
        for index, one in enumerate(data):
            with _at(f"[{index}]"):
                _require_numbers(one, kind, dimensions - 1)
    elif not set(map(type, data)) <= {int, kind}:
        index, one = next((index, one) for index, one in enumerate(data) if type(one) not in (int, kind))
        raise _placed(_wrong(f"must be a number, not {_shown(one)}"), f"[{index}]")


def _listed(inner: tuple[Any, ...], within: Within, build: type) -> _Form:
    """Return the form of a list of any length whose elements are alike, or of one element of each type."""
    alike = build is list or inner[-1] is ...
    forms = [_form(one) for one in inner if one is not ...]
    first = forms[0].read

    def found(data: Any, known: Known) -> Any:
        if type(data) is not list:
            raise _wrong(f"must be a list, not {_shown(data)}")
        if within.shape:
            within.check_length(0, len(data), known)
        if not alike and len(data) != len(forms):
            raise _wrong(f"there must be {len(forms)}, not {len(data)}")
        try:
            return build([first(one, known) for one in data]) if alike else build(map(_read_one, forms, data, repeat(known)))
        except RelatumError:
            for index, (one, form) in enumerate(zip(data, forms * len(data) if alike else forms, strict=False)):
                with _at(f"[{index}]"):
                    form.read(one, known)
            raise

    def write(value: Any, known: Known) -> Any:
        return [form.write(one, known) for one, form in zip(value, forms * len(value) if alike else forms, strict=False)]

    return _Form(found, write)


def _read_one(form: _Form, data: Any, known: Known) -> Any:
    return form.read(data, known)


def _mapping(form: _Form) -> _Form:
    def found(data: Any, known: Known) -> Any:
        _require_object(data)
        values = {}
        for name, one in data.items():
            with _at(f"[{name!r}]"):
                values[name] = form.read(one, known)
        return values

    return _Form(found, lambda value, known: {name: form.write(one, known) for name, one in value.items()})


def _object(kind: Any) -> _Form:
    """Return the form of a dataclass, a named tuple, or a typed dict, of whose keys only some must be there."""
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else list(getattr(kind, "_fields", ()))
    if not names and not is_typeddict(kind):
        raise TypeError(f"{kind} is no type that a file can be declared with")
    given = [name for name in names if Given in get_args(hints[name])]
    forms = {name: _form(hints[name]) for name in (names or hints) if name not in given}
    wanted = getattr(kind, "__required_keys__", forms.keys())  # which do not look into annotations that are texts
    marks = {name: get_origin(hints[name]) for name in forms}
    required = {name for name in forms if marks[name] is Required or (name in wanted and marks[name] is not NotRequired)}
    has_check, has_lengths = issubclass(kind, Declared), any(map(_has_named_length, hints.values()))
    reads = {name: form.read for name, form in forms.items()}

    def found(data: Any, known: Known) -> Any:
        _require_object(data)
        if data.keys() != reads.keys() and not required <= data.keys() <= reads.keys():
            missing = [name for name in forms if name in required and name not in data]
            raise _wrong(f"no {missing[0]}" if missing else f"unknown: {_shown(next(iter(data.keys() - forms.keys())))}")
        scope, values, at = {**known} if has_lengths else known, {}, ""
        try:
            for at, one in data.items():
                values[at] = reads[at](one, scope)
        except RelatumError as error:
            raise _placed(error, at) from None
        built = kind(**values, **{name: known[name] for name in given}) if given else kind(**values)
        if has_check:
            built.check(scope)
        return built

    def write(value: Any, known: Known) -> Any:
        if not names:
            return {name: forms[name].write(one, known) for name, one in value.items()}
        return {name: form.write(getattr(value, name), known) for name, form in forms.items()}

    return _Form(found, write)


def _has_named_length(hint: Any) -> bool:
    """Return whether the length of a list has a name, which may be bound for one object."""
    named = isinstance(hint, Within) and any(isinstance(one, str) for one in hint.shape)
    return named or any(map(_has_named_length, get_args(hint)))


def _require_object(data: Any) -> None:
    if type(data) is not dict:
        raise _wrong(f"must be an object, not {_shown(data)}")


def _ruled(rule: Rule, data: Any) -> Any:
    """Return a value as a rule has it; what it refuses is damaged here."""
    try:
        return rule.checked("", data)
    except RelatumError as error:
        raise _wrong(error.reason) from None


def _size(known: Any) -> int:
    return known if isinstance(known, int) else len(known)


def _shown(data: Any) -> str:
    """Return what stands in a file in few signs."""
    text = repr(data)
    return text if len(text) <= 40 else f"{text[:40]} ..."


def _wrong(reason: str) -> DataError:
    return DataError("damaged-file", reason)


def _placed(error: RelatumError, step: str) -> RelatumError:
    """Return an error whose place begins with one more step from the outside."""
    error.place = f"{step}{'.' if error.place[:1] not in ('', '[') else ''}{error.place}"
    return error


@contextmanager
def _at(step: str) -> Iterator[None]:
    """Have what is refused within begin its place with a step."""
    try:
        yield
    except RelatumError as error:
        raise _placed(error, step) from None
