"""Names of settings: the old ones that are still read, and the words of other libraries that point to ours.

What a person writes under an old name works and is answered with a notice; what relatum wrote itself is read in silence.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from relatum.errors import RelatumWarning, SettingError, nearest_names

__all__ = ["SYNONYMS", "folded", "hint", "modern", "old_names", "old_spelling", "written"]

_TRAINING = {
    "rate": "learning_rate",
    "schedule": "learning_rate_schedule",
    "batch": "batch_size",
    "groups": "batches_per_step",
    "candidates": "negative_sampling",
    "negatives": "num_negatives",
    "near": "in_relation_share",
    "average": "ema_decay",
}
_MODELS = {
    "hype": {"filters": "num_filters", "width": "filter_width"},
    "rae": {"hidden": "hidden_dim", "relatedness": "relatedness_weight"},
    "nalp": {"filters": "num_filters", "hidden": "hidden_dim"},
    "gmpnn": {"layers": "num_layers", "neighbours": "num_neighbors"},
}
_VALUES = {"training.negative_sampling": {"per-position": "per-fact", "all": "all-entities"}}

# What was always so before it became a setting, of training and of models: where it still is, a spec of version 0.1.0 says
# nothing of it.
_LATER: Mapping[str, Mapping[str, Any]] = {
    "training": {
        "rows": "facts",
        "objective": "1vsAll",
        "answer_damping": 0.0,
        "refit": False,
        "validation_metric": "mrr",
        "entity_storage": "float32",
        "evidence": False,
        "share_roles": False,
    },
    "reale": {"dropout_block": 1},
    "mtransh": {"unit_entities": False, "orthogonal_translations": False},
    "rae": {"unit_entities": False, "orthogonal_translations": False},
}

# What other libraries call it, and what it is called here.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("lr", "alpha", "step_size", "eta"), ("learning_rate",)),
    **dict.fromkeys(("lr_schedule", "lr_scheduler", "scheduler"), ("learning_rate_schedule",)),
    **dict.fromkeys(("n_epochs", "num_epochs", "max_epochs", "iterations", "num_iterations"), ("epochs",)),
    **dict.fromkeys(("bs", "batchsize", "train_batch_size", "minibatch"), ("batch_size",)),
    **dict.fromkeys(("accumulate", "gradient_accumulation", "accumulate_grad_batches"), ("batches_per_step",)),
    **dict.fromkeys(
        ("neg_samples", "num_negs", "nneg", "negative_ratio", "neg_ratio", "num_neg_samples", "num_negs_per_pos", "n_neg"),
        ("num_negatives",),
    ),
    **dict.fromkeys(("sampler", "negative_sampler", "neg_sampling"), ("negative_sampling",)),
    **dict.fromkeys(("ema", "polyak"), ("ema_decay",)),
    **dict.fromkeys(("l2", "regularization", "reg", "lambda", "wd", "decay_rate"), ("weight_decay",)),
    **dict.fromkeys(("smoothing", "lb_smooth"), ("label_smoothing",)),
    **dict.fromkeys(("early_stopping", "early_stopping_patience"), ("patience",)),
    **dict.fromkeys(("eval_every", "valid_steps", "evaluation_frequency"), ("validate_every",)),
    **dict.fromkeys(
        ("embedding_dim", "embedding_size", "emb_dim", "emb_size", "hidden_dim", "hidden_size", "dimension", "dims", "k"),
        ("dim",),
    ),
    **dict.fromkeys(
        ("dropout", "drop", "dropout_rate", "input_drop"), ("input_dropout", "window_dropout", "hidden_dropout")
    ),
    **dict.fromkeys(("window_size",), ("window",)),
    **dict.fromkeys(("activation", "nonlinearity"), ("sigma",)),
    **dict.fromkeys(("n_layers",), ("num_layers",)),
    **dict.fromkeys(("random_seed", "random_state"), ("seed",)),
    **dict.fromkeys(("dataset", "data_path", "train_data"), ("data",)),
}


def folded(name: str) -> str:
    """Return a model's name without case, hyphens and underscores: HypE and m_distmult are hype and m-distmult."""
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def modern(given: Mapping[str, Any], model: str | None = None, *, notice: bool = True) -> dict[str, Any]:
    """Return a spec's plain data under the names of today, with a notice for every old one.

    Args:
        given: the data, or a part of it; what is no table is left as it is.
        model: the model that it is for, where `given` does not say so.
        notice: whether a person wrote it, who should know.
    """
    _require_printable(given)
    result = dict(given)
    if isinstance(result.get("model"), str):
        result["model"] = {"name": result["model"]}
    for table, renamed in _renamed(result, model).items():
        if isinstance(result.get(table), Mapping):
            result[table] = _with_new_names(table, result[table], renamed, notice)
    return result


