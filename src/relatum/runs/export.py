"""What a run knows as tables and arrays, predictions and embeddings; and the run itself, written into a directory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from relatum.arrays import Float32
from relatum.errors import UnknownNameError
from relatum.files import atomic_directory, require_empty
from relatum.models.store import save_model
from relatum.progress import progress
from relatum.runs.answers import Prediction
from relatum.runs.definitions import save_definitions
from relatum.runs.directory import CARD, JOURNAL, SPEC, card, save_environment, save_facts, write_text
from relatum.runs.shown_values import ShownFact
from relatum.runs.trained import Trained
from relatum.runs.validated import save_validated
from relatum.tables.engine import Workspace, literal
from relatum.tables.table import Column, Table, free_name


def predictions_table(
    run: Trained, relation: str, predictions: Sequence[Prediction], *, name: str | None = None, full_names: bool = False
) -> Table:
    """Return predicted facts of one relation as a table.

    Where the relation was made from a table, entities come out as the values that they were there: 17 for `items:17`.
    With `full_names` they keep their names. The table is called `predicted_` and the name of the relation by default.
    """
    schema = run.schema[relation]
    roles = list(schema.roles or (f"position_{position}" for position in range(schema.arity)))
    column_types = [None] * schema.arity if full_names else run.column_types(relation)
    facts = [ShownFact(one.entities, one.intervals) for one in predictions]
    columns = run.shown_values.table_columns(relation, range(schema.arity), roles, column_types, facts)
    for own in ("score", "probability"):
        taken = [column.name for column in columns]
        columns.append(Column(free_name(own, taken), "number", [getattr(one, own) for one in predictions]))
    return Table(name or "predicted_" + re.sub(r"\W", "_", relation), tuple(columns), relation)


FORMATS = ("npy", "parquet")

_ROWS = 1 << 12  # that are handed over at once


@dataclass(frozen=True, eq=False)
class _Embedding:
    """A table of the model: vectors, [n, ...], and what each row is of; `positions` where a relation has several rows."""

    name: str
    vectors: Float32
    names: list[str]
    positions: list[int] | None


def save_embeddings(run: Trained, directory: str | os.PathLike[str], format: str = "npy") -> dict[str, tuple[int, ...]]:  # noqa: A002
    """Write the embeddings of a run into a new directory, and return the shape of each table.

    These are the tables that scores are made from: `entities`, and what the model has for relations or for each of their
    positions. As `npy`, row i of `TABLE.npy` belongs to line i of `TABLE.txt`, which is a name, or a relation, a tab and a
    position. As `parquet`, `TABLE.parquet` has the columns `name`, where there are several `position`, and `vector`.

    Relations that were defined on the run are included; the directory must be new or empty.
    """
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    target = Path(directory)
    require_empty(target)  # before the work; when it is written, it is looked at again
    found = list(_embeddings(run))
    with atomic_directory(target) as folder, progress("writing embeddings", sum(len(one.names) for one in found)) as advance:
        for one in found:
            if format == "npy":
                _save_array(one, folder)
            else:
                _save_parquet(one, folder)
            advance(len(one.names))
    return {one.name: one.vectors.shape for one in found}


def _embeddings(run: Trained) -> Iterator[_Embedding]:
    model, tables = run.model_with_definitions
    relations = [relation.name for relation in model.schema]
    by_position = [(relation.name, position) for relation in model.schema for position in range(relation.arity)]
    rows: list[tuple[tuple[str, ...], list[str], list[int] | None]] = [
        (model.entity_tables, list(model.graph.entities), None),
        (model.relation_tables, relations, None),
        (model.position_tables, [name for name, _ in by_position], [position for _, position in by_position]),
    ]
    for wanted, names, positions in rows:
        for name in wanted:
            yield _Embedding(name, tables[name].numpy(force=True), names, positions)


def _save_array(one: _Embedding, folder: Path) -> None:
    np.save(folder / f"{one.name}.npy", one.vectors, allow_pickle=False)
    ends = ["\n"] * len(one.names) if one.positions is None else [f"\t{position}\n" for position in one.positions]
    with (folder / f"{one.name}.txt").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(name + end for name, end in zip(one.names, ends, strict=True))


def _save_parquet(one: _Embedding, folder: Path) -> None:
    path, vectors = folder / f"{one.name}.parquet", one.vectors.reshape(len(one.names), -1)
    vector = ", ".join(f"v{number}" for number in range(vectors.shape[1]))
    position = "" if one.positions is None else "position, "
    with Workspace("writing") as workspace:
        workspace.run(f"CREATE TABLE rows (name TEXT, {position and 'position BIGINT, '}vector FLOAT[])", path.name)
        for start in range(0, len(vectors), _ROWS):
            part = slice(start, start + _ROWS)
            arrays: dict[str, npt.NDArray[np.generic]] = {"name": np.array(one.names[part], object)}
            if one.positions is not None:
                arrays["position"] = np.array(one.positions[part], np.int64)
            arrays |= {f"v{number}": np.ascontiguousarray(column) for number, column in enumerate(vectors[part].T)}
            workspace.copy(arrays, "INSERT INTO rows", path.name, f"name, {position}[{vector}]")
        workspace.run(f"COPY rows TO {literal(str(path.absolute()))} (FORMAT parquet)", path.name)


def save_run(run: Trained, folder: Path) -> None:
    """Write a run into a new or empty directory, whole or not at all.

    There is no checkpoint in it: what was trained in memory, or updated, is not trained further.
    """
    with atomic_directory(folder) as kept:
        save_facts(kept, run.split)
        save_model(kept, run.model, run.parameters)
        save_environment(kept, run.environment)
        write_text(kept / SPEC, run.spec.to_toml())
        write_text(kept / CARD, card(run.spec, run.split, run.events))
        if run.definitions:
            save_definitions(kept, run.definitions)
        save_validated(kept, run.validated)
        if run.events:
            write_text(kept / JOURNAL, "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in run.events))
