"""Predicted facts as a table: a column for each role, then the score and the probability."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relatum.runs.prediction import Prediction
from relatum.runs.run import Run
from relatum.tables.exports_values import column_of
from relatum.tables.table import Column, Table, free_name

__all__ = ["predictions_table"]


def predictions_table(
    run: Run, relation: str, predictions: Sequence[Prediction], *, name: str | None = None, full_names: bool = False
) -> Table:
    """Return predicted facts of one relation as a table.

    Where the relation was made from a table, entities come out as the values that they were there: 17 for `items:17`.

    Args:
        run: the run that predicted them.
        relation: the name of the relation.
        predictions: the facts, in the order of the rows.
        name: what the table is called in a database; by default `predicted_` and the name of the relation.
        full_names: write the names of entities as the run has them.
    """
    schema = run.schema[relation]
    roles = list(schema.roles or (f"position_{position}" for position in range(schema.arity)))
    domains = [None] * schema.arity if full_names else run.domains(relation)
    columns = [
        column_of(role, [one.entities[position] for one in predictions], domain)
        for position, (role, domain) in enumerate(zip(roles, domains, strict=True))
    ]
    for own in ("score", "probability"):
        taken = [column.name for column in columns]
        columns.append(Column(free_name(own, taken), "number", [getattr(one, own) for one in predictions]))
    return Table(name or "predicted_" + re.sub(r"\W", "_", relation), tuple(columns), relation)
