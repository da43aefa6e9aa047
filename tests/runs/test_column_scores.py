"""What the embedding says about cells is what the model says about the facts that they are part of."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from relatum import Run
from relatum.data.row_store import EMPTY, UNKNOWN
from relatum.runs.column_scores import embedding_scores
from relatum.runs.filling import rows_of


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("customers", "country"),
        ("items", "price"),
        ("sales", "channel"),
        ("sales", "customer_id"),
        ("sales", "amount"),
        ("seats", "seat"),
        ("stock", "item_id"),
    ],
)
def test_scores_are_those_of_facts(tables: Run, table: str, column: str) -> None:
    rows = rows_of(tables)
    held, schema = rows[table], rows[table].schema
    one = schema.column(column)
    assert one.relation is not None
    assert one.position is not None
    values = np.unique(held.column(column)[held.column(column) >= 0])[:12].astype(np.int64)
    candidates = np.concatenate([np.tile(values, (15, 1)), np.full((15, 1), -1)], axis=1)
    found = embedding_scores(tables.model, tables.tables, rows)(table, column, held.cells[:, :15], candidates)
    assert np.isnan(found[:, -1]).all()
    relation = torch.tensor([tables.model.schema.id(one.relation)])
    arity, compared = tables.model.schema[one.relation].arity, 0
    for row in range(15):
        names: list[int] = []
        for position in range(arity):
            at = [each.name for each in schema.columns if (each.relation, each.position) == (one.relation, position)]
            name = at[0] if at else str(schema.row_key)
            names.append(int(held.column(name)[row]))
        for index, value in enumerate(values.tolist()):
            names[one.position] = value
            if min(names) < 0:
                assert np.isnan(found[row, index])
                continue
            fact = torch.tensor([[tables.entities.id(rows.names[each])] for each in names])
            whole = float(tables.model.score(tables.tables, relation, fact)[0])
            assert found[row, index] == pytest.approx(whole, rel=1e-4, abs=1e-5)
            compared += 1
    assert compared > 20


def test_what_the_model_cannot_know_has_no_scores(tables: Run) -> None:
    rows = rows_of(tables)
    scores = embedding_scores(tables.model, tables.tables, rows)
    country = rows["customers"].schema.index("country")
    cells = rows["customers"].cells[:, :1].copy()
    candidates = rows["customers"].cells[country, :1].astype(np.int64)[:, None]
    assert np.isfinite(scores("customers", "country", cells, candidates)).all()
    for gap in (EMPTY, UNKNOWN):
        cells[rows["customers"].schema.index("id")] = gap
        assert np.isnan(scores("customers", "country", cells, candidates)).all()
    stars = rows["ratings"].cells[:, :3]
    assert np.isnan(scores("ratings", "stars", stars, stars[2:].T.astype(np.int64))).all()  # in no relation
