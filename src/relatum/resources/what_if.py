"""What would be if some facts were true and some relations defined: in memory, for one question, and never kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relatum.algebra import parse
from relatum.api import Run
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.row_store import RowStore
from relatum.data.schema import RelationSchema
from relatum.errors import DataError, RelatumError, SettingError, UnknownNameError
from relatum.imputation.models import ColumnModels
from relatum.reasoning.query import Query
from relatum.resources.answers import whole_fact
from relatum.resources.cursor import is_sql
from relatum.resources.facts import fact_index, known_fact
from relatum.resources.limits import MOST_ASSUMED, MOST_DEFINITIONS, bounded_seconds, bounded_text
from relatum.resources.queries import QueryAnswers, WitnessItem, query
from relatum.resources.references import FactRef, fact_ref
from relatum.runs.answers import Question
from relatum.runs.sql_answers import answer_sql, define_view, views_of
from relatum.runs.trained import SECONDS
from relatum.sql.catalog import View, columns_of
from relatum.time_limit import Deadline

Assumed = tuple[str, tuple[str, ...]]  # a relation and the whole names of its entities


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The answers to a query if some facts were true.

    Attributes:
        assumed: the facts that were taken as true; those that were known already say where.
        definitions: the names of the relations that were defined for this query alone.
        before: the answers as the run is; None where it cannot answer without the definitions.
        after: the answers with what was assumed.
    """

    assumed: tuple[FactRef, ...]
    definitions: tuple[str, ...]
    before: QueryAnswers | None
    after: QueryAnswers


def what_if(
    run: Run,
    text: str,
    facts: Sequence[str] = (),
    definitions: Mapping[str, str] | None = None,
    k: int = 10,
    *,
    new_only: bool = False,
    seconds: float = SECONDS,
) -> WhatIf:
    """Return the k best rows that answer a query if facts were true and relations defined; the run stays as it is.

    The text is a question or a query, and definitions are expressions by the names of the relations that they define. Rows
    that follow from known and assumed facts are left out if only new ones are wanted. All of it may take so many seconds, of
    which each of the two searches has half.
    """
    with Deadline(bounded_seconds(seconds)):
        return _what_if(run, text, facts, definitions, k, new_only=new_only, seconds=seconds / 2)


def _what_if(
    run: Run,
    text: str,
    facts: Sequence[str],
    definitions: Mapping[str, str] | None,
    k: int,
    *,
    new_only: bool,
    seconds: float,
) -> WhatIf:
    given = dict(definitions or {})
    for name, count, most in (("facts", len(facts), MOST_ASSUMED), ("definitions", len(given), MOST_DEFINITIONS)):
        if count > most:
            raise SettingError("over-limit", f"at most {most} can be given at once, not {count}", place=name)
    assumed = _facts_assumed(run, facts)
    wider = _run_with(run, assumed, given)
    refs = tuple(fact_ref(run, *one, source=known_fact(run, *one).source or "assumed") for one in assumed)
    new = {one.text for one in refs if one.source == "assumed"}
    after = _marked(query(wider, text, k, new_only=new_only, seconds=seconds), new)
    try:
        before = query(run, text, k, new_only=new_only, seconds=seconds)
    except (DataError, UnknownNameError):
        if not given:
            raise
        before = None
    return WhatIf(refs, tuple(given), before, after)


def _marked(answers: QueryAnswers, assumed: set[str]) -> QueryAnswers:
    """Return answers whose witnesses say which facts were assumed."""

    def marked(one: WitnessItem) -> WitnessItem:
        return replace(one, fact=replace(one.fact, source="assumed")) if one.fact.text in assumed else one

    rows = tuple(replace(row, witness=tuple(map(marked, row.witness))) for row in answers.rows)
    return replace(answers, rows=rows)