def written(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain data of a spec that relatum wrote, under the names of today and with what became a setting since."""
    result = modern(given, notice=False)
    for table in ("training", "model"):
        inside = result.get(table)
        if isinstance(inside, Mapping):
            result[table] = {**_later(table, inside), **inside}
    return result


def _later(table: str, inside: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was so before it became a setting of a table of a spec."""
    return _LATER.get(table if table == "training" else folded(str(inside.get("name"))), {})


def old_spelling(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole spec's plain data under the names of version 0.1.0, which the names of run directories hash.

    Settings added since then are left out where they say what was done before them.
    """
    result = dict(given)
    for table, renamed in _renamed(given, None).items():
        before = {new: old for old, new in renamed.items()}
        result[table] = {
            before.get(name, name): {new: old for old, new in _values(table, name).items()}.get(value, value)
            for name, value in given[table].items()
            if (name, value) not in _later(table, given[table]).items()
        }
    return result


def hint(name: str, names: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """Return the end of a refusal: what an unknown name may mean among `names`, or in other tables (name: its path)."""
    names, elsewhere = list(names), elsewhere or {}
    word = name.casefold().replace("-", "_")
    words = (word, *SYNONYMS.get(word, ()))
    similar = [other for other in names if other in words] or [path for other, path in elsewhere.items() if other in words]
    similar = similar or list(nearest_names(name, names)) or [elsewhere[other] for other in nearest_names(name, elsewhere)]
    if not similar:  # perhaps a slip in an old name or in another library's
        others = {**SYNONYMS, **{old: (new,) for old, new in _TRAINING.items()}}
        similar = list(dict.fromkeys(new for other in nearest_names(name, others) for new in others[other] if new in names))
    return f"; did you mean {' or '.join(similar)}?" if similar else f"; known: {', '.join(names)}"


def old_names(table: str, model: str) -> Mapping[str, str]:
    """Return the old names in a table of a spec, each with its new one: those of a model are old for this model alone."""
    return {"training": _TRAINING, "model": _MODELS.get(folded(model), {})}.get(table, {})


def _renamed(given: Mapping[str, Any], model: str | None) -> dict[str, Mapping[str, str]]:
    inside = given.get("model")
    name = inside.get("name", model) if isinstance(inside, Mapping) else model
    return {table: old_names(table, name if isinstance(name, str) else "") for table in ("training", "model")}


def _values(table: str, name: str) -> dict[str, str]:
    return _VALUES.get(f"{table}.{name}", {})


def _with_new_names(table: str, given: Mapping[str, Any], renamed: Mapping[str, str], notice: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in given.items():
        new = renamed.get(name, name)
        if new != name:
            if new in given:
                raise SettingError(f"{table}.{name}: is the old name of {table}.{new}, which is given, too")
            _notice(notice, f"{table}.{name} is now called {table}.{new}")
        new_value = _values(table, new).get(value, value) if isinstance(value, str) else value
        if new_value != value:
            _notice(notice, f"{table}.{new} = {value} is now called {new_value}")
        result[new] = new_value
    return result


def _require_printable(given: Mapping[str, Any], path: str = "") -> None:
    """Refuse names that would break the line in which they are refused."""
    for name, value in given.items():
        if not str(name).isprintable():
            raise SettingError(f"{path}{str(name)!r}: no such setting")
        if not path and isinstance(value, Mapping):
            _require_printable(value, f"{name}.")


def _notice(wanted: bool, text: str) -> None:
    if wanted:
        warnings.warn(text, RelatumWarning, stacklevel=4)
