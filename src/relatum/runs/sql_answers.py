"""Statements of SQL, answered by a run: rows that are known or predicted, views, and how a query is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from relatum.algebra import Expression, parse
from relatum.artefacts import read
from relatum.data.schema import RelationSchema
from relatum.data.stored_values import shown_value
from relatum.errors import DataError
from relatum.files import is_there, read_document, write_document
from relatum.joins.answering import JoinAnswer, best_answers, judged, plan_of
from relatum.joins.truths import conjunction_by
from relatum.progress import progress
from relatum.runs.demanded_facts import DemandedTruths, ListedFacts, listed_facts
from relatum.runs.join_truths import FLOOR
from relatum.runs.joining import covered_rows, fact_truths, has_joins, has_negations, new_by, run_truths
from relatum.runs.query_rows import Asked, QueryRow, QueryRows, witness_facts
from relatum.runs.sql_values import sql_columns
from relatum.runs.stored_rows import stored_rows, unique_names
from relatum.runs.trained import SECONDS, Trained
from relatum.sql.catalog import Catalog, View, catalog_of
from relatum.time_limit import Deadline
from relatum.version import __version__

if TYPE_CHECKING:
    from relatum.sql.parse import Statement


ROWS = 100  # of a result whose query has no limit
_DOUBTED = 1000  # known rows that are looked at, where what must not be makes some less likely than others


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
    return run.remembered("views", lambda: load_views(run))


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

    catalog = catalog_with_views(run)
    statement = parse_sql(text, catalog)
    if statement.kind == "view" and read_only:
        raise DataError(
            "read-only", "CREATE VIEW changes the run, and here it is only read", remedy="ask the query behind AS"
        )
    if statement.kind == "view" and statement.name is not None and statement.expression is not None:
        if coverage is not None:
            raise DataError(
                "coverage-not-promised", "coverage is for a query, not for a view", place=text.strip(), remedy="leave it out"
            )
        written = text.strip().rstrip("; \n")
        view = View(statement.expression, statement.columns, written, statement.stored)
        return define_view(run, statement.name, view)
    if coverage is not None and statement.expression is not None:
        _require_whole_set(statement, text.strip())
        plan = plan_of(statement.expression) if statement.kind == "explain" else ()
        asked = Asked(statement.expression, text.strip(), statement.columns, statement.positions, plan)
        return covered_rows(run, asked, coverage, new_only=statement.known is False, seconds=seconds)
    conjunction_by(conjunction)
    with (
        progress("looking for answers", 0 if seconds is None else int(1000 * seconds)) as advance,
        Deadline(seconds, advance if seconds else None) as limit,
    ):
        return _Answering(run, catalog, statement, text.strip(), conjunction, limit).rows(statement.limit or rows)


class _Answering:
    """A statement on its way to rows: the stored ones that DuckDB gives, and behind them those that are predicted."""

    def __init__(
        self, run: Trained, catalog: Catalog, statement: Statement, text: str, conjunction: str, limit: Deadline
    ) -> None:
        self._run, self._catalog, self._statement, self._text = run, catalog, statement, text
        self._conjunction, self._limit = conjunction, limit
        self._columns, self._shown = statement.columns, sql_columns(run, statement.shown)

    def rows(self, most: int) -> QueryRows:
        """Return the first rows."""
        statement = self._statement
        known = [] if statement.known is False else self._known(most)
        new: list[QueryRow] = []
        proven = True
        if statement.known is not True and len(known) < most and statement.expression is not None:
            new, proven = self._new(statement.expression, most - len(known))
        found = known + new
        if statement.order or any(row.probability < 1 for row in known):
            found.sort(key=lambda row: -row.probability)
        return QueryRows(
            found,
            self._columns,
            self._text,
            plan=self._plan() if statement.kind == "explain" else (),
            conjunction=self._conjunction,
            floor=FLOOR,
            proven=proven,
            stopped=self._limit.stopped,
        )

    def _plan(self) -> tuple[str, ...]:
        """Return how rows are found, line by line."""
        expression = self._statement.expression
        return ("known rows are read by DuckDB", *(() if expression is None else plan_of(expression)))

    def _known(self, most: int) -> list[QueryRow]:
        """Return the rows that follow from what is stored, as a database has them."""
        statement = self._statement
        doubted = statement.expression is not None and has_negations(statement.expression)
        try:
            result = stored_rows(self._run).query(statement.stored, self._catalog, max(most, _DOUBTED) if doubted else most)
        except DataError as error:
            if (
                error.code == "database-refused"
                and statement.refusal is not None
                and statement.refusal.code == "unknown-name"
            ):
                raise statement.refusal from None  # which says where it stands, and what is like it
            raise
        self._columns = self._columns or unique_names(result.columns)
        judged = self._judged(result.rows if doubted else result.rows[:most])
        found = []
        for values, (entities, answer) in zip(result.rows, judged, strict=True):
            names = [None if one is None else self._run.entities[one] for one in entities]
            texts = ["NULL" if value is None else shown_value(value) for value in values]
            columns = self._shown or (None,) * len(texts)
            shown = [
                text if name is None or column is None else column.labelled(name, text)
                for text, name, column in zip(texts, names, columns, strict=True)
            ]
            worth = answer.value if answer is not None and doubted else 1.0
            witness = witness_facts(self._run, answer.witness) if answer is not None and answer.value == worth else ()
            if worth >= (statement.least or 0.0):
                found.append(QueryRow(values, tuple(names), worth, True, True, witness, self._columns, tuple(shown)))
        return sorted(found, key=lambda row: -row.probability)[:most] if doubted else found

    def _judged(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[list[int | None], JoinAnswer | None]]:
        """Return the entities of rows, and what is believed of each, where entities tell which it is."""
        expression, ids = self._statement.expression, self._run.entities
        entities: list[list[int | None]] = []
        for row in rows:
            names = (
                [column.name(value) for column, value in zip(self._shown, row, strict=True)]
                if self._shown
                else [None] * len(row)
            )
            entities.append([None if name is None else ids.id(name) for name in names])
        found: list[tuple[list[int | None], JoinAnswer | None]] = [(one, None) for one in entities]
        if expression is None or not all(column.is_exact for column in self._shown):
            return found
        wanted: dict[tuple[int, ...], list[int]] = {}
        for number, one in enumerate(entities):
            heads = dict(zip(self._statement.positions, one, strict=True))
            if None not in one and len(heads) == expression.arity:
                head = tuple(heads[position] or 0 for position in range(expression.arity))
                wanted.setdefault(head, []).append(number)
        answers = judged(expression, self._truths, list(wanted), self._conjunction, self._limit)
        for answer in answers:
            for number in wanted[answer.entities]:
                found[number] = entities[number], answer if answer.witness else None
        return found

    def _new(self, expression: Expression, most: int) -> tuple[list[QueryRow], bool]:
        """Return the best rows that do not follow from what is stored, and whether there are surely no better ones."""
        facts = DemandedTruths(fact_truths(self._run), {name: one.of_known() for name, one in self._listed.items()})
        least = self._statement.least or 0.0
        found = best_answers(
            expression, self._truths, most, self._conjunction, self._limit, least=least, keep=new_by(expression, facts)
        )
        rows = []
        for answer in found.answers:
            entities = [answer.entities[position] for position in self._statement.positions]
            pairs = list(zip(self._shown, entities, strict=True))
            values, shown = (
                tuple(column.value(one) for column, one in pairs),
                tuple(column.text(one) for column, one in pairs),
            )
            names = tuple(self._run.entities[one] for one in entities)
            witness = witness_facts(self._run, answer.witness)
            rows.append(QueryRow(values, names, answer.value, False, answer.proven, witness, self._columns, shown))
        return rows, found.proven

    @cached_property
    def _listed(self) -> dict[str, ListedFacts]:
        return {name: listed_facts(self._run, one, self._catalog) for name, one in self._statement.demanded.items()}

    @cached_property
    def _truths(self) -> DemandedTruths:
        return DemandedTruths(run_truths(self._run), self._listed)


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
    text: str | None


class ViewsFile(TypedDict):
    """The file of views."""

    relatum: str
    views: list[_View]


def load_views(run: Trained) -> dict[str, View]:
    """Return the views that are kept with a run, by name and in the order in which they were made."""
    if run.folder is None or not is_there(run.folder / VIEWS):
        return {}
    catalog, schema = catalog_of_run(run), run.model.schema

    def build(content: object) -> dict[str, View]:
        found: dict[str, View] = {}
        for one in read(ViewsFile, content)["views"]:
            view = View(parse(one["expression"], schema), tuple(one["columns"]))
            if one["text"] is not None:
                from relatum.sql.parse import parse_sql

                made = parse_sql(one["text"], replace(catalog, views={**catalog.views, **found}))
                view = replace(view, text=one["text"], stored=made.stored)
            RelationSchema(one["name"], view.expression.arity, view.columns)  # refuses what cannot be a name
            if one["name"] in schema or one["name"] in found:
                raise DataError("name-taken", f"there is a relation {one['name']!r} already")
            found[one["name"]] = view
        return found

    return read_document(run.folder / VIEWS, _FORMAT, _VERSION, build)


def save_views(folder: Path, views: Mapping[str, View]) -> None:
    """Write the views of a run, atomically."""
    listed = [
        {"name": name, "columns": list(one.columns), "expression": str(one.expression), "text": one.text}
        for name, one in views.items()
    ]
    write_document(folder / VIEWS, _FORMAT, _VERSION, {"relatum": __version__, "views": listed})
