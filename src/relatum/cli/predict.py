"""`relatum predict` and `relatum embeddings`: write what a run knows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Append, EscapeFormulas, FullNames, Json, Relations, Replace, RunFolder, To, require_target
from relatum.cli.output import print_json, print_table, say
from relatum.errors import SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.runs.answers import Prediction
    from relatum.tables.table import Table

_SHOWN, _WRITTEN = 20, 1000  # facts of a relation, by default


def predict(
    run: RunFolder,
    relation: Relations = None,
    top: Annotated[
        int | None, typer.Option(min=1, help=f"How many facts of a relation: {_SHOWN}, or {_WRITTEN} with --to.")
    ] = None,
    min_score: Annotated[float | None, typer.Option(help="Only facts with at least this score.")] = None,
    min_probability: Annotated[float | None, typer.Option(help="Only facts with at least this probability.")] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Try every possible fact, not only one-cell variations of known ones.")
    ] = False,
    to: To = None,
    table: Annotated[str | None, typer.Option(help="The table of a database; by default predicted_RELATION.")] = None,
    append: Append = False,
    replace: Replace = False,
    full_names: FullNames = False,
    escape_formulas: EscapeFormulas = False,
    json: Json = False,
) -> None:
    """Predict new facts. Candidates differ from a known fact in one cell, or are all possible facts with --exact."""
    from relatum.api import Run
    from relatum.runs.export import predictions_table
    from relatum.runs.prediction import predict as predict_facts
    from relatum.tables.targets import target_of

    require_target(to, table, append, replace, full_names, escape_formulas)
    loaded = Run.load(run)
    names = list(dict.fromkeys(relation or (one.name for one in loaded.schema)))
    wanted: dict[str, Any] = {"min_score": min_score, "min_probability": min_probability, "exact": exact}
    if to is None:
        _show(loaded, names, {"top": top or _SHOWN, **wanted}, json=json)
        return
    target = target_of(to, append=append, replace=replace, escape_formulas=escape_formulas)
    if table is not None and (len(names) > 1 or not target.is_database):
        raise SettingError("table-not-for-file", "--table names the table of one relation in a database")

    def tables_of(predictions: dict[str, list[Prediction]]) -> list[Table]:
        return [predictions_table(loaded, one, predictions[one], name=table, full_names=full_names) for one in names]

    target.check(tables_of({name: [] for name in names}))  # before the work, and again when it is written
    found = tables_of(predict_facts(loaded, names, top or _WRITTEN, **wanted))
    # What was not named is left out where it is empty, unless rows of an earlier time have to go.
    written = [one for one in found if len(one) or relation or replace]
    if written:
        target.write(written)
    names_written = {one.name for one in written}
    left = [one.relation for one in found if one.name not in names_written]
    if json:
        tables = [{"relation": one.relation, "table": one.name, "rows": len(one)} for one in written]
        print_json({"to": target.location, "tables": tables, "without_facts": left})
        return
    for one in written:
        path = f"{target.location}, table {one.name}" if target.is_database else target.location
        say(f"wrote {count(len(one), 'fact')} of {one.relation} to {path}")
    if left:
        say(f"no new facts, and so no table, of {', '.join(left)}")


def _show(run: Run, names: list[str], wanted: dict[str, Any], *, json: bool) -> None:
    """Print the best facts: of one relation by its roles, of several together by probability."""
    from relatum.runs.answers import interval_of
    from relatum.runs.prediction import predict
    from relatum.runs.shown_values import beside

    found = [one for group in predict(run, names, **wanted).values() for one in group]
    if json:
        hidden = ("roles", "intervals")
        plain = [
            {**{name: value for name, value in asdict(one).items() if name not in hidden}, **interval_of(one.intervals)}
            for one in found
        ]
        print_json({"predictions": plain})
        return
    if len(names) == 1:
        schema = run.schema[names[0]]
        title, heads = str(schema), schema.roles or tuple(f"position {position}" for position in range(schema.arity))
        facts = [run.shown(names[0], one.entities, intervals=one.intervals) for one in found]
    else:
        found = sorted(found, key=lambda one: -(one.probability or 0.0))[: wanted["top"]]
        title, heads = f"{len(names)} relations", ("fact",)
        facts = [(beside(str(one), interval_of(one.intervals).get("interval")),) for one in found]
    ends = ("score", "probability")
    rows = [
        (str(rank), *fact, f"{one.score:.3f}", percent(one.probability))
        for rank, (fact, one) in enumerate(zip(facts, found, strict=True), start=1)
    ]
    print_table(f"{title}, new", ("", *heads, *ends), rows, ends, drop=("score",))


def embeddings(
    run: RunFolder,
    to: Annotated[Path, typer.Option(metavar="DIR", help="The directory to create; it must be new or empty.")],
    format: Annotated[  # noqa: A002
        str, typer.Option(metavar="npy|parquet", help="NumPy arrays with files of names, or Parquet.")
    ] = "npy",
    json: Json = False,
) -> None:
    """Write the embeddings of a run: one table for entities, and the model's tables for relations."""
    from relatum.api import Run
    from relatum.runs.export import save_embeddings

    shapes = save_embeddings(Run.load(run), to, format)
    if json:
        print_json({"to": str(to), "tables": {name: list(shape) for name, shape in shapes.items()}})
        return
    for name, shape in shapes.items():
        size = " x ".join(f"{length:,}" for length in shape)
        say(f"wrote {to / f'{name}.{format}'}: {size}")
