"""The best answers to each of many questions that differ in some entities, block by block: as records, or as one table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from relatum.models.ops import one_torch_thread
from relatum.progress import progress
from relatum.records import Records
from relatum.runs.answerer import AnswerBlock, Answerer
from relatum.runs.answers import Suggestion, field_names, suggested
from relatum.runs.each_question import Combinations, EachQuestion
from relatum.runs.trained import Trained
from relatum.settings import whole_number
from relatum.tables.table import Column, Table, Value, free_name
from relatum.tables.targets import Target
from relatum.tables.values import column_of, form_of

_CELLS = 1 << 22  # candidates of all questions of a block
_QUESTIONS = 1 << 11  # of a block at most


def answer_blocks(
    run: Trained,
    question: EachQuestion,
    combinations: Combinations,
    k: int = 10,
    *,
    new_only: bool = False,
    most: int | None = None,
) -> Iterator[AnswerBlock]:
    """Yield the answers that `complete` gives to each question: the k best that are known, and the k best that are not.

    How questions are cut into blocks follows from how many candidates there are alone, and what torch adds up it adds up in
    one thread: the same questions get the same bits. Memory does not grow with their number.

    The combinations are the entities at the positions that vary; only the first questions are answered, if `most` says how
    many. All else is as of `complete`.
    """
    k = whole_number("k", k)
    answerer = Answerer.of(run, question.relation.name, question.position)
    size = max(1, min(_QUESTIONS, _CELLS // max(answerer.width(k), answerer.scorer.count(question.position))))
    total = len(combinations) if most is None else min(len(combinations), most)
    with progress("answering questions", total) as advance:
        for questions in combinations.parts(size, most):
            with one_torch_thread():
                block = answerer.answered(questions, k, new_only=new_only, spans=question.spans)
            advance(block.questions)
            yield block


def complete_each(
    run: Trained, question: EachQuestion, combinations: Combinations, k: int = 10, *, new_only: bool = False
) -> Records[Suggestion]:
    """Return the answers to each question as records; all of them are held in memory."""
    found = answer_blocks(run, question, combinations, k, new_only=new_only)
    records = (one for block in found for one in suggestions_of(run, question, block))
    columns = columns_of(question)
    grouped = run.shown_values.columns(question.relation.name)
    roles = field_names(question.relation, columns)
    return suggested(records, str(question), roles, has_intervals=any(one in grouped for one in columns))


def suggestions_of(run: Trained, question: EachQuestion, block: AnswerBlock) -> Iterator[Suggestion]:
    """Yield the answers of a block as records."""
    positions = columns_of(question)
    roles = field_names(question.relation, positions)
    for one, rank, score, likely, source in block.rows_of(run, positions):
        yield Suggestion(one.names, rank, score, likely, source, roles, one.intervals)


def columns_of(question: EachQuestion) -> list[int]:
    """Return the positions that answers are written with: those that vary, and behind them the open one."""
    return [*question.varying, question.position]


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: answers about which relation, to which file or database, there to which table, and how many."""

    relation: str
    to: str
    is_database: bool
    table: str
    questions: int
    rows: int


def write_answers(
    run: Trained,
    question: EachQuestion,
    combinations: Combinations,
    target: Target,
    k: int = 10,
    *,
    new_only: bool = False,
    table: str | None = None,
    full_names: bool = False,
) -> Written:
    """Write the answers to each question, all or nothing; a block of them at a time is in memory.

    The columns are the roles that vary, that of the answer, `rank`, `score` and `probability`; and unless all answers are
    new, `source`, the split part that one is known from. Where the relation was made from a table, entities come out as the
    values that they were there: 17 for `items:17`.

    A table of a database is called `suggested_` and the name of the relation by default; with `full_names` entities have the
    names that the run has. All else is as of `answer_blocks`.
    """
    build = _Tables(run, question, table, new_only=new_only, full_names=full_names)
    empty = build.table(AnswerBlock.empty(question.relation.arity))
    target.check([empty])  # before the work; when it is written, it is looked at again
    questions = rows = 0

    def parts() -> Iterator[Table]:
        nonlocal questions, rows
        yield empty
        for block in answer_blocks(run, question, combinations, k, new_only=new_only):
            yield build.table(block)
            questions, rows = questions + block.questions, rows + len(block.ranks)

    target.write_parts(parts())
    return Written(question.relation.name, target.location, target.is_database, empty.name, questions, rows)


class _Tables:
    """Makes tables of blocks of answers.

    The form of a column is that of all entities which can stand there, so that all tables have the same.
    """

    def __init__(self, run: Trained, question: EachQuestion, name: str | None, *, new_only: bool, full_names: bool) -> None:
        relation = question.relation
        self._run, self._relation, self._new_only = run, relation.name, new_only
        self._name = name or "suggested_" + re.sub(r"\W", "_", relation.name)
        self._roles = relation.roles or tuple(f"position_{position}" for position in range(relation.arity))
        self._types = [None] * relation.arity if full_names else run.column_types(relation.name)
        self._forms = {position: self._form(position) for position in columns_of(question)}

    def _form(self, position: int) -> str:
        grouped = self._run.shown_values.columns(self._relation).get(position)
        if grouped is not None:
            return grouped.column_type.value_type if self._types[position] is not None else "text"
        allowed, known = self._run.allowed_entities(self._relation)[position], self._run.table(self._relation).columns
        every = range(len(self._run.entities)) if allowed is None else np.union1d(allowed, known[position]).tolist()
        return form_of((self._run.entities[one] for one in every), self._types[position])

    def table(self, block: AnswerBlock) -> Table:
        """Return the answers of a block as a table."""
        columns = self._entities(block)
        count, likely = len(block.ranks), block.probabilities
        own: list[tuple[str, str, Sequence[Value]]] = [
            ("rank", "whole", block.ranks.tolist()),
            ("score", "number", block.scores.tolist()),
            ("probability", "number", [None] * count if likely is None else likely.tolist()),
        ]
        if not self._new_only:
            parts = list(self._run.split.parts)
            own.append(("source", "text", [None if one < 0 else parts[one] for one in block.sources.tolist()]))
        for called, form, values in own:
            columns.append(Column(free_name(called, [column.name for column in columns]), form, values))
        return Table(self._name, tuple(columns), self._relation)

    def _entities(self, block: AnswerBlock) -> list[Column]:
        """Return the entities of a block as columns; what each is worth is worked out once where none is a value."""
        values = self._run.shown_values
        if values.columns(self._relation).keys() & self._forms.keys():
            facts = list(block.shown(self._run))
            return values.table_columns(self._relation, list(self._forms), self._roles, self._types, facts, self._forms)
        found = []
        for position, form in self._forms.items():
            different, which = np.unique(block.facts[position], return_inverse=True)
            names = [self._run.entities[one] for one in different.tolist()]
            worth = column_of(self._roles[position], names, self._types[position], [form]).values
            found.append(Column(self._roles[position], form, [worth[one] for one in which.tolist()]))
        return found
