"""The recipe `auto`: settings by what the facts are like, and by what fits into given minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from relatum.data.hypergraph import Split
from relatum.errors import SettingError
from relatum.formatting import count, duration
from relatum.kernels import parallel
from relatum.models import MODELS
from relatum.models.ops import one_torch_thread
from relatum.runs.spec import RECIPES, Spec
from relatum.settings import rules_of
from relatum.training.loop import start
from relatum.training.rows import rows_of

AUTO = "auto"

_DIMS = (1600, 800, 400, 200)  # that are tried, where a person has not chosen one
_DIM = 400
_KEPT = 40  # windows that a step trains, of however many: more cost time, fewer cannot tell entities apart
_LEAST = 0.5  # of the epochs that a model would have without a clock: with fewer a smaller one is better
_MOST_EPOCHS = 1000
_VALIDATIONS = 12
_PATIENCE = 3  # validations without gain after which training on tables ends: most of it is learned early
_TABLE_MINUTES = 10.0  # that training on tables takes at most, where nobody has said how long
_MARGIN = 1.25  # the share of the minutes that is planned: the clock ends training, and fewer epochs would leave time unused
_WARM, _MEASURED = 4, 16  # batches


def spec_of(
    data: Any, recipe: str | None, given: dict[str, Any], say: Callable[[str], None] = lambda _: None
) -> Spec | Callable[[Split], Spec]:
    """Return the spec of what was given, or, where the facts are to decide, how it follows from them.

    No recipe means `auto`, and `fast` where the model is not ReAlE; `say` is given a line, before training, about how
    long it takes.
    """
    if recipe not in (None, AUTO, *RECIPES):
        raise SettingError(
            "setting-out-of-range", f"must be one of {', '.join((AUTO, *RECIPES))}, not {recipe!r}", place="recipe"
        )
    whole = Spec.of(data, recipe=None if recipe == AUTO else recipe, **given)  # what is wrong is refused at once
    alone = given["spec"] is None and (whole.model == "reale" or whole.training.minutes is not None)
    if recipe != AUTO and not (recipe is None and alone):
        return whole
    if whole.model != "reale":
        raise SettingError(
            "recipe-not-for-model",
            "auto is for ReAlE alone",
            place="recipe",
            remedy="give epochs instead of minutes, or recipe = fast",
        )
    tables = (given["model"], given.get("settings"), given.get("training"))
    chosen = frozenset(name for table in tables for name in _names(table)).union(given)

    def suited(facts: Split) -> Spec:
        begun = Spec.of(data, recipe=suited_to_facts(facts), **given)
        begun = _with_dropout(begun, begun.settings.dim, chosen)
        if facts.rows is not None and not chosen & {"minutes", "epochs"}:
            seconds = begun.training.epochs * _seconds_of_epoch(begun, facts)
            if seconds > 60 * _TABLE_MINUTES:
                begun = replace(begun, training=replace(begun.training, minutes=_TABLE_MINUTES))
            else:
                epochs = count(begun.training.epochs, "epoch")
                rest = "less if validation gains nothing more; models of columns and rules come besides"
                say(f"training takes at most {duration(seconds)} for {epochs}, {rest}")
        fitted = fitted_to_minutes(begun, facts, chosen)
        if fitted.training.minutes is not None:
            hint = "" if "minutes" in chosen else "; --minutes, or minutes=..., sets another time"
            say(f"this takes at most {duration(60 * fitted.training.minutes)}, unless others use the processors{hint}")
        return fitted

    return suited


def _names(table: Any) -> Iterable[str]:
    """Return the settings that a table, or settings as a whole, say something about."""
    return table if isinstance(table, Mapping) else () if isinstance(table, str | None) else rules_of(type(table))


def suited_to_facts(split: Split) -> dict[str, dict[str, Any]]:
    """Return settings of ReAlE and of its training, by how many answers the training facts have: one at each position.

    Few answers are gone through more often and in smaller steps.
    """
    answers = sum(block.columns.size for block in split.train.blocks.values())
    few, many = answers < 50_000, answers >= 600_000
    epochs = 200 if answers < 5_000 else 40 if many else 60
    return {
        "model": {"dim": _DIM, "window": 2, "dropout_block": 8},
        "training": {
            "rows": "questions",
            "batch_size": 32 if few else 256 if many else 64,
            "batches_per_step": 2 if few else 8,
            "in_relation_share": 0.5,
            "learning_rate": 1.0,
            "learning_rate_schedule": "linear",
            "weight_decay": 1e-5,
            "ema_decay": 0.8,
            "evidence": True,
            "epochs": epochs,
            "validate_every": epochs // 10,
            "validation_metric": "corrected-mrr",
            "patience": 0 if split.rows is None else _PATIENCE,
        },
    }


def fitted_to_minutes(spec: Spec, split: Split, chosen: frozenset[str]) -> Spec:
    """Return a spec that makes the most of its minutes: as large as they allow, and as many epochs.

    A few batches of each size are gone through to see how long they last; nothing of them is kept.

    Without `training.minutes` the spec is returned as it is; settings that a person has `chosen` stay.
    """
    if spec.training.minutes is None:
        return spec
    fitted, epochs = spec, 1.0
    window = getattr(spec.settings, "window", 1)
    sizes = [dim for dim in _DIMS if dim % window == 0] or [spec.settings.dim]
    for dim in (spec.settings.dim,) if "dim" in chosen else sizes:
        fitted = _with_dropout(spec, dim, chosen)
        epochs = 60 * spec.training.minutes / _seconds_of_epoch(fitted, split)
        if epochs >= _LEAST * spec.training.epochs * dim / _DIM:  # a wider model learns less of each window in an epoch
            break
    most = max(1, min(_MOST_EPOCHS, int(_MARGIN * epochs)))
    wanted: dict[str, Any] = {"epochs": most, "validate_every": max(1, most // _VALIDATIONS)}
    training = replace(fitted.training, **{name: value for name, value in wanted.items() if name not in chosen})
    return replace(fitted, training=training)


def _with_dropout(spec: Spec, dim: int, chosen: frozenset[str]) -> Spec:
    """Return a spec of a size, with as much window dropout as suits it.

    A wide model of which a step trains a small part generalises better than a narrow one, and an epoch takes no longer.
    """
    changed: dict[str, Any] = {"dim": dim}
    if "window_dropout" not in chosen:
        changed["window_dropout"] = round(max(0.0, 1 - _KEPT * getattr(spec.settings, "window", 1) / dim), 3)
    return replace(spec, settings=replace(spec.settings, **changed))


def _seconds_of_epoch(spec: Spec, split: Split) -> float:
    """Return how long an epoch lasts, by a few of its batches."""
    facts = split.train.distinct()
    model = MODELS[spec.model](facts, spec.settings)
    rows, state = rows_of(model, facts, spec.training, spec.seed), start(model, spec.training, spec.seed)
    batches = rows.start_epoch(0)
    warm = min(_WARM, batches - 1)
    began = time.perf_counter()
    with one_torch_thread(), parallel.single_threaded():
        for number in range(min(warm + _MEASURED, batches)):
            if number == warm:
                began = time.perf_counter()
            rows.gradients(state.parameters, number)
    each = (time.perf_counter() - began) / min(_MEASURED, batches - warm)
    return each * batches / min(parallel.threads(), spec.training.batches_per_step)
