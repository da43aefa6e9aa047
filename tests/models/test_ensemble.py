"""The sum of several models is one model of the same type, to the law of scores and to the closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import relatum
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.ensemble import joined
from support.mistakes import mistake

FACTS = relatum.load("example").train
LARGEST = max(FACTS.schema.arities)
SETTINGS: list[tuple[str, list[dict[str, Any]]]] = [
    ("reale", [{"dim": 12}] * 3),
    ("reale", [{"dim": 12, "window": 3}, {"dim": 6, "window": 3}]),
    ("reale", [{"dim": 12, "scale": 4.0, "sigma": "tanh"}] * 2),
    ("m-distmult", [{"dim": 10}, {"dim": 4}]),
    ("m-cp", [{"dim": 10}] * 2),
    ("hsimple", [{"dim": 2 * LARGEST}, {"dim": 3 * LARGEST}]),
]


def drawn(name: str, settings: list[dict[str, Any]]) -> tuple[list[Model], list[Parameters]]:
    kind = MODELS[name]
    models = [kind(FACTS, kind.settings_type(**one)) for one in settings]
    return models, [model.init_parameters(torch.Generator().manual_seed(seed)) for seed, model in enumerate(models)]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_scores_are_summed(name: str, settings: list[dict[str, Any]]) -> None:
    models, parameters = drawn(name, settings)
    whole, together = joined(models, parameters)
    assert whole.name == name
    for block in FACTS.blocks.values():
        relations, columns = (torch.from_numpy(ids.astype(np.int64)) for ids in (block.relations, block.columns))
        each = [m.score(m.encode(p), relations, columns) for m, p in zip(models, parameters, strict=True)]
        found = whole.score(whole.encode(together), relations, columns)
        assert torch.allclose(found, torch.stack(each).sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "settings", "code", "place"),
    [
        ("reale", [{"dim": 12}, {"dim": 12, "window": 3}], "runs-not-alike", "model"),
        ("reale", [{"dim": 12, "scale": 4.0}, {"dim": 6, "scale": 4.0}], "setting-out-of-range", "model.scale"),
        ("hsimple", [{"dim": LARGEST + 1}] * 2, "setting-out-of-range", "model.dim"),
        ("m-transh", [{"dim": 4}] * 2, "cannot-ensemble", "model"),
    ],
)
def test_what_has_no_sum_is_refused(name: str, settings: list[dict[str, Any]], code: str, place: str) -> None:
    with mistake(code, place=place):
        joined(*drawn(name, settings))
