"""Relational algebra on a trained model: by closed forms with their bounds, or exactly on scores, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from relatum.algebra.evaluation import evaluate
from relatum.algebra.expression import Expression, Relation
from relatum.algebra.lexer import as_written, write_arguments
from relatum.arrays import Float64
from relatum.data.column_types import ColumnTypes
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids
from relatum.errors import SettingError, UnknownNameError
from relatum.inference.calibration import Calibration
from relatum.models.base import Model, Parameters
from relatum.models.combine import SIGMAS
from relatum.reasoning.bounds import ComparableScores, PlanValues
from relatum.reasoning.closed_form import Bound, ClosedForm, Form, closed_form, extended, require_reale
from relatum.reasoning.plan import (
    AndNot,
    Atom,
    Exists,
    Max,
    Plan,
    as_atom,
    parts_of,
    plan_of,
    projected_variables,
    ranges_of,
)
from relatum.reasoning.query import Query, QueryAnswer, QueryResult
from relatum.reasoning.search import Best, best, best_of, evaluate_plan
from relatum.settings import whole_number
from relatum.time_limit import Deadline

MODES = ("exact", "closed")

_WINDOWS = 3  # of a fact that an explanation shows
_KNOWN_SHARE, _NEW_SHARE = 0.4, 0.8  # of the time that is left: for known answers, then for new ones


@dataclass(frozen=True)
class Window:
    """A window that speaks for a fact: its value, and its mean over all entities at the last variable."""

    number: int
    value: float
    usual: float


@dataclass(frozen=True)
class Explanation:
    """What one part of a query is worth for an answer."""

    text: str  # the part: a fact, or an operation and what it is applied to
    truth: float  # its probability, or its degree of truth where the run is not calibrated
    windows: tuple[Window, ...]  # for a fact, the windows in which it stands out most
    parts: tuple[Explanation, ...]  # what the value follows from

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yield the explanation line by line, parts below and to the right of what they explain."""
        windows = "".join(f"; window {one.number}: {one.value:.2f}, usually {one.usual:.2f}" for one in self.windows)
        yield f"{'  ' * depth}{self.truth:.3f}  {self.text}{windows}"
        for part in self.parts:
            yield from part.lines(depth + 1)

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        windows = [{"window": one.number, "value": one.value, "usual": one.usual} for one in self.windows]
        return {
            "text": self.text,
            "truth": self.truth,
            **({"windows": windows} if windows else {}),
            **({"parts": [part.to_json() for part in self.parts]} if self.parts else {}),
        }


