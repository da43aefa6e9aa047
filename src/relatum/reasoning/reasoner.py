"""Relational algebra asked of a trained model: by closed forms with their bounds, or exactly on scores."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from relatum.algebra.expression import Expression, Relation
from relatum.algebra.tables import evaluate
from relatum.data.hypergraph import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.data.vocabulary import Ids
from relatum.errors import UnknownNameError
from relatum.evaluation.calibration import Calibration
from relatum.models.base import Model, Parameters
from relatum.reasoning.closed_form import Form, closed_form, require_reale
from relatum.reasoning.explanation import Explanation, explain
from relatum.reasoning.extension import extended
from relatum.reasoning.heights import Floats, Heights
from relatum.reasoning.meaning import Atom, Less, Meaning, Some, meaning_of, most_projected, projected
from relatum.reasoning.query import Query, QueryAnswer, QueryResult
from relatum.reasoning.search import Best, best, exact
from relatum.reasoning.values import Values

__all__ = ["MODES", "Reasoner"]

MODES = ("exact", "closed")

_QUICK = 1e8  # fillings of what a projection drops that may be tried for each answer of a closed form


class Reasoner:
    """Answers queries over the relations of one model.

    Args:
        model: a ReAlE.
        tables: what `model.encode` gave.
        calibration: what makes scores of different relations comparable; without one they are compared as they are.
        facts: everything known.
    """

    def __init__(self, model: Model, tables: Parameters, calibration: Calibration | None, facts: Hypergraph) -> None:
        self.model, self.tables, self.facts = require_reale(model), tables, facts
        self._plain = Values(self.model, tables, Heights(self.model))
        self._calibrated = Values(self.model, tables, Heights(self.model, calibration)) if calibration else None

    @cached_property
    def _ranked_by(self) -> Values:
        return self._calibrated or self._plain

    def answer(self, query: Query, k: int = 10, mode: str = "exact", *, new_only: bool = False) -> QueryResult:
        """Return the k best answers to a query, by the exact reading or by the closed form.

        A query without an open column has one answer: how true the tuple is.
        """
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
        node = self.meaning(query.expression)
        form = closed_form(query.expression, self.model, self.tables)
        closed = _Closed(self.model, self.tables, form.form)
        known = self._known(query)
        wanted = k + (known.shape[1] if new_only else 0)
        ranked = closed.best(query, self._ids(query), wanted) if mode == "closed" else self._exactly(node, query, wanted)
        tuples = ranked.columns[: query.expression.arity]
        there = _contained(tuples, known)
        if new_only:
            chosen = torch.from_numpy(np.flatnonzero(~there)[:k])
            tuples, there = tuples[:, chosen], there[chosen.numpy()]
        answers = self._answers(query, node, closed, tuples, there, quick=mode == "closed")
        return QueryResult(query, mode, form.bound, ranked.proven, answers)

    def probability(self, expression: Expression, tuples: Tensor) -> Floats | None:
        """Return the probabilities of tuples, int64[arity, n], by the exact reading; None without a calibration."""
        if self._calibrated is None:
            return None
        node = self.meaning(expression)
        return self._calibrated.heights.truth(exact(self._calibrated, node, _room(node, tuples)))

    def explain(self, query: Query, answer: QueryAnswer) -> Explanation:
        """Return the value of each part of a query for an answer, and the windows that decided."""
        node = self.meaning(query.expression)
        ids = self._ids(query)
        ids[query.open, 0] = torch.tensor(
            [self.model.graph.entities.id(name) for name in answer.entities], dtype=torch.int64
        )
        return explain(self._ranked_by, node, _room(node, ids))

    def meaning(self, expression: Expression) -> Meaning:
        """Return the meaning of an expression, or refuse one that has none on this model."""
        node = meaning_of(expression)
        if _takes_away(node):
            self._ranked_by.heights.require_complement()
        return node

    def _exactly(self, node: Meaning, query: Query, k: int) -> Best:
        columns = _room(node, self._ids(query))
        if not query.open:
            return Best(columns, exact(self._ranked_by, node, columns))
        return best(self._ranked_by, node, columns, query.open, k)

    def _answers(
        self, query: Query, node: Meaning, closed: _Closed, tuples: Tensor, known: Ids, *, quick: bool
    ) -> list[QueryAnswer]:
        count, names = tuples.shape[1], self.model.graph.entities
        degrees: list[float | None] = [None] * count
        probabilities: list[float | None] = [None] * count
        if count and not (quick and self._takes_long(node)):
            columns = _room(node, tuples)
            degrees = self._plain.heights.truth(exact(self._plain, node, columns)).tolist()
            if self._calibrated is not None:
                probabilities = self._calibrated.heights.truth(exact(self._calibrated, node, columns)).tolist()
        entities = [tuple(names[entity] for entity in one) for one in tuples[query.open].T.tolist()]
        said = closed.degrees(tuples).tolist()
        rows = zip(entities, probabilities, degrees, said, known.tolist(), strict=True)
        return [QueryAnswer(*row) for row in rows]

    def _takes_long(self, node: Meaning) -> bool:
        return float(self.model.entity_count) ** most_projected(node) > _QUICK

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

    def __init__(self, model: Model, tables: Parameters, form: Form) -> None:
        free = "query"
        while free in model.schema:
            free += "'"
        schema = RelationSchema(free, len(form.weights))
        model, tables = extended(require_reale(model), tables, {schema: form})
        self.node = Atom(Relation(schema), tuple(range(schema.arity)))
        self.values = Values(model, tables, Heights(model))

    def best(self, query: Query, columns: Tensor, k: int) -> Best:
        if not query.open:
            return Best(columns, exact(self.values, self.node, columns))
        return best(self.values, self.node, columns, query.open, k)

    def degrees(self, tuples: Tensor) -> Floats:
        return self.values.heights.truth(exact(self.values, self.node, tuples))


def _room(node: Meaning, tuples: Tensor) -> Tensor:
    """Return tuples with rows for the variables that a meaning ranges over by itself."""
    rows = 1 + max([len(tuples) - 1, *projected(node)])
    columns = torch.zeros(rows, tuples.shape[1], dtype=torch.int64)
    columns[: len(tuples)] = tuples
    return columns


def _contained(tuples: Tensor, known: Ids) -> Ids:
    """Return whether each tuple is among the known ones."""
    rows = set(map(tuple, known.T.tolist())) if tuples.shape[1] else set()
    return np.array([tuple(one) in rows for one in tuples.T.tolist()], np.bool_)


def _takes_away(node: Meaning) -> bool:
    if isinstance(node, Atom):
        return False
    if isinstance(node, Some):
        return _takes_away(node.part)
    return isinstance(node, Less) or _takes_away(node.left) or _takes_away(node.right)
