"""Counts of tiles add up to those of all entities, for every model, with ties, known answers and evidence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relatum import KnownAnswers
from relatum.inference import tiled_counts
from relatum.inference.scoring import count_better
from relatum.inference.tiled_counts import count_in_tiles, tile_size
from relatum.models import MODELS
from support.kernels_known import bonus_of
from support.made_models import made_case, made_graph

GRAPH = made_graph(entities=50, facts=20)


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("size", [17, 50])
def test_tiles_count_as_the_whole_does(name: str, size: int) -> None:
    case, rng, known = made_case(name, GRAPH), np.random.default_rng(size), KnownAnswers(GRAPH)
    parameters = case.parameters(3)
    parameters["entities"] = (2 * parameters["entities"]).round() / 2  # ties
    with torch.no_grad():
        tables = case.model.encode(parameters)
    for relations, columns in case.batches():
        relation, facts = int(relations[0]), columns.numpy().astype(np.int32)
        facts = facts[:, relations.numpy() == relation][:, :3]
        for position in range(len(facts)):
            excluded = known.lookup(np.full(facts.shape[1], relation, np.int32), facts, position)
            bonus, _ = bonus_of(rng, facts.shape[1], 50)
            for more in (None, bonus) if size == 17 else (bonus,):
                questions = torch.from_numpy(facts.astype(np.int64))
                whole = count_better(case.model, tables, relation, questions, position, excluded, bonus=more)
                found = count_in_tiles(case.model, tables, relation, facts, position, excluded, more, size)
                np.testing.assert_array_equal(found, whole)


def test_there_are_tiles_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    case = made_case("reale", GRAPH)
    tables = case.model.encode(case.parameters(1))
    assert tile_size(case.model, tables, 0, 0) is None
    monkeypatch.setattr(tiled_counts, "free", lambda: 8 * 4)
    monkeypatch.setattr(tiled_counts, "_LEAST", 6)
    assert tile_size(case.model, tables, 0, 0) == 6