class Reasoner:
    """Answers queries over the relations of one model.

    Args:
        model: a ReAlE.
        tables: what `model.encode` gave.
        calibration: what makes scores of different relations comparable; without one they are compared as they are.
        facts: everything known.
        column types: what the entities in the columns of relations are: others are no answers, nor looked for.
    """

    def __init__(
        self,
        model: Model,
        tables: Parameters,
        calibration: Calibration | None,
        facts: Hypergraph,
        column_types: ColumnTypes | None = None,
    ) -> None:
        self.model, self.tables, self.facts, self.column_types = require_reale(model), tables, facts, column_types or {}
        self._plain = ComparableScores(self.model)
        self._calibrated = ComparableScores(self.model, calibration) if calibration else None

    def answer(
        self,
        query: Query,
        k: int = 10,
        mode: str = "exact",
        *,
        new_only: bool = False,
        limit: Deadline | None = None,
    ) -> QueryResult:
        """Return the k best known answers and the k best new ones, ranked by the exact value or by the closed form.

        A query without an open column has one answer: how true the tuple is. Where the limit is reached, the answers are
        the best that were found.
        """
        k = whole_number("k", k)
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
        limit, node = limit or Deadline(), self.plan(query.expression)
        values = self._values(query.expression, node)
        form = self._form(query.expression, required=mode == "closed")
        closed = None if form is None else _Closed(self.model, self.tables, form.form, values.ranges)
        by_closed = closed is not None and mode == "closed"
        ranked_values, ranked_plan = (closed.values, closed.node) if closed is not None and by_closed else (values, node)
        columns, known = _with_projected(node, self._ids(query)), self._known(query)
        found: list[tuple[Best, bool]] = []
        if not query.open:
            found.append((best_of(ranked_values, ranked_plan, columns, 1, limit), bool(known.shape[1])))
        else:
            if known.shape[1] and not new_only:
                there = _with_projected(node, torch.from_numpy(known.astype(np.int64)))
                found.append((best_of(ranked_values, ranked_plan, there, k, limit.part(_KNOWN_SHARE)), True))
            excluded = set(map(tuple, known[query.open].T.tolist()))
            found.append((best(ranked_values, ranked_plan, columns, query.open, k, excluded, limit.part(_NEW_SHARE)), False))
        answers = [
            answer
            for ranked, known_too in found
            for answer in self._answers(query, values, node, closed, ranked, limit, known=known_too, filled=not by_closed)
        ]
        return QueryResult(
            query,
            mode,
            Bound.NONE if form is None else form.bound,
            all(ranked.proven for ranked, _ in found),
            limit.stopped,
            answers,
        )

    def probability(self, expression: Expression, tuples: Tensor, limit: Deadline | None = None) -> Float64 | None:
        """Return the probabilities of tuples, int64[arity, n], by the exact value; None without a calibration."""
        if self._calibrated is None:
            return None
        node = self.plan(expression)
        values = self._values(expression, node)
        return self._calibrated.probability(evaluate_plan(values, node, _with_projected(node, tuples), limit))

    def explain(self, query: Query, answer: QueryAnswer, limit: Deadline | None = None) -> Explanation:
        """Return the value of each part of a query for an answer, and the windows that decided."""
        node = self.plan(query.expression)
        ids = self._ids(query)
        ids[query.open, 0] = torch.tensor(
            [self.model.graph.entities.id(name) for name in answer.entities], dtype=torch.int64
        )
        return _explained(self._values(query.expression, node), node, _with_projected(node, ids), limit)

    def plan(self, expression: Expression) -> Plan:
        """Return the plan of an expression, or refuse one that this model cannot evaluate."""
        node = plan_of(expression)
        if any(isinstance(part, AndNot) for part in parts_of(node)):
            (self._calibrated or self._plain).require_complement()
        return node

    def _values(self, expression: Expression, node: Plan) -> PlanValues:
        ranges = ranges_of(expression, node, self.column_types, self.model.graph.entities)
        return PlanValues(self.model, self.tables, self._calibrated or self._plain, ranges, self.facts)

    def _form(self, expression: Expression, *, required: bool) -> ClosedForm | None:
        """Return the closed form; None where there is none, and the exact value needs none."""
        try:
            return closed_form(expression, self.model, self.tables)
        except SettingError:
            if required:
                raise
            return None

    def _answers(
        self,
        query: Query,
        values: PlanValues,
        node: Plan,
        closed: _Closed | None,
        ranked: Best,
        limit: Deadline,
        *,
        known: bool,
        filled: bool,
    ) -> list[QueryAnswer]:
        """Return ranked assignments as answers; where they are `filled`, what is projected away is assigned too."""
        tuples, names = ranked.columns[: query.expression.arity], self.model.graph.entities
        one, columns = as_atom(node), _with_projected(node, tuples)
        if filled and one is not None:
            node, columns = one[0], ranked.columns
        count = tuples.shape[1]
        probabilities: list[float | None] = [None] * count
        if self._calibrated is not None:
            probabilities = self._calibrated.probability(evaluate_plan(values, node, columns, limit)).tolist()
        degrees = self._plain.probability(
            evaluate_plan(replace(values, comparable=self._plain), node, columns, limit)
        ).tolist()
        entities = [tuple(names[entity] for entity in each) for each in tuples[query.open].T.tolist()]
        closed_degrees: list[float | None] = [None] * count if closed is None else closed.degrees(tuples).tolist()
        proven = (ranked.logits >= ranked.missed).tolist()
        return [
            QueryAnswer(*row[:-1], known, row[-1])
            for row in zip(entities, probabilities, degrees, closed_degrees, proven, strict=True)
        ]

    def _ids(self, query: Query) -> Tensor:
        """Return the given entities of a query, int64[arity, 1]; an open column holds 0, which is not looked at."""
        names = self.model.graph.entities
        return torch.tensor([[0 if name is None else names.id(name)] for name in query.arguments], dtype=torch.int64)

    def _known(self, query: Query) -> Ids:
        """Return the tuples that follow exactly from facts and agree with what is given, int32[arity, n]."""
        columns = evaluate(query.expression, self.facts).columns
        for position, name in enumerate(query.arguments):
            if name is not None:
                columns = columns[:, columns[position] == self.facts.entities.id(name)]
        return columns


