"""A trained run: evaluate it, complete and score facts, ask it algebra; all it needs is in its directory."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from torch import Tensor

from relatum.algebra import Expression, Relation, evaluate, expanded, parse
from relatum.algebra.column_types import column_types_of
from relatum.arrays import Float64
from relatum.data.column_types import ColumnType
from relatum.data.hypergraph import Block, Hypergraph, Split, TupleTable
from relatum.data.known_answers import KnownAnswers
from relatum.data.schema import Schema
from relatum.errors import DataError, RelatumError, UnknownNameError
from relatum.inference.calibration import Calibration, Reliability, draw_sample, reliability
from relatum.inference.ranking import Ranks, rank
from relatum.models.base import Model, Parameters
from relatum.models.store import load_model
from relatum.progress import progress
from relatum.reasoning.closed_form import closed_form, extended, require_reale
from relatum.reasoning.explanation import Explanation
from relatum.reasoning.limit import Limit
from relatum.reasoning.query import Query, QueryAnswer, QueryResult, parse_query
from relatum.reasoning.reasoner import Reasoner
from relatum.runs.answers import Answer, FactScore, Question, parse_question
from relatum.runs.completion import complete, score
from relatum.runs.directory import SPEC, load_calibration, load_facts
from relatum.runs.expressions import BoundExpression, defined_schema, load_definitions, save_definitions, with_definition
from relatum.runs.prediction import Prediction, predict

__all__ = ["Run"]

_SECONDS = 5.0  # that a query may take, and the probabilities of facts of defined relations


class Run:
    """A trained model with its names and facts, loaded from a run directory."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        if not (self.folder / "config.json").exists() and (self.folder / SPEC).exists():
            raise RelatumError(
                f"{self.folder}: training has not ended yet; go on with: relatum train --resume {self.folder}"
            )
        self.model, self.parameters = load_model(self.folder)
        self.tables = self.model.encode(self.parameters)
        self.definitions = load_definitions(self.folder, self.model.schema)
        self._derivations: dict[str, Hypergraph] = {}

    @property
    def schema(self) -> Schema:
        """The relations that can be asked: those of the model, and behind them those that were defined."""
        return defined_schema(self.model.schema, self.definitions)

    @cached_property
    def split(self) -> Split:
        """The facts that the run was trained, validated and is tested on."""
        return load_facts(self.folder)

    @cached_property
    def known(self) -> KnownAnswers:
        """Everything known: train, valid and test."""
        return KnownAnswers(*self.split.parts.values())

    def evaluate(self, part: str = "test", *, raw: bool = False) -> Ranks:
        """Return how every position of every fact of a part ranks, filtered by all that is known, or raw."""
        facts = self._facts(part)
        return rank(self.model, self.parameters, facts, None if raw else self.known, self.split.train)

    @cached_property
    def calibration(self) -> Calibration | None:
        """What turns scores into probabilities, or None where there were no facts to fit it on."""
        return load_calibration(self.folder, len(self.model.schema))

    def reliability(self, part: str = "test") -> Reliability | None:
        """Return how far the probabilities of a part's facts, and of non-facts like them, can be trusted."""
        if self.calibration is None:
            return None
        facts = self._facts(part)
        return reliability(self.calibration, draw_sample(self.model, self.tables, facts, self.known, self.split.train))

    def complete(
        self, question: str | Question, k: int = 10, *, new_only: bool = False, beam: int | None = None
    ) -> list[Answer]:
        """Return the answers to a question: the k best that are known, then the k best that are not.

        Where the relation was a table, an entity stands only in a column of its kind. With several open positions all facts
        are tried where that takes no more than a minute; beyond, or if `beam` is given, partial facts are extended position
        by position, which may miss some of the best new ones.

        Args:
            question: such as `sold(drew, ?, book)` or `sold(drew, ?, ?)`.
            k: how many known answers, and how many new ones.
            new_only: leave out those that are known already.
            beam: how many partial facts are kept at each step.
        """
        asked = parse_question(question, self.schema) if isinstance(question, str) else question
        if asked.relation in self.definitions and asked.open and beam is None:
            return self._complete_defined(asked, k, new_only=new_only)
        return complete(self, asked, k, new_only=new_only, beam=beam)

    def _complete_defined(self, question: Question, k: int, *, new_only: bool) -> list[Answer]:
        """Return the best answers by the closed form of a defined relation, those that follow from facts first."""
        query = Query(self.definitions[question.relation], question.arguments)
        found = self.reasoner.answer(query, k, "closed", new_only=new_only, limit=Limit(_SECONDS))
        scale = require_reale(self.model).scale
        return [
            Answer(one.entities, scale * (one.closed or 0.0), one.probability, "derived" if one.known else None)
            for one in found.answers
        ]

    def score(self, fact: str | Question) -> FactScore:
        """Return what the run thinks of a fact."""
        return score(self, fact)

    def predict(
        self,
        relation: str,
        top: int = 1000,
        *,
        min_score: float | None = None,
        min_probability: float | None = None,
        exact: bool = False,
    ) -> list[Prediction]:
        """Return the best facts of a relation that are not known, best first.

        They are looked for around known facts: each differs from one of these in one entity. Where the relation was a table,
        an entity stands only in a column of its kind.

        Args:
            relation: its name; a defined relation will do.
            top: how many facts at most.
            min_score: the least score.
            min_probability: the least probability of those that are kept.
            exact: look at every fact that there could be, if there are not too many.
        """
        return predict(self, [relation], top, min_score=min_score, min_probability=min_probability, exact=exact)[relation]

    def __getitem__(self, name: str) -> BoundExpression:
        """Return a relation, stored or defined, to ask algebra of: `run["sold"].project(0).complete()`."""
        return BoundExpression(self, self._expression(self.schema[name].name))

    def query(
        self,
        query: str | Query,
        k: int = 10,
        mode: str = "exact",
        *,
        new_only: bool = False,
        seconds: float | None = _SECONDS,
    ) -> QueryResult:
        """Return the k best known answers to a query of relational algebra, and behind them the k best new ones.

        Args:
            query: such as `project[0](select[2 = coffee](sold))`, all of whose columns are open, or `(...)(drew, ?)`.
            k: how many answers.
            mode: rank by the meaning of the query on scores, `exact`, or by its `closed` form, one derived relation.
            new_only: leave out those that follow from what is known already.
            seconds: when to stop with the best that was found; None is no limit.
        """
        asked = self._query(query)
        with progress("looking for answers", 0 if seconds is None else int(1000 * seconds)) as advance:
            return self.reasoner.answer(
                asked, k, mode, new_only=new_only, limit=Limit(seconds, advance if seconds else None)
            )

    def explain(self, query: str | Query, answer: QueryAnswer) -> Explanation:
        """Return the value of each part of a query for one of its answers, and the windows that decided."""
        return self.reasoner.explain(self._query(query), answer, Limit(_SECONDS))

    def define(self, name: str, expression: str | Expression) -> None:
        """Add a derived relation to the run, without training: from now on it can be asked like any other."""
        found = parse(expression, self.schema) if isinstance(expression, str) else expression
        definitions = with_definition(self.definitions, name, found, self.model.schema)
        closed_form(definitions[name], self.model, self.tables)  # refuses what has none before anything is written
        save_definitions(self.folder, definitions)
        self.definitions = definitions
        self.__dict__.pop("asked", None)  # these know only the relations that there were
        self._derivations.clear()

    @property
    def facts(self) -> Hypergraph:
        """Everything known, and what follows from it by the definitions, over the relations that can be asked."""
        known = self._stored
        derived = [self._derived(name) for name in self.definitions]
        wider = Hypergraph(known.entities, self.schema, known.blocks.values())
        return Hypergraph.union([wider, *derived])

    def table(self, relation: str) -> TupleTable:
        """Return the facts of a relation: those known, or those that follow by its definition."""
        return (self._derived(relation) if relation in self.definitions else self._stored).table(relation)

    def column_types(self, relation: str) -> tuple[ColumnType | None, ...]:
        """Return what the entities at each position of a relation are; None where it was not made from tables."""
        return column_types_of(self._expression(relation), self.split.column_types)

    @cached_property
    def reasoner(self) -> Reasoner:
        """What answers queries, over the stored relations."""
        return Reasoner(self.model, self.tables, self.calibration, self._stored, self.split.column_types)

    @cached_property
    def _stored(self) -> Hypergraph:
        """The facts of all parts together."""
        return Hypergraph.union(list(self.split.parts.values()))

    @cached_property
    def asked(self) -> tuple[Model, Parameters]:
        """The model and its tables with a relation more for each definition."""
        if not self.definitions:
            return self.model, self.tables
        forms = {
            schema: closed_form(self.definitions[schema.name], self.model, self.tables).form
            for schema in list(self.schema)[len(self.model.schema) :]
        }
        return extended(require_reale(self.model), self.tables, forms)

    def _query(self, query: str | Query) -> Query:
        """Return a query over stored relations alone."""
        found = parse_query(query, self.schema) if isinstance(query, str) else query
        return Query(expanded(found.expression, self.definitions), found.arguments)

    def _expression(self, relation: str) -> Expression:
        """Return what a relation stands for: itself, or what defines it."""
        return self.definitions.get(relation) or Relation(self.schema[relation])

    def _facts(self, part: str) -> Hypergraph:
        if part not in self.split.parts:
            raise UnknownNameError("split", part, self.split.parts)
        facts = self.split.parts[part]
        if not len(facts):
            raise DataError(f"{self.folder}: there are no {part} facts")
        return facts

    def probabilities(self, relation: str, columns: Tensor, scores: Float64) -> Float64 | None:
        """Return how probable facts, int64[arity, n], are: by scores, or by what the relation's definition means."""
        if self.calibration is None:
            return None
        if relation not in self.definitions:
            return self.calibration.probability(self.model.schema.id(relation), scores)
        return self.reasoner.probability(self.definitions[relation], columns, Limit(_SECONDS))

    def known_of(self, relation: str) -> KnownAnswers:
        """Return what is known of a relation: its facts, or what follows from facts by its definition."""
        return KnownAnswers(self._derived(relation)) if relation in self.definitions else self.known

    def _derived(self, relation: str) -> Hypergraph:
        """Return the facts that follow by definition; they are worked out once."""
        if relation not in self._derivations:
            columns = evaluate(self.definitions[relation], self._stored).columns
            relations = np.full(columns.shape[1], self.schema.id(relation), np.int32)
            facts = Hypergraph(self.model.graph.entities, self.schema, [Block(relations, columns)])
            self._derivations[relation] = facts
        return self._derivations[relation]