def _facts_assumed(run: Run, facts: Sequence[str]) -> list[Assumed]:
    """Return the facts that texts say, each once; of stored relations and entities that the run knows."""
    found = dict[Assumed, None]()
    for text in facts:
        relation, names = whole_fact(run, bounded_text(text, "a fact"))
        if relation in run.definitions:
            reason = f"{relation} is a defined relation: its facts follow from those of others"
            raise DataError("defined-relation", reason, place=text)
        ids = run.entities_of(Question(relation, names))[:, 0].tolist()
        found[relation, tuple(run.entities[one] for one in ids)] = None
    return list(found)


def _run_with(run: Run, facts: Sequence[Assumed], definitions: Mapping[str, str]) -> Run:
    """Return a run in memory that knows more facts and has more definitions; the given one stays as it is.

    The embedding is that of the given run: what is assumed speaks through what is known, through soft rules that read it,
    and through the rows of tables.
    """
    index = fact_index(run)
    ids = ((run.model.schema.id(relation), run.entities.ids(names).tolist()) for relation, names in facts)
    facts = [fact for fact, one in zip(facts, ids, strict=True) if index.source(*one) is None]
    split = _with_facts(run.split, facts) if facts else run.split
    evidence, columns = run.evidence, run.columns
    if facts and evidence is not None:
        evidence = evidence.with_facts(split.trained_on(run.spec.training.refit))
    if facts and columns is not None and split.rows is not None:
        columns = ColumnModels(split.rows, columns.models)
    validated = run.validated._replace(evidence=evidence, columns=columns)
    wider = Run(
        run.model,
        run.parameters,
        spec=run.spec,
        split=split,
        validated=validated,
        definitions=run.definitions,
        events=[],
        environment={},
    )
    for name, text in definitions.items():
        _define(wider, name, bounded_text(text, f"the definition of {name}"))
    return wider


def _with_facts(split: Split, facts: Sequence[Assumed]) -> Split:
    """Return a split with more training facts."""
    blocks: dict[int, list[Assumed]] = {}
    for fact in facts:
        blocks.setdefault(len(fact[1]), []).append(fact)
    more = Hypergraph.sort(
        split.entities,
        split.schema,
        [
            (
                np.array([split.schema.id(relation) for relation, _ in listed], np.int32),
                np.stack([split.entities.ids(column) for column in zip(*(each for _, each in listed), strict=True)]),
            )
            for listed in blocks.values()
        ],
    )
    train = Hypergraph.union([split.train, more])
    rows = None if split.rows is None else _with_cells(split.rows, facts)
    return replace(split, train=train, rows=rows)


def _with_cells(rows: RowStore, facts: Sequence[Assumed]) -> RowStore:
    """Return rows of tables with the cells that facts about them say."""
    tables = dict(rows.tables)
    for name, table in rows.tables.items():
        key, cells, parts = table.schema.row_key, table.cells.copy(), table.parts.copy()
        for relation, entities in facts if key is not None else ():
            for number, column in enumerate(table.schema.columns):
                own = column.relation == relation != table.schema.relation and column.position == 1
                if own and key is not None and all(one in rows.names for one in entities):
                    there = table.column(key) == rows.names.id(entities[0])
                    cells[number, there], parts[number, there] = rows.names.id(entities[1]), 0
        tables[name] = replace(table, cells=cells, parts=parts)
    return replace(rows, tables=tables)


def _define(run: Run, name: str, text: str) -> None:
    """Define a relation on a run in memory, by algebra or by SQL."""
    try:
        RelationSchema(name, 1)
        if is_sql(text):
            quoted = name.replace('"', '""')
            answer_sql(run, f'CREATE VIEW "{quoted}" AS {text}')
        else:
            read = parse(text, run.schema)
            if name in run.schema or name in views_of(run):
                raise DataError("name-taken", "there is a relation of this name already")
            expression = run.parsed(Query(read, (None,) * read.arity)).expression
            define_view(run, name, View(expression, columns_of(RelationSchema(name, read.arity, read.roles))))
    except RelatumError as error:
        raise error.within(f"definition of {name!r}") from None