class _Closed:
    """An expression as one more relation of the model, with the parameters of its closed form."""

    def __init__(self, model: Model, tables: Parameters, form: Form, ranges: Mapping[int, Tensor]) -> None:
        free = "query"
        while free in model.schema:
            free += "'"
        schema = RelationSchema(free, len(form.weights))
        model, tables = extended(require_reale(model), tables, {schema: form})
        self.node = Atom(Relation(schema), tuple(range(schema.arity)))
        self.values = PlanValues(model, tables, ComparableScores(model), ranges)

    def degrees(self, tuples: Tensor) -> Float64:
        return self.values.comparable.probability(evaluate_plan(self.values, self.node, tuples))


def _with_projected(node: Plan, tuples: Tensor) -> Tensor:
    """Return tuples with rows for the variables that a plan ranges over by itself."""
    rows = 1 + max([len(tuples) - 1, *projected_variables(node)])
    columns = torch.zeros(rows, tuples.shape[1], dtype=torch.int64)
    columns[: len(tuples)] = tuples
    return columns


@torch.no_grad()
def _explained(values: PlanValues, node: Plan, columns: Tensor, limit: Deadline | None = None) -> Explanation:
    """Return why a plan has its value for one assignment, int64[variables, 1]; by the limit, as far as was found."""
    limit = limit or Deadline()
    truth = float(values.comparable.probability(evaluate_plan(values, node, columns, limit))[0])
    if isinstance(node, Atom):
        return Explanation(_fact(values, node, columns), truth, _windows(values, node, columns), ())
    if isinstance(node, Exists):
        found = best(values, node.part, columns, node.variables, 1, (), limit).columns
        names = ", ".join(values.model.graph.entities[int(found[variable, 0])] for variable in node.variables)
        return Explanation(f"project: the best is with {names}", truth, (), (_explained(values, node.part, found, limit),))
    text = "union: the larger of" if isinstance(node, Max) else "difference: the smaller of the first and 1 - the second"
    return Explanation(text, truth, (), tuple(_explained(values, part, columns, limit) for part in (node.left, node.right)))


def _fact(values: PlanValues, atom: Atom, columns: Tensor) -> str:
    names = values.model.graph.entities
    arguments = (names[int(columns[term, 0])] if isinstance(term, int) else term for term in atom.arguments)
    return as_written(atom.expression.name) + write_arguments(tuple(arguments))


def _windows(values: PlanValues, atom: Atom, columns: Tensor) -> tuple[Window, ...]:
    last = atom.variables[-1] if atom.variables else None
    if last is None:
        return ()
    sigma = SIGMAS[values.model.settings.sigma]
    queries, _ = values.query_vectors(atom, columns, atom.variables, last)
    candidates = values.candidate_vectors(atom, last)
    here = sigma(values.given_vectors(atom, columns, atom.variables))[0]
    usual = sigma(queries + candidates).mean(0)
    chosen = torch.argsort(here - usual, descending=True, stable=True)[:_WINDOWS].tolist()
    return tuple(Window(window, float(here[window]), float(usual[window])) for window in chosen)
