"""Statements of SQL, answered by a run: rows that are known or predicted, views, and how a query is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from relatum.algebra import parse
from relatum.artefacts import read
from relatum.data.schema import RelationSchema, Schema
from relatum.errors import DataError
from relatum.files import is_there, read_document, write_document
from relatum.joins.answering import plan_of
from relatum.runs.joining import covered_rows, has_joins, joined_rows
from relatum.runs.query_rows import Asked, QueryRows
from relatum.runs.trained import SECONDS, Trained
from relatum.sql.catalog import Catalog, View, catalog_of
from relatum.version import __version__

if TYPE_CHECKING:
    from relatum.sql.parse import Statement


ROWS = 100  # of a result whose query has no limit


@dataclass(frozen=True, slots=True)
class DefinedView:
    """A view that was made: its name, its columns, and whether `complete` and `score` take it as a relation too."""

    name: str
    columns: tuple[str, ...]
    is_relation: bool


def catalog_with_views(run: Trained) -> Catalog:
    """Return what queries of SQL can name of a run, its views included."""
    views, catalog = views_of(run), catalog_of_run(run)
    return replace(catalog, views={**catalog.views, **views}) if views else catalog


def views_of(run: Trained) -> dict[str, View]:
    """Return the views with joins that were made of a run."""
    return run.remembered("views", lambda: load_views(run.folder, run.model.schema))


def define_view(run: Trained, name: str, view: View) -> DefinedView:
    """Keep a view with the run; what has a closed form becomes a relation, so that `complete` takes it too."""
    if not has_joins(view.expression):
        run.define(name, view.expression)
        return DefinedView(name, view.columns, True)
    views = {**views_of(run), name: view}
    if run.folder is not None:
        save_views(run.folder, views)
    run.remember("views", views)
    return DefinedView(name, view.columns, False)


def answer_sql(
    run: Trained,
    text: str,
    *,
    conjunction: str = "product",
    seconds: float | None = SECONDS,
    rows: int = ROWS,
    read_only: bool = False,
    coverage: float | None = None,
) -> QueryRows | DefinedView:
    """Return the rows that a statement selects, best first, or the view that it makes; arguments as of `Run.sql`.

    Where the statement has no limit there are so many `rows` at most; `read_only` refuses a statement that makes a view.
    """
    from relatum.sql.parse import parse_sql  # its library is an extra, which all else does without

    statement = parse_sql(text, catalog_with_views(run))
    if statement.kind == "view" and read_only:
        raise DataError(
            "read-only", "CREATE VIEW changes the run, and here it is only read", remedy="ask the query behind AS"
        )
    if statement.kind == "view" and statement.name is not None:
        if coverage is not None:
            raise DataError(
                "coverage-not-promised", "coverage is for a query, not for a view", place=text.strip(), remedy="leave it out"
            )
        return define_view(run, statement.name, View(statement.expression, statement.columns))
    plan = plan_of(statement.expression) if statement.kind == "explain" else ()
    asked = Asked(statement.expression, text.strip(), statement.columns, statement.positions, plan)
    if coverage is not None:
        _require_whole_set(statement, asked.text)
        return covered_rows(run, asked, coverage, new_only=statement.known is False, seconds=seconds)
    most, least = statement.limit or rows, statement.least or 0.0
    return joined_rows(run, asked, most, known=statement.known, least=least, conjunction=conjunction, seconds=seconds)


def _require_whole_set(statement: Statement, text: str) -> None:
    """Refuse what would cut rows out of a set of which something is promised."""
    cut = {
        "LIMIT": statement.limit is not None,
        "known": statement.known is True,
        "probability": statement.least is not None,
    }
    for word, there in cut.items():
        if there:
            raise DataError(
                "coverage-not-promised",
                f"coverage is about whole sets, which {word} would cut",
                place=text,
                remedy="leave one of them out",
            )


def catalog_of_run(run: Trained) -> Catalog:
    """Return what queries can name of a run; what was defined is a view."""
    split = run.split
    return catalog_of(
        run.model.schema, run.entities, column_types=split.column_types, rows=split.rows, views=run.definitions
    )


VIEWS = "views.json"

_FORMAT, _VERSION = "relatum-views", 1


class _View(TypedDict):
    name: str
    columns: list[str]
    expression: str


class ViewsFile(TypedDict):
    """The file of views."""

    relatum: str
    views: list[_View]


def load_views(folder: Path | None, schema: Schema) -> dict[str, View]:
    """Return the views in a run directory, by name and in the order in which they were made."""
    if folder is None or not is_there(folder / VIEWS):
        return {}

    def build(content: object) -> dict[str, View]:
        found = {}
        for one in read(ViewsFile, content)["views"]:
            view = View(parse(one["expression"], schema), tuple(one["columns"]))
            RelationSchema(one["name"], view.expression.arity, view.columns)  # refuses what cannot be a name
            if one["name"] in schema or one["name"] in found:
                raise DataError("name-taken", f"there is a relation {one['name']!r} already")
            found[one["name"]] = view
        return found

    return read_document(folder / VIEWS, _FORMAT, _VERSION, build)


def save_views(folder: Path, views: Mapping[str, View]) -> None:
    """Write the views of a run, atomically."""
    listed = [{"name": name, "columns": list(one.columns), "expression": str(one.expression)} for name, one in views.items()]
    write_document(folder / VIEWS, _FORMAT, _VERSION, {"relatum": __version__, "views": listed})
