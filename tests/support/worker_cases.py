"""What one worker does in the tests of workers: trains small models together with the others, and alone, and compares.

Run by torchrun, as `worker_cases.py FILE STEPS CASE ...`; the first worker writes what differed, case by case.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.schema import RelationSchema
from relatum.data.splitting import select_facts
from relatum.inference.ranking import rank
from relatum.inference.validation import validator
from relatum.models import MODELS
from relatum.models.base import Model
from relatum.training.loop import State, as_stored, start, train
from relatum.training.settings import TrainingSettings
from relatum.workers.group import Group, Shares, start_group
from relatum.workers.ranking import SharedScorer
from relatum.workers.states import gathered
from relatum.workers.steps import SharedSteps

_ENTITIES = 300
_RELATIONS = {"likes": 2, "sold": 3, "old": 1, "moved": 4}
_ROLES = {"sold": ("seller", "buyer", "item"), "moved": ("seller", "buyer", "start", "item"), "likes": ("buyer", "item")}

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "questions": ("reale", {"dim": 16}, {"rows": "questions"}),
    "questions with dropped windows": (
        "reale",
        {"dim": 64, "window_dropout": 0.75, "dropout_block": 2},
        {"rows": "questions", "weight_decay": 1e-5, "ema_decay": 0.8, "in_relation_share": 0.5},
    ),
    "questions by autograd": ("reale", {"dim": 16, "sigma": "tanh"}, {"rows": "questions", "objective": "KvsAll"}),
    "facts with shared negatives": ("reale", {"dim": 16, "window_dropout": 0.5}, {"in_relation_share": 0.5}),
    "facts with their own negatives": ("reale", {"dim": 16}, {"negative_sampling": "per-fact", "num_negatives": 5}),
    "facts with all entities": ("reale", {"dim": 8}, {"negative_sampling": "all-entities"}),
    "questions with all entities": ("reale", {"dim": 8}, {"negative_sampling": "all-entities", "rows": "questions"}),
    "m-distmult": ("m-distmult", {"dim": 16, "input_dropout": 0.2}, {}),
    "m-cp": ("m-cp", {"dim": 16}, {"learning_rate": 0.1}),
    "hsimple": ("hsimple", {"dim": 16}, {"rows": "questions"}),
    "hype": ("hype", {"dim": 16}, {"negative_sampling": "per-fact", "num_negatives": 5}),
    "getd": ("getd", {"dim": 8, "rank": 4}, {"learning_rate": 0.05}),
    "m-transh": ("m-transh", {"dim": 16}, {"learning_rate": 0.05}),
    "rae": ("rae", {"dim": 16}, {"learning_rate": 0.05}),
    "nalp": ("nalp", {"dim": 8, "num_filters": 8, "hidden_dim": 8}, {"learning_rate": 0.05}),
    "neuinfer": ("neuinfer", {"dim": 8, "hidden_dim": 8}, {"learning_rate": 0.05}),
    "hinge": ("hinge", {"dim": 10, "num_filters": 4}, {"learning_rate": 0.05}),
}


def facts_of_tests() -> Split:
    """Return facts of several arities, some entities of which occur far more often than others."""
    rng = np.random.default_rng(7)
    names = [f"e{number:03d}" for number in range(_ENTITIES)]
    drawn = {
        (name, *(names[int(_ENTITIES * rng.random() ** 2)] for _ in range(arity)))
        for name, arity in _RELATIONS.items()
        for _ in range(200)
    }
    schema = [RelationSchema(name, arity, _ROLES.get(name)) for name, arity in _RELATIONS.items()]
    whole = Hypergraph.of([*sorted(drawn), *(("old", name) for name in names)], schema)
    parts = rng.random(len(whole))
    cuts = [select_facts(whole, (parts >= low) & (parts < high)) for low, high in ((0, 0.8), (0.8, 0.9), (0.9, 1))]
    return Split(*cuts, source="test")


def compared(group: Group, split: Split, case: str, steps: int, folder: Path) -> list[str]:
    """Return the names of what differs from one process after many steps, in the first worker."""
    name, of_model, of_training = CASES[case]
    model = MODELS[name](split.train, MODELS[name].settings_type(**of_model))
    common = {"epochs": 1000, "batch_size": 16, "batches_per_step": 5, "num_negatives": 40, "validate_every": 10**6}
    settings = TrainingSettings(**{**common, **of_training})
    shares = Shares(model.num_entities, group.count, group.number)
    own = start(model, settings, 3, range(shares.first, shares.last))
    mine = _trained(model, split, settings, own, steps, (group, shares))
    kept = {part: gathered(getattr(mine, part), model, shares, group, folder) for part in ("parameters", "mean")}
    history = _history(mine, model, shares, group, folder)
    stored = as_stored(mine.parameters, model, settings)
    scorer = SharedScorer(group, shares, model, stored)
    known = KnownAnswers(split.train, split.valid)
    ranks = rank(model, stored, split.test, known, scorer=scorer)
    validate = validator(model, split, "corrected-mrr", scorer_of=lambda own: SharedScorer(group, shares, model, own))
    score = validate(stored) if validate else {}
    if kept["parameters"] is None or kept["mean"] is None:
        return []
    alone = _trained(model, split, settings, start(model, settings, 3), steps, None)
    wrong = [key for key in alone.parameters if not torch.equal(alone.parameters[key], kept["parameters"][key])]
    wrong += [f"history of {key}" for key in alone.history if not torch.equal(alone.history[key], history[key])]
    wrong += [f"mean of {key}" for key in alone.mean if not torch.equal(alone.mean[key], kept["mean"][key])]
    whole_parameters = as_stored(alone.parameters, model, settings)
    expected = rank(model, whole_parameters, split.test, known)
    if not (np.array_equal(expected.better, ranks.better) and np.array_equal(expected.equal, ranks.equal)):
        wrong.append("ranks")
    whole = validator(model, split, "corrected-mrr")
    if whole is None or whole(whole_parameters) != score:
        wrong.append("validation")
    if alone.loss != mine.loss:
        wrong.append("loss")
    return wrong


class _Enough(Exception):  # noqa: N818
    pass


def _trained(
    model: Model, split: Split, settings: TrainingSettings, state: State, steps: int, shared: tuple[Group, Shares] | None
) -> State:
    taken = 0

    def watch(event: str, _: State, __: dict[str, Any]) -> None:
        nonlocal taken
        taken += event == "step"
        if taken == steps:
            raise _Enough

    more: dict[str, Any] = {}
    if shared is not None:
        more["steps_of"] = lambda *parts: SharedSteps(*shared, model, *parts)
    try:
        train(model, split.train, settings, 3, state, None, watch, **more)
    except _Enough:
        return state
    raise AssertionError("training has ended too soon")


def _history(state: State, model: Model, shares: Shares, group: Group, folder: Path) -> dict[str, torch.Tensor]:
    """Return what the optimizer remembers, whole in the first worker."""
    found = {}
    for key, table in state.history.items():
        name = key.partition("/")[0]
        if name in model.entity_tables:
            whole = gathered(dict.fromkeys(model.entity_tables, table), model, shares, group, folder)
            found[key] = table if whole is None else whole[name]
        else:
            found[key] = table
    return found


def main() -> None:
    """Compare all cases."""
    group = start_group()
    if group is None:
        sys.exit("not one of several workers")
    split = facts_of_tests()
    path, steps, *cases = sys.argv[1:]
    wrong = {case: compared(group, split, case, int(steps), Path(path).parent) for case in cases}
    if group.is_first:
        Path(path).write_text(json.dumps({"workers": group.count, "wrong": wrong}))
    group.close()


if __name__ == "__main__":
    main()
