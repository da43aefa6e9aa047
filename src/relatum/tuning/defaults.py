"""The spaces that are searched where none is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relatum.errors import SettingError
from relatum.runs.spec import Spec
from relatum.tuning.space import Dimension, apply, read_space

__all__ = ["SAMPLERS", "default_space"]

SAMPLERS = ("tpe", "grid")

# For every model, by sampler. The grid is the one that the paper searched.
_ALL: Mapping[str, tuple[str, ...]] = {
    "tpe": ("training.learning_rate=0.05..1.0 log",),
    "grid": ("training.learning_rate=0.05,0.08,0.1,0.2",),
}
_OWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tpe": {
        "reale": ("model.window=1,2,4,5,8", "model.window_dropout=0.0..0.8"),
        "hype": ("model.num_filters=2,4,6,8", "model.hidden_dropout=0.0..0.5"),
        "rae": ("model.input_dropout=0.0..0.5", "model.relatedness_weight=0.01..1.0 log"),
        "nalp": ("model.input_dropout=0.0..0.5", "model.num_filters=100,200,400"),
        "getd": ("model.input_dropout=0.0..0.5", "model.rank=10,20,40"),
        "g-mpnn": ("model.input_dropout=0.0..0.5", "model.message_dropout=0.0..0.5", "model.num_layers=1,2"),
    },
    "grid": {
        "reale": ("model.window=1,2,4,5,8",),
        "hype": ("model.num_filters=2,4,6",),
        "rae": ("model.relatedness_weight=0.01,0.1,1.0",),
        "nalp": ("model.num_filters=100,200",),
        "getd": ("model.rank=10,20,40",),
        "g-mpnn": ("model.num_layers=1,2",),
    },
}
_OTHER: Mapping[str, tuple[str, ...]] = {"tpe": ("model.input_dropout=0.0..0.5",), "grid": ()}


def default_space(base: Spec, sampler: str) -> tuple[Dimension, ...]:
    """Return the space of a model: its rate and what its own settings offer, as far as the base allows it."""
    texts = _ALL[sampler] + _OWN[sampler].get(base.model, _OTHER[sampler])
    return read_space(_fitting(texts, base), base)


def _fitting(texts: tuple[str, ...], base: Spec) -> Iterator[str]:
    """Yield the texts without choices that the base rules out, such as a window that does not divide its dimension."""
    for text in texts:
        path, _, rest = text.partition("=")
        if ".." in rest:
            yield text
        elif kept := [value for value in rest.split(",") if _is_possible(base, path, value)]:
            yield f"{path}={','.join(kept)}"


def _is_possible(base: Spec, path: str, text: str) -> bool:
    try:
        apply(base, {path: float(text) if "." in text else int(text)})
    except SettingError:
        return False
    return True
