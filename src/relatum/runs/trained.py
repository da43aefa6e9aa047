"""A trained model with its names, facts, calibration and definitions: what every question is asked of."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np
from torch import Tensor

from relatum.algebra import Expression, Filter, Relation, SelectConstant, evaluate, expanded, parse
from relatum.algebra.column_types import column_types_of
from relatum.algebra.expression import rebuilt
from relatum.arrays import Float64
from relatum.closed_folders import close_folder
from relatum.data.column_types import ColumnType, entity_types
from relatum.data.hypergraph import Block, Hypergraph, Split, TupleTable
from relatum.data.keyed_answers import KeyedAnswers, Keys, free_entities
from relatum.data.known_answers import KnownAnswers
from relatum.data.labels import Labels, named_entity
from relatum.data.quality import in_train
from relatum.data.schema import RelationSchema, Schema
from relatum.data.vocabulary import Ids, Vocabulary
from relatum.errors import DataError, RelatumError, RelatumWarning, UnknownNameError
from relatum.evidence.evidence import Evidence
from relatum.evidence.mining import mine
from relatum.imputation.answers import Scores
from relatum.imputation.models import ColumnModels
from relatum.inference.answer_calibration import AnswerCalibration
from relatum.inference.answer_sets import AnswerSets
from relatum.inference.calibration import Calibration
from relatum.inference.evaluation import Evaluation
from relatum.inference.new_fact_calibration import NewFactCalibration
from relatum.inference.ranking import rank
from relatum.inference.scoring import CandidateScorer, CandidateSides
from relatum.models.base import Model, Parameters
from relatum.models.store import load_model
from relatum.progress import progress
from relatum.reasoning.closed_form import closed_form, extended, require_reale
from relatum.reasoning.query import Query, QueryResult, parse_query
from relatum.reasoning.reasoner import Reasoner
from relatum.runs.answers import Question
from relatum.runs.column_scores import cells_of_entities, embedding_scores
from relatum.runs.definitions import defined_schema, definitions_held, load_definitions, save_definitions, with_definition
from relatum.runs.directory import JOURNAL, SPEC, load_facts, load_fitted, read_environment, why_no_run
from relatum.runs.journal import Journal, TrainingHistory, history_of, read_history
from relatum.runs.shown_values import ShownValues, beside
from relatum.runs.spec import Spec
from relatum.runs.validated import Validated, answer_sets_of
from relatum.time_limit import Deadline, TimeOverError, check_time, held, is_hurried
from relatum.workers.ranking import scorer_of_group

Kept = TypeVar("Kept")
Kind = TypeVar("Kind", bound="Trained")  # how a run is made of others: it stays what it was

SECONDS = 5.0  # that a query may take, and the probabilities of facts of defined relations

_LOOK = 0.05  # seconds between two looks at what is worked out elsewhere


class Trained:
    """A trained model and all that belongs to it, in memory or kept in a run directory.

    Args:
        model: the model.
        parameters: its best parameters.
        folder: where the run is kept; None in memory. What is not given is read from there when it is needed.
        spec: what it was made from.
        split: the facts that it was trained, validated and is tested on.
        validated: what was fitted on validation facts.
        definitions: the relations that were defined on it.
        events: what the journal of training says.
        environment: what it was trained on and with, and the updates since.
    """

    def __init__(
        self,
        model: Model,
        parameters: Parameters,
        *,
        folder: Path | None = None,
        spec: Spec | None = None,
        split: Split | None = None,
        validated: Validated | None = None,
        definitions: Mapping[str, Expression] | None = None,
        events: list[dict[str, Any]] | None = None,
        environment: dict[str, Any] | None = None,
    ) -> None:
        self.model, self.parameters, self.folder = model, parameters, folder
        self.tables = model.encode(parameters)
        if folder is None:
            vars(self).update((validated or Validated())._asdict())
        own = {"spec": spec, "split": split, "events": events, "environment": environment}
        vars(self).update((name, value) for name, value in own.items() if value is not None)
        self._remembered: dict[str, object] = {}
        self._remembering: dict[str, threading.RLock] = {}
        self._postponed: set[str] = set()
        self.later: Callable[[Callable[[], None]], None] | None = None  # where there is somebody to work beside requests
        self.definitions: dict[str, Expression] = {}
        self._extended: tuple[Model, Parameters] | None = None
        self._derivations: dict[str, Hypergraph] = {}
        self.candidate_sides: CandidateSides
        self._set_definitions(dict(definitions or {}))

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Return the run that is kept in a directory."""
        path = Path(folder)
        close_folder(path)
        if not (path / "config.json").exists():
            raise RelatumError("not-a-run", why_no_run(path), place=path)
        model, parameters = load_model(path)
        return cls(model, parameters, folder=path, definitions=load_definitions(path, model.schema))

    @cached_property
    def spec(self) -> Spec:
        """What the run was made from."""
        return Spec.of_run(self._kept / SPEC)

    @cached_property
    def split(self) -> Split:
        """The facts that the run was trained, validated and is tested on."""
        split = load_facts(self._kept)
        if split.entities != self.entities or _arities(split.schema) != _arities(self.model.schema):
            raise RelatumError(
                "parts-of-two-runs",
                "its facts are about other entities or relations than its model",
                place=self.name,
                remedy="put its own back",
            )
        return split

    def ready(self) -> None:
        """Load what all answers rest on, which is else done when it is needed: no limit of time counts that."""
        _ = self.split, self.validated, self.stored, self.known

    @cached_property
    def training_facts(self) -> Hypergraph:
        """The facts that the model has learned, and that evidence is read from."""
        return self.split.trained_on(self.spec.training.refit)

    @cached_property
    def calibration(self) -> Calibration | None:
        """What turns scores into probabilities, or None where there were no facts to fit it on."""
        return load_fitted(self._kept, "calibration.json", Calibration, schema=self.model.schema)

    @cached_property
    def answer_calibration(self) -> AnswerCalibration | None:
        """What turns scores into probabilities of answers, or None where there were no facts to fit it on."""
        return load_fitted(
            self._kept,
            "answer_calibration.json",
            AnswerCalibration,
            starts=self.model.schema.starts,
            positions=int(self.model.schema.starts[-1]),
        )

    @cached_property
    def new_fact_calibration(self) -> NewFactCalibration | None:
        """What turns probabilities of answers into those of facts that are not known, or None where it was not fitted."""
        return load_fitted(self._kept, "new_fact_calibration.json", NewFactCalibration, schema=self.model.schema)

    @cached_property
    def evidence(self) -> Evidence | None:
        """What soft rules say beside the model, or None where none were looked for (`training.evidence`)."""
        return load_fitted(self._kept, "evidence.json", Evidence, facts=self.training_facts)

    @cached_property
    def columns(self) -> ColumnModels | None:
        """What fills the cells of tables, or None where the data was not imported from tables."""
        rows = self.split.rows
        return None if rows is None else load_fitted(self._kept, "columns.json", ColumnModels, store=rows)

    @cached_property
    def answer_sets(self) -> AnswerSets | None:
        """What sets of answers go by, as it was fitted when the run was trained, or None where it was not."""
        return load_fitted(self._kept, "answer_sets.json", AnswerSets, schema=self.model.schema)

    @cached_property
    def answer_sets_by_facts(self) -> AnswerSets | None:
        """What sets of answers go by: as it was fitted, or else, as after an update, from its facts."""
        if self.answer_sets is not None:
            return self.answer_sets
        names = self.model.schema.names
        return answer_sets_of(
            lambda relation, known: self.scorer(names[relation], known), self.split, self.answer_calibration
        )

    @cached_property
    def cell_scores(self) -> Scores | None:
        """What the embedding says about the cells of tables, or None where there are none."""
        return None if self.split.rows is None else embedding_scores(self.model, self.tables, self.split.rows)

    @cached_property
    def entity_cells(self) -> Ids:
        """What each entity is called in the cells of tables, int32[entities]; empty where there are none."""
        return np.empty(0, np.int32) if self.split.rows is None else cells_of_entities(self.entities, self.split.rows)

    @property
    def validated(self) -> Validated:
        """All that was fitted on validation facts."""
        return Validated(*(getattr(self, name) for name in Validated._fields))

    @cached_property
    def rules_of_facts(self) -> Evidence:
        """The evidence of the run, or, where it has none, what rules its training facts have."""
        return Evidence(self.training_facts, mine(self.training_facts)) if self.evidence is None else self.evidence

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """What the journal says: the records of training, one after the other."""
        return Journal(self._kept / JOURNAL).read()

    @cached_property
    def environment(self) -> dict[str, Any]:
        """What the run was trained on and with, and the updates since."""
        return read_environment(self._kept)

    @property
    def history(self) -> TrainingHistory:
        """How training went: losses, validations, time."""
        return read_history(self.folder / JOURNAL) if self.folder is not None else history_of(self.events)

    @property
    def name(self) -> str:
        """How errors call the run: its directory, or its data."""
        return str(self.folder) if self.folder is not None else self.spec.data

    @property
    def entities(self) -> Vocabulary:
        """The names of all entities."""
        return self.model.graph.entities

    @property
    def schema(self) -> Schema:
        """The relations that can be asked: those of the model, and behind them those that were defined."""
        return defined_schema(self.model.schema, self.definitions) if self.definitions else self.model.schema

    @cached_property
    def known(self) -> KnownAnswers:
        """Everything known: train, valid and test."""
        return KnownAnswers(*self.split.parts.values())

    @cached_property
    def known_in_training(self) -> KnownAnswers:
        """What the training facts say."""
        return KnownAnswers(self.split.train)

    def facts_of(self, part: str) -> Hypergraph:
        """Return the facts of a split part; there must be some."""
        if part not in self.split.parts:
            raise UnknownNameError("split part", part, self.split.parts)
        facts = self.split.parts[part]
        if not len(facts):
            raise DataError("empty-part", f"there are no {part} facts", place=self.name)
        return facts

    def evaluate(self, part: str = "test", *, raw: bool = False) -> Evaluation:
        """Return how every position of every fact of a split part ranks, filtered by all that is known, or raw."""
        facts, split = self.facts_of(part), self.split
        if part == "valid" and self.spec.training.refit:
            warnings.warn(
                "the model was refitted on the valid facts: how they rank says little", RelatumWarning, stacklevel=2
            )
        known, evidence = None if raw else self.known, self.evidence
        scorer = scorer_of_group(self.model, self.parameters)
        ranks = rank(self.model, self.parameters, facts, known, split.train, scorer=scorer)
        trained_on = None if part == "train" else in_train(split, part)
        found = Evaluation(part, raw, ranks, self.model.schema, split.derivations, split.train, in_train=trained_on)
        if evidence is None:
            return found
        both = rank(self.model, self.parameters, facts, known, split.train, evidence, scorer)
        return replace(found, ranks=both, embedding=ranks, evidence=evidence.ranks(facts, known))

    def query(
        self,
        query: str | Query,
        k: int = 10,
        mode: str = "exact",
        *,
        new_only: bool = False,
        seconds: float | None = SECONDS,
    ) -> QueryResult:
        """Return the k best known answers to a query of relational algebra, and behind them the k best new ones.

        Args:
            query: such as `project[0](select[2 = coffee](sold))`, all of whose columns are open, or `(...)(drew, ?)`.
            k: how many known answers, and how many new ones.
            mode: rank by the exact value of the query on scores, `exact`, or by its `closed` form, one derived relation.
            new_only: leave out those that follow from what is known already.
            seconds: when to stop with the best that was found; None is no limit.
        """
        self.ready()
        with (
            progress("looking for answers", 0 if seconds is None else int(1000 * seconds)) as advance,
            Deadline(seconds, advance if seconds else None) as limit,
        ):
            return self.reasoner.answer(self.parsed(query), k, mode, new_only=new_only, limit=limit)

    def parsed(self, query: str | Query) -> Query:
        """Return a query over stored relations alone, whose names are those of entities."""
        found = parse_query(query, self.schema) if isinstance(query, str) else query
        expression = self._with_entities(expanded(found.expression, self.definitions))
        arguments = enumerate(found.arguments)
        return Query(
            expression, tuple(None if name is None else self._entity(expression, column, name) for column, name in arguments)
        )

    def define(self, name: str, expression: str | Expression) -> None:
        """Add a derived relation to the run, without training: from now on it can be asked like any other."""
        with nullcontext() if self.folder is None else definitions_held(self.folder):
            if self.folder is not None:  # what others have defined meanwhile must not be lost
                self._set_definitions(load_definitions(self.folder, self.model.schema))
            parsed = parse(expression, self.schema) if isinstance(expression, str) else expression
            definitions = with_definition(self.definitions, name, self._with_entities(parsed), self.model.schema)
            closed_form(definitions[name], self.model, self.tables)  # refuses what has none before anything is written
            if self.folder is not None:
                save_definitions(self.folder, definitions)
            self._set_definitions(definitions)

    @property
    def facts(self) -> Hypergraph:
        """Everything known, and what follows from it by the definitions, over the relations that can be asked."""
        known = self.stored
        derived = [self._derived(name) for name in self.definitions]
        wider = Hypergraph(known.entities, self.schema, known.blocks.values())
        return Hypergraph.union([wider, *derived])

    def table(self, relation: str) -> TupleTable:
        """Return the facts of a relation: those known, or those that follow by its definition."""
        return (self._derived(relation) if relation in self.definitions else self.stored).table(relation)

    def column_types(self, relation: str) -> tuple[ColumnType | None, ...]:
        """Return what the entities at each position of a relation are; None where it was not made from tables."""
        if relation in self.definitions:
            return column_types_of(self.definitions[relation], self.split.column_types)
        return self.split.column_types.get(relation, (None,) * self.schema[relation].arity)

    @cached_property
    def shown_values(self) -> ShownValues:
        """The numbers and dates of tables as people see them, where learning takes them in groups."""
        return ShownValues(self.split.rows, self.entities, self.model.schema, lambda: self.entity_cells)

    def argument_id(self, relation: RelationSchema, position: int, name: str) -> int:
        """Return the id of the entity that a name means at a position: as of `entity_id`, or a number or a date."""
        group = self.shown_values.entity(relation.name, position, name)
        if group is not None:
            return self.entities.id(group)
        column = relation.roles[position] if relation.roles else f"position {position}"
        return self.entity_id(name, self.column_types(relation.name)[position], column)

    def entity_id(self, name: str, column_type: ColumnType | None = None, column: str | None = None) -> int:
        """Return the id of the entity that a name means, in a column: a whole name, or a value or label of one entity."""
        if column is None and (grouped := self.shown_values.named(name)) is not None:
            name = self.shown_values.entity_in(grouped, name) or name
        if column_type is None or column_type.entity_type is None:
            return named_entity(name, self.entities, self.labels, self.entity_types)
        return named_entity(name, self.entities, self.labels, [column_type.entity_type], column)

    @cached_property
    def entity_types(self) -> tuple[str, ...]:
        """The types that entities have, the longest first."""
        return entity_types(self.split.column_types)

    @cached_property
    def labels(self) -> Labels:
        """What people call the entities that are rows of tables."""
        return Labels(self.split.rows)

    def shown(
        self,
        relation: str,
        entities: Sequence[str],
        positions: Iterable[int] | None = None,
        intervals: Sequence[str | None] = (),
        *,
        known: bool = False,
    ) -> tuple[str, ...]:
        """Return entities as people read them below the name of their column: `Rock (1)` for `Genre:1`, 17 for `items:17`.

        `positions` are theirs, by default all of the relation's in order; `intervals` stand beside values of a fact, `known`
        or predicted.
        """
        types, named = self.column_types(relation), bool(self.schema[relation].roles)
        listed = range(len(types)) if positions is None else positions
        texts = (self._shown(name, types[position], named) for name, position in zip(entities, listed, strict=True))
        between = intervals or (None,) * len(entities)
        return tuple(beside(text, one, is_known=known) for text, one in zip(texts, between, strict=True))

    def shown_entity(self, name: str) -> str:
        """Return an entity that is a row as people read it: `Rock (1)` for `Genre:1`."""
        types = (one for one in self.entity_types if name.startswith(f"{one}:"))
        return self._shown(name, ColumnType(next(types, None)), named=True)

    def _shown(self, name: str, column_type: ColumnType | None, named: bool) -> str:
        value = name.removeprefix(column_type.prefix) if named and column_type is not None else name
        label = self.labels.of(name)
        return value if label is None or label == value else f"{label} ({value})"

    def entities_of(self, question: Question) -> Ids:
        """Return the entities of a question, int32[arity, 1]; where it has none this holds 0, which is not looked at."""
        relation, arguments = self.schema[question.relation], question.arguments
        if len(arguments) != relation.arity:
            raise DataError("argument-count", f"{relation} takes {relation.arity} arguments, not {len(arguments)}")
        found = [
            0 if name is None else self.argument_id(relation, position, name) for position, name in enumerate(arguments)
        ]
        return np.array(found, np.int32)[:, None]

    def given_names(self, question: Question) -> tuple[str | None, ...]:
        """Return the whole names of what a question gives; numbers and dates as it has them, None where it is open."""
        spans, columns = self.shown_values.spans(question), self.shown_values.columns(question.relation)
        found: list[str | None] = []
        for position, (name, entity) in enumerate(zip(question.arguments, self.entities_of(question)[:, 0], strict=True)):
            if name is None:
                found.append(None)
            elif position in spans:
                prefix = columns[position].prefix
                found.append(prefix + name.strip().removeprefix(prefix))
            else:
                found.append(self.entities[int(entity)])
        return tuple(found)

    def allowed_entities(self, relation: str) -> list[Ids | None]:
        """Return for each position of a relation, stored or defined, the entities that can stand there; None are all."""
        if relation not in self.definitions:
            return self.split.allowed_entities(relation)
        return [None if one is None else one.ids(self.entities) for one in self.column_types(relation)]

    def scorer(self, relation: str, known: KnownAnswers | None = None) -> CandidateScorer:
        """Return what scores the candidates of questions about a relation, known facts left out: by default all.

        Evidence speaks beside the model about stored relations; about one that was defined the model speaks alone.
        """
        model, tables = self.model_with_definitions
        known = self.known_of(relation) if known is None else known
        evidence = None if relation in self.definitions else self.evidence
        allowed = self.allowed_entities(relation)
        return CandidateScorer(model, tables, self.schema.id(relation), known, allowed, evidence, self.candidate_sides)

    def keys_of(self, relation: str) -> Keys:
        """Return the sets of positions by which no two facts of a relation are alike, where it was made from tables."""
        rows = self.split.rows
        return () if rows is None or relation in self.definitions else rows.keys.get(relation, ())

    def scorer_of_new_facts(self, relation: str, given: Hypergraph | None = None) -> CandidateScorer:
        """Return a scorer that leaves out what contradicts a key too; `given` are the facts that count as known."""
        keys = self.keys_of(relation)
        if not keys:
            return self.scorer(relation, None if given is None else KnownAnswers(given))
        facts = self.stored if given is None else given
        allowed = free_entities(self.allowed_entities(relation), facts.table(relation).columns, keys, len(self.entities))
        known = KeyedAnswers(facts, {relation: keys})
        return CandidateScorer(self.model, self.tables, self.schema.id(relation), known, allowed, self.evidence)

    def expression(self, relation: str) -> Expression:
        """Return what a relation stands for: itself, or what defines it."""
        return self.definitions.get(relation) or Relation(self.schema[relation])

    @cached_property
    def reasoner(self) -> Reasoner:
        """What answers queries, over the stored relations."""
        return Reasoner(self.model, self.tables, self.calibration, self.stored, self.split.column_types)

    @property
    def model_with_definitions(self) -> tuple[Model, Parameters]:
        """The model and its tables with a relation more for each definition."""
        found = self._extended
        if found is None:
            found = self.model, self.tables
            if self.definitions:
                forms = {
                    schema: closed_form(self.definitions[schema.name], self.model, self.tables).form
                    for schema in list(self.schema)[len(self.model.schema) :]
                }
                found = extended(require_reale(self.model), self.tables, forms)
            self._extended = found  # only when it is whole: another thread may look meanwhile
        return found

    def probabilities(self, relation: str, columns: Tensor, scores: Float64) -> Float64 | None:
        """Return how probable facts, int64[arity, n], are: by scores, or by the exact value of the relation's definition."""
        if self.calibration is None:
            return None
        if relation not in self.definitions:
            return self.calibration.probability(self.model.schema.id(relation), scores)
        return self.reasoner.probability(self.definitions[relation], columns, Deadline(SECONDS))

    def known_of(self, relation: str) -> KnownAnswers:
        """Return what is known of a relation: its facts, or what follows from facts by its definition."""
        return KnownAnswers(self._derived(relation)) if relation in self.definitions else self.known

    def remembered(self, name: str, work_out: Callable[[], Kept]) -> Kept:
        """Return what was worked out once under a name, or is now; it is kept as long as the run is in memory."""
        if name not in self._remembered:
            while name in self._postponed and is_hurried():
                check_time()
                time.sleep(_LOOK)
            try:
                self._work_out(name, work_out)
            except TimeOverError:
                self._postpone(name, work_out)
                raise
        return cast(Kept, self._remembered[name])

    def _work_out(self, name: str, work_out: Callable[[], object]) -> None:
        # A lock for each name: what is worked out may itself remember something, and others need not wait for it.
        with held(self._remembering.setdefault(name, threading.RLock())):
            if name not in self._remembered:
                self._remembered[name] = work_out()

    def _postpone(self, name: str, work_out: Callable[[], object]) -> None:
        """Have what no request has time for be worked out beside them; others that want it wait for that."""
        if self.later is None or name in self._postponed or not is_hurried():
            return

        def work() -> None:
            try:
                self._work_out(name, work_out)
            finally:
                self._postponed.discard(name)

        self._postponed.add(name)
        self.later(work)

    def remembers(self, name: str) -> bool:
        """Return whether something is kept under a name."""
        return name in self._remembered

    def remember(self, name: str, value: object) -> None:
        """Keep something under a name instead of what was worked out before."""
        self._remembered[name] = value

    @property
    def _kept(self) -> Path:
        if self.folder is None:
            raise RelatumError("run-in-memory", "this run is in memory", place=self.name, remedy="save it first")
        return self.folder

    @cached_property
    def stored(self) -> Hypergraph:
        """The facts of all parts together."""
        return Hypergraph.union(list(self.split.parts.values()))

    def _with_entities(self, expression: Expression) -> Expression:
        """Return an expression whose constants are names of entities, where they were values as they stand in a table."""

        def found(node: Expression) -> Expression:
            if isinstance(node, SelectConstant) and node.entity not in self.entities:
                return replace(node, entity=self._entity(node.child, node.dropped, node.entity))
            if isinstance(node, Filter) and isinstance(node.other, str) and node.other not in self.entities:
                return replace(node, other=self._entity(node.child, node.column, node.other))
            return node

        return rebuilt(expression, found)

    def _entity(self, expression: Expression, column: int, name: str) -> str:
        """Return the entity that a name means in a column of an expression."""
        column_type = column_types_of(expression, self.split.column_types)[column]
        called = expression.roles[column] if expression.roles else f"column {column}"
        return self.entities[self.entity_id(name, column_type, called)]

    def _set_definitions(self, definitions: dict[str, Expression]) -> None:
        """Take definitions, and forget what was worked out by those before."""
        self.definitions, self._extended, self._derivations = definitions, None, {}
        self.candidate_sides = CandidateSides()

    def _derived(self, relation: str) -> Hypergraph:
        """Return the facts that follow by definition; they are worked out once."""
        if relation not in self._derivations:
            columns = evaluate(self.definitions[relation], self.stored).columns
            relations = np.full(columns.shape[1], self.schema.id(relation), np.int32)
            self._derivations[relation] = Hypergraph(self.entities, self.schema, [Block(relations, columns)])
        return self._derivations[relation]


def _arities(schema: Schema) -> list[tuple[str, int]]:
    return [(relation.name, relation.arity) for relation in schema]
