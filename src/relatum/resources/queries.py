"""Queries in SQL, relational algebra or as a question, answered by known and predicted facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relatum.algebra import expanded
from relatum.algebra.lexer import Reader
from relatum.api import Run
from relatum.errors import DataError, RelatumError, SettingError
from relatum.reasoning.query import Query, parse_query
from relatum.resources.answers import complete, score
from relatum.resources.cursor import is_sql
from relatum.resources.facts import known_fact
from relatum.resources.limits import MOST_ANSWERS, bounded, bounded_seconds, bounded_text
from relatum.resources.references import EntityRef, FactRef, condition_ref, fact_ref, role_names, value_ref
from relatum.runs.answers import Question, parse_question
from relatum.runs.definitions import defined_schema
from relatum.runs.query_rows import QueryRow, QueryRows, WitnessFact
from relatum.runs.sql_answers import answer_sql, views_of
from relatum.runs.trained import SECONDS
from relatum.time_limit import Deadline


@dataclass(frozen=True, slots=True)
class WitnessItem:
    """A fact that a row rests on, and whether it rests on its being false."""

    fact: FactRef
    negated: bool


@dataclass(frozen=True, slots=True)
class QueryItem:
    """A row that answers a query.

    Attributes:
        values: what stands in each column.
        probability: how likely the facts that it rests on are together; None without calibration.
        known: whether it follows exactly from known facts.
        proven: whether there is surely no better row but those above it.
        witness: the facts that it rests on, known or predicted.
    """

    values: tuple[EntityRef, ...]
    probability: float | None
    known: bool
    proven: bool
    witness: tuple[WitnessItem, ...]


@dataclass(frozen=True, slots=True)
class QueryAnswers:
    """The rows that answer a query, best first.

    Attributes:
        language: what the text was taken for: `sql`, `algebra` or `question`.
        text: the query.
        columns: how the columns are called.
        rows: the rows.
        proven: whether there are surely no better rows.
        bound: `equal` where probabilities are those of the query, `at least` where the search ended early.
        message: what there is to say of the rows, such as that the time was over; None if nothing.
        truncated: whether there may be more rows than are listed.
        plan: how a query of SQL was answered, line by line, where it began with EXPLAIN.
    """

    language: str
    text: str
    columns: tuple[str, ...]
    rows: tuple[QueryItem, ...]
    proven: bool
    bound: str
    message: str | None
    truncated: bool
    plan: tuple[str, ...] = ()


def language_of(run: Run, text: str) -> str:
    """Return what a text is taken for: `sql` by its first word, `question` if a relation and a bracket, else `algebra`."""
    if is_sql(text):
        return "sql"
    reader = Reader(text)
    try:
        name = reader.word("a relation").name
    except DataError:
        return "algebra"
    return "question" if name in run.schema and reader.ahead("(") else "algebra"


def is_quick(run: Run, text: str) -> bool:
    """Return whether a text is surely answered well within a second: a question with one gap about a stored relation."""
    if language_of(run, text) != "question":
        return False
    try:
        parsed = parse_question(text, run.schema)
    except RelatumError:
        return True  # it is refused
    return len(parsed.open) < 2 and not parsed.free and parsed.relation not in run.definitions


def query(run: Run, text: str, k: int = 10, *, new_only: bool = False, seconds: float = SECONDS) -> QueryAnswers:
    """Return the k best rows that answer a query, in whichever language it is; a statement that changes is refused.

    Of a question, k are the known answers and as many the new ones. `new_only` leaves out rows that follow from what is
    known; SQL says `AND NOT known` instead. After so many `seconds` the best that was found is returned.
    """
    k, seconds = bounded("k", k, MOST_ANSWERS), bounded_seconds(seconds)
    language = language_of(run, bounded_text(text, "the query"))
    if language == "question":
        return _question(run, text, k, new_only=new_only, seconds=seconds)
    if language == "sql" and new_only:
        raise SettingError("contradictory-options", "SQL says it in the query, with AND NOT known", place="new_only")
    with Deadline(seconds):
        return _rows(run, text, k, seconds, language, new_only=new_only)


def _rows(run: Run, text: str, k: int, seconds: float, language: str, *, new_only: bool) -> QueryAnswers:
    if language == "algebra":
        found = run.joined(_parsed(run, text), k, new_only=new_only, seconds=seconds)
    else:
        found = _of_sql(run, text, k, seconds)
    rows = tuple(_item(run, row) for row in found[:MOST_ANSWERS])
    message = None
    if found.stopped:
        message = (
            f"stopped after {seconds:g} s: rows that are not proven are the best found so far, there may be better ones"
        )
    return QueryAnswers(
        language,
        text.strip(),
        found[0].columns if found else tuple(found.columns)[:-2],
        rows,
        found.proven,
        "equal" if found.proven else "at least",
        message,
        truncated=found.stopped or len(found) >= k,
        plan=found.plan,
    )


def _parsed(run: Run, text: str) -> Query:
    """Return a query of algebra, which may also name the views that SQL has made, joins and all."""
    views = {name: one.expression for name, one in views_of(run).items() if name not in run.schema}
    found = parse_query(text, defined_schema(run.schema, views))
    return Query(expanded(found.expression, views), found.arguments)


def _of_sql(run: Run, text: str, k: int, seconds: float) -> QueryRows:
    found = answer_sql(run, text, seconds=seconds, rows=k, read_only=True)
    if not isinstance(found, QueryRows):
        raise DataError("read-only", "this statement changes the run, and here it is only read")
    return found


def _question(run: Run, text: str, k: int, *, new_only: bool, seconds: float) -> QueryAnswers:
    """Return the answers to a question as rows; a fact without an open position is a row by itself."""
    parsed = parse_question(text, run.schema)
    if not parsed.open and not parsed.free:
        return _fact(run, parsed)
    found = complete(run, text, k, new_only=new_only, seconds=seconds)
    proven = len(parsed.open) == 1 and not parsed.free  # with several open positions not all facts may be tried
    rows = tuple(
        QueryItem(one.entities, one.fact.probability, one.known, one.known or proven, (WitnessItem(one.fact, False),))
        for one in found.answers
    )
    return QueryAnswers("question", found.question, found.roles, rows, proven, "equal", None, found.truncated)


def _fact(run: Run, question: Question) -> QueryAnswers:
    one = score(run, str(question)).fact
    row = QueryItem(one.entities, one.probability, one.known, True, (WitnessItem(one, False),))
    roles = role_names(run, question.relation)
    return QueryAnswers("question", str(question), roles, (row,), True, "equal", None, truncated=False)


def _item(run: Run, row: QueryRow) -> QueryItem:
    texts = row.shown or tuple(map(str, row.values))
    values = tuple(value_ref(run, name, text) for name, text in zip(row.entities, texts, strict=True))
    return QueryItem(values, row.probability, row.known, row.proven, _witness(run, row.witness))


def _witness(run: Run, facts: Sequence[WitnessFact]) -> tuple[WitnessItem, ...]:
    found = []
    for one in facts:
        if one.is_condition:
            ref = condition_ref(run, one.relation, one.entities, known=one.known, probability=one.probability)
        elif one.known:
            ref = known_fact(run, one.relation, one.entities)
        else:
            ref = fact_ref(run, one.relation, one.entities, probability=one.probability)
        found.append(WitnessItem(ref, one.negated))
    return tuple(found)
