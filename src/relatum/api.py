"""The front door: `fit` a model to facts, `open` a run, and ask it.

run = relatum.fit("example", model="reale", dim=40, epochs=50)
run.evaluate()
run.complete("sold(drew, ?, book)")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, overload

from relatum.data.schema import RelationSchema
from relatum.data.stored_values import StoredTable
from relatum.datasets.file_types import is_server
from relatum.errors import DataError, SettingError
from relatum.evidence.reasons import Reason
from relatum.evidence.selection import SUMMARY_COLUMNS, RuleSummary, summaries
from relatum.files import require_empty
from relatum.inference.calibration import Reliability
from relatum.progress import announce
from relatum.reasoning.query import Query, QueryAnswer
from relatum.reasoning.reasoner import Explanation
from relatum.records import Records, columns_of
from relatum.report.page import write_report
from relatum.rules import Rule, estimate_observed_share, mine_rules
from relatum.runs import fit as fitting
from relatum.runs.answers import (
    FACT_SCORE_COLUMNS,
    Answers,
    FactScore,
    Prediction,
    Predictions,
    Question,
    Suggestion,
    question_of,
)
from relatum.runs.bulk_completion import Written, complete_each, write_answers
from relatum.runs.column_quality import ColumnQuality, column_quality
from relatum.runs.completion import complete, score
from relatum.runs.doubt import DOUBT_COLUMNS, DoubtfulCell, DoubtfulFact, doubtful_cells, doubtful_facts
from relatum.runs.each_question import combinations_of, each_question
from relatum.runs.export import predictions_table, save_embeddings, save_run
from relatum.runs.expressions import BoundExpression
from relatum.runs.filling import fill
from relatum.runs.fills import Fills
from relatum.runs.fit import Watch, facts_of, more_facts
from relatum.runs.joining import joined_query
from relatum.runs.lookup import (
    EntityMatch,
    RelationSummary,
    SimilarEntity,
    describe_relations,
    find_entities,
    similar_entities,
)
from relatum.runs.prediction import predict
from relatum.runs.probabilities import reliability_of
from relatum.runs.query_rows import QueryRows
from relatum.runs.reasons import SIMILAR_FACT_COLUMNS, SimilarFact, objections, similar_facts, why
from relatum.runs.recipe import spec_of
from relatum.runs.spec import Spec
from relatum.runs.sql_answers import DefinedView, answer_sql
from relatum.runs.trackers import Tracker, Trackers, training_bar
from relatum.runs.trained import SECONDS, Trained
from relatum.runs.update import join as join_runs
from relatum.runs.update import update as fold_in
from relatum.runs.worker_fit import fit_as_worker, follow, resume_as_worker
from relatum.settings import whole_number
from relatum.tables import Table
from relatum.tables.changes import Undone, undo_changes
from relatum.tables.servers import without_password
from relatum.tables.targets import target_of
from relatum.tables.way_back import export_tables, table_of
from relatum.time_limit import Deadline, now
from relatum.workers import is_first_worker
from relatum.workers.group import Group, start_group

PathOrText = str | os.PathLike[str]


class Run(Trained):
    """A trained run: everything that can be asked of it, one method each."""

    def __repr__(self) -> str:
        split, kept = self.split, f"kept in {self.folder}" if self.folder is not None else "in memory"
        sizes = f"{len(split.train):,} training facts, {len(self.entities):,} entities"
        listed = ", ".join(map(str, list(self.schema)[:5])) + (", ..." if len(self.schema) > 5 else "")
        return f"Run({self.model.title} on {self.spec.data}, {sizes}, {kept})\nrelations: {listed}"

    def complete(
        self,
        question: str | Question | Sequence[object],
        *arguments: object,
        k: int = 10,
        new_only: bool = False,
        beam: int | None = None,
        seconds: float | None = None,
        coverage: float | None = None,
        **roles: object,
    ) -> Answers:
        """Return the answers to a question: the k best that are known, then the k best that are not.

        With `coverage=0.9` the new answers are the smallest set that holds the missing one with 90 %, however many these
        are; `answers.promise` says what that rests on.

        Ask `run.complete("sold(drew, ?, book)")`, `run.complete("sold", "drew", None, "book")` or
        `run.complete("sold", seller="drew", buyer=None)`, where the item, which is not named, is free.

        Args:
            question: a text, or the name of a relation.
            arguments: an entity for each position, None where it is open.
            k: how many known answers, and how many new ones.
            new_only: leave out those that are known already.
            beam: with several open positions, how many partial facts are kept at each step.
            seconds: that the answer may take; None is no limit, but for answers with free positions, or of a defined
                relation, whose search returns the best found so far.
            coverage: the share of sets of new answers that hold the missing one, between 0 and 1.
            roles: entities by role.
        """
        with Deadline(seconds):
            parsed = question_of(question, arguments, roles, self.schema)
            return complete(self, parsed, k, new_only=new_only, beam=beam, seconds=seconds, coverage=coverage)

    @overload
    def complete_each(self, question: str, *arguments: object, to: None = None, **wanted: Any) -> Records[Suggestion]: ...
    @overload
    def complete_each(self, question: str, *arguments: object, to: PathOrText, **wanted: Any) -> Written: ...
    def complete_each(
        self,
        question: str,
        *arguments: object,
        k: int = 10,
        new_only: bool = False,
        all_entities: bool = False,
        to: PathOrText | None = None,
        table: str | None = None,
        append: bool = False,
        replace: bool = False,
        full_names: bool = False,
        escape_formulas: bool = False,
        **roles: object,
    ) -> Records[Suggestion] | Written:
        """Return, for each of many entities, the answers that `complete` gives; or write them, and return how many.

        Ask `run.complete_each("sold(*, ?)")` or, by role, `run.complete_each("sold(customer, ?)")`: where there is a `*`, or
        a role's own name, each entity is tried that known facts of the relation have there. With several of these it is each
        combination that known facts have. Other arguments hold for all questions, and one is open.

        What is returned is in memory, up to 2 k answers to each question; what is written is not, but for some of it.

        Args:
            question: a text, or the name of a relation.
            arguments: for each position an entity, None where it is open, "*" where it varies.
            k: how many known answers to each question, and how many new ones.
            new_only: leave out those that are known already.
            all_entities: try every entity that can stand there, and every combination.
            to: a .csv, .tsv, .jsonl or .parquet file, a SQLite or DuckDB file, or a postgresql:// or mysql:// URL.
            table: the table of a database; by default `suggested_` and the relation.
            append: add to a table that is there.
            replace: replace the rows of a table, or the file.
            full_names: write entities by their whole names, not as the values of the table that they came from.
            escape_formulas: in a .csv or .tsv file, put an apostrophe before text that a spreadsheet takes for a formula.
            roles: the arguments by role.
        """
        parsed = each_question(self, question, arguments, roles)
        if to is None:
            if table is not None or append or replace or full_names or escape_formulas:
                how = "table, append, replace, full_names and escape_formulas"
                raise SettingError("option-needs-option", f"{how} say how answers are written", remedy="give to as well")
            return complete_each(
                self, parsed, combinations_of(self, parsed, all_entities=all_entities), k, new_only=new_only
            )
        target = target_of(os.fspath(to), append=append, replace=replace, escape_formulas=escape_formulas)
        if table is not None and not target.is_database:
            raise SettingError("table-not-for-file", "a table is named in a database, not in a file", place=target.location)
        combinations = combinations_of(self, parsed, all_entities=all_entities)
        return write_answers(self, parsed, combinations, target, k, new_only=new_only, table=table, full_names=full_names)

    @overload
    def score(self, fact: str | Question | tuple[object, ...], *arguments: object, **roles: object) -> FactScore: ...
    @overload
    def score(self, fact: list[Any]) -> Records[FactScore]: ...
    def score(self, fact: Any, *arguments: object, **roles: object) -> FactScore | Records[FactScore]:
        """Return what the run thinks of a fact, given as to `complete`; or of each in a list of facts."""
        if isinstance(fact, list) and not arguments and not roles and not _is_fact(fact, self):
            found = [score(self, question_of(one, (), {}, self.schema)) for one in fact]
            return Records(found, FACT_SCORE_COLUMNS, "scores")
        return score(self, question_of(fact, arguments, roles, self.schema))

    def why(self, fact: Any, *arguments: object, k: int = 5, **roles: object) -> Records[Reason]:
        """Return what speaks for a fact, given as to `complete`: the k most confident rules, and the facts they rest on."""
        columns = {"rule": str, "answers": str, "confidence": float, "right": int, "named": int, "facts": str, "more": int}
        question = question_of(fact, arguments, roles, self.schema)
        return Records(why(self, question, k), columns, f"what speaks for {question}", plain=_reason_row)

    def objections(self, fact: Any, *arguments: object, **roles: object) -> list[str]:
        """Return what speaks against a fact, given as to `complete`, in words."""
        return objections(self, question_of(fact, arguments, roles, self.schema))

    def similar_facts(self, fact: Any, *arguments: object, k: int = 3, **roles: object) -> Records[SimilarFact]:
        """Return the k known facts most similar to a fact, given as to `complete`: each differs from it in one entity."""
        question = question_of(fact, arguments, roles, self.schema)
        return Records(similar_facts(self, question, k), SIMILAR_FACT_COLUMNS, f"known facts similar to {question}")

    def reliability(self, part: str = "test") -> Reliability | None:
        """Return how far the probabilities of the best new answers to questions of a part can be trusted."""
        return reliability_of(self, part)

    def doubt(self, relation: str | Sequence[str] | None = None, k: int = 20) -> Records[DoubtfulFact]:
        """Return the k known facts that evidence and embedding find most doubtful, and what they expect instead.

        Args:
            relation: the name of a relation, several names, or None for all.
            k: how many at most; there are fewer where nothing speaks against more of them.
        """
        names = None if relation is None else self._relations(relation)
        found = doubtful_facts(self, [one.name for one in names or self.model.schema], k)
        return Records(found, DOUBT_COLUMNS, "doubtful facts", plain=DoubtfulFact.to_row)

    def doubt_cells(self, tables: Sequence[str] = (), columns: Sequence[str] = (), k: int = 20) -> Records[DoubtfulCell]:
        """Return the k cells of the imported tables that the rest of their rows and other rows find most doubtful.

        Args:
            tables: those whose cells are judged; by default all.
            columns: those that are judged, as `column` or `table.column`; by default all.
            k: how many at most; there are fewer where nothing else is likelier.
        """
        return doubtful_cells(self, tables=tables, columns=columns, k=k)

    def predict(
        self,
        relation: str | Sequence[str] | None = None,
        top: int = 1000,
        *,
        min_score: float | None = None,
        min_probability: float | None = None,
        exact: bool = False,
        per_question: int | None = None,
    ) -> Predictions:
        """Return the facts that are not known and score best, the most likely first, of one relation, of several, or of all.

        They are looked for around known facts: each differs from one of these in one entity. Where the relation was a table,
        an entity stands only in a column of its type.

        Args:
            relation: the name of a relation, several names, or None for all.
            top: how many facts of each relation at most.
            min_score: the least score.
            min_probability: the least probability.
            exact: look at every fact that there could be, if there are not too many.
            per_question: how many answers to one question count.
        """
        chosen = self._relations(relation)
        found = predict(
            self,
            [one.name for one in chosen],
            top,
            min_score=min_score,
            min_probability=min_probability,
            exact=exact,
            per_question=per_question,
        )
        ranked = [one for group in found.values() for one in group]
        if len(chosen) > 1:  # only probabilities are comparable among relations
            ranked.sort(key=lambda one: -(one.probability or 0.0))
        grouped = any(self.shown_values.columns(one.name) for one in chosen)
        return Predictions(ranked, chosen, has_intervals=grouped)

    def joined(
        self,
        query: str | Query,
        k: int = 10,
        *,
        new_only: bool = False,
        seconds: float | None = SECONDS,
        coverage: float | None = None,
    ) -> QueryRows:
        """Return the k best rows that answer a query of relational algebra with any operation, joins included.

        Args:
            query: such as `project[0](join[2 = 0](sold, made))`, all of whose columns are open, or `(...)(drew, ?)`.
            k: how many rows, known and predicted together.
            new_only: leave out those that follow from what is known already.
            seconds: when to stop with the best that was found; None is no limit.
            coverage: the share of sets of new rows that hold the missing one, for a query with one predicted link.
        """
        self.ready()
        with Deadline(seconds):
            return joined_query(self, self.parsed(query), k, new_only=new_only, seconds=seconds, coverage=coverage)

    def sql(
        self, text: str, *, conjunction: str = "product", seconds: float | None = SECONDS, coverage: float | None = None
    ) -> QueryRows | DefinedView:
        """Return the rows that a query of SQL selects, known or predicted, best first; or the view that it makes.

        Args:
            text: such as `SELECT buyer FROM sold WHERE seller = 'drew' AND NOT known`; see `docs/sql.md`.
            conjunction: how the probabilities of facts become that of a row: their `product`, or the `minimum` of them.
            seconds: when to stop with the best that was found; None is no limit.
            coverage: the share of sets of new rows that hold the missing one, for a query with one predicted link.
        """
        self.ready()
        with Deadline(seconds):
            return answer_sql(self, text, conjunction=conjunction, seconds=seconds, coverage=coverage)

    def __getitem__(self, name: str) -> BoundExpression:
        """Return a relation, stored or defined, to ask algebra of: `run["sold"].project(0).complete()`."""
        return BoundExpression(self, self.expression(self.schema[name].name))

    def explain(self, query: str | Query, answer: QueryAnswer | None = None) -> Explanation:
        """Return the value of each part of a query for one of its answers, by default the best, and what decided."""
        parsed = self.parsed(query)
        if answer is None:
            found = self.query(parsed, 1)
            if not found:
                raise DataError("nothing-to-explain", "there is no answer to explain", place=query)
            answer = found[0]
        with Deadline(SECONDS) as limit:
            return self.reasoner.explain(parsed, answer, limit)

    def rules(self, *heads: str, observed: float | None = None) -> Records[Rule]:
        """Return which relations equal, contain or lie within expressions over others, by all known facts.

        Args:
            heads: the relations to explain; by default all.
            observed: the share of the true facts that are known; by default it is estimated, or 0.98 where the facts do not
                tell it.
        """
        facts = self.facts
        for name in heads:
            facts.schema[name]
        share = estimate_observed_share(facts).assumed if observed is None else observed
        columns = {"rule": str, "support": int, "confidence": float, "coverage": float, "evidence": float}
        return Records(mine_rules(facts, observed=share, heads=list(heads) or None), columns, "rules")

    def soft_rules(self, *heads: str, k: int = 20) -> Records[RuleSummary]:
        """Return the k most notable soft rules of the training facts: each by what it explains beyond those before it.

        Args:
            heads: the relations to explain; by default all.
            k: how many.
        """
        found = summaries(self.rules_of_facts, heads, whole_number("k", k))
        return Records(found, SUMMARY_COLUMNS, "soft rules")

    def relations(self) -> Records[RelationSummary]:
        """Return every relation with its columns, number of facts, an example, and a question to ask."""
        columns = {"relation": str, "columns": str, "facts": int, "example": str, "question": str}
        return Records(describe_relations(self), columns, "relations", plain=_relation_row)

    def find(self, text: str, k: int = 10) -> Records[EntityMatch]:
        """Return entities by a part of their name, or a name that looks like it, and the columns they stand in."""
        columns = {"entity": str, "match": str, "facts": int, "columns": str}
        return Records(find_entities(self, text, k), columns, f"entities like {text!r}", plain=_match_row)

    def similar(self, entity: str, k: int = 10) -> Records[SimilarEntity]:
        """Return the entities whose embeddings are nearest to that of an entity."""
        return Records(similar_entities(self, entity, k), columns_of(SimilarEntity), f"entities similar to {entity}")

    def update(self, facts: Any, out: PathOrText | None = None, *, seed: int = 0, refit: bool = False) -> Run:
        """Return the run that folding in new facts and entities makes, kept in a new directory if one is named.

        This run stays as it is.

        Args:
            facts: what `fit` takes; the run must know the relations. Tables are read as at the import of the run's own.
            out: the directory to make, new or empty.
            seed: of everything that is drawn.
            refit: fit also the rows of known entities that stand in more new facts than old ones.
        """
        target = _free(out)
        new = more_facts(facts, self.split.rows, self.model.schema)
        updated = fold_in(self, new, seed=seed, refit=refit)
        return _kept(updated, target)

    def report(self, path: PathOrText) -> Path:
        """Write one page about the run, as HTML, and return its path."""
        write_report(self, path)
        return Path(path)

    def fill(
        self, source: Any = None, *, tables: Sequence[str] = (), columns: Sequence[str] = (), min_probability: float = 0.0
    ) -> Fills:
        """Return what the empty cells of the imported tables most probably hold, with probabilities and reasons.

        `run.fill("shop.db").apply("shop.db")` writes them into the database, and `relatum.undo_fill` takes that back.

        Args:
            source: where rows are read from now, as `read` takes it; by default those of the import.
            tables: those whose cells are filled; by default all.
            columns: those that are filled, as `column` or `table.column`; by default all.
            min_probability: leave cells empty that are less sure.
        """
        return fill(self, source=source, tables=tables, columns=columns, min_probability=min_probability)

    def evaluate_columns(self, part: str = "test") -> Records[ColumnQuality]:
        """Return how well the held-out cells of each column are filled, beside what anybody could count."""
        return column_quality(self, part)

    def export(
        self,
        to: PathOrText,
        relation: str | Sequence[str] | None = None,
        top: int = 1000,
        *,
        append: bool = False,
        replace: bool = False,
        full_names: bool = False,
        escape_formulas: bool = False,
        **wanted: Any,
    ) -> Predictions:
        """Write the best facts that are not known to a file or database, one table a relation, and return them.

        A relation that is not named, and of which there is no new fact, gets no table, unless it replaces one.

        Args:
            to: a .csv, .tsv, .jsonl or .parquet file, a SQLite or DuckDB file, or a postgresql:// or mysql:// URL.
            relation: as in `predict`.
            top: as in `predict`.
            append: add to tables that are there.
            replace: replace the rows of tables, or the file.
            full_names: write entities by their whole names, not as the values of the table that they came from.
            escape_formulas: in a .csv or .tsv file, put an apostrophe before text that a spreadsheet takes for a formula.
            wanted: what else `predict` takes.
        """
        target = target_of(os.fspath(to), append=append, replace=replace, escape_formulas=escape_formulas)

        def tables(predictions: Sequence[Prediction]) -> list[Table]:
            by_relation = {one.name: [each for each in predictions if each.relation == one.name] for one in chosen}
            return [predictions_table(self, name, found, full_names=full_names) for name, found in by_relation.items()]

        chosen = self._relations(relation)
        target.check(tables([]))  # before the work, and again when it is written
        predictions = self.predict(relation, top, **wanted)
        if written := [one for one in tables(predictions) if len(one) or relation is not None or replace]:
            target.write(written)
        return predictions

    def export_tables(self, to: PathOrText, tables: str | Sequence[str] = (), *, replace: bool = False) -> dict[str, int]:
        """Write imported tables to a file or database as their source had them, and return how many rows each has.

        Args:
            to: as in `export`.
            tables: which; by default all.
            replace: replace the rows of tables, or the file.
        """
        return export_tables(self.split.rows, to, [tables] if isinstance(tables, str) else tables, replace=replace)

    def stored_table(self, table: str) -> StoredTable:
        """Return the values of an imported table as its source had them: rows, columns, or `to_pandas()`."""
        return table_of(self.split.rows, table)

    def _relations(self, names: str | Sequence[str] | None) -> list[RelationSchema]:
        """Return the relations of these names, or all."""
        chosen = [one.name for one in self.schema] if names is None else [names] if isinstance(names, str) else names
        return [self.schema[name] for name in dict.fromkeys(chosen)]

    def save_embeddings(self, folder: PathOrText, format: str = "npy") -> dict[str, tuple[int, ...]]:  # noqa: A002
        """Write the embeddings into a new directory, as `npy` or `parquet`, and return the shape of each table."""
        return save_embeddings(self, folder, format)

    def save(self, folder: PathOrText) -> Run:
        """Write the run into a new directory, and return it as it is kept there."""
        return _kept(self, Path(folder))


def fit(
    data: Any,
    out: PathOrText | None = None,
    *,
    model: str | Mapping[str, Any] | None = None,
    spec: Spec | None = None,
    seed: int | None = None,
    recipe: str | None = None,
    progress: bool = True,
    watch: Watch | None = None,
    trackers: str | Tracker | Sequence[str | Tracker] = (),
    began: float | None = None,
    **settings: Any,
) -> Run:
    """Return a model that was trained on facts, in memory, or kept in a directory.

    Args:
        data: the name of a dataset, the path of a directory or file, the URL of a database, a frame, frames by name, facts
            as tuples, a `Split`, an import, or a `Spec`, which says all of it.
        out: the directory to make; it then holds all that the run needs. None keeps the run in memory.
        model: the name of the model, by default ReAlE.
        spec: what is not said is as in this spec.
        seed: of everything that is drawn.
        recipe: what is not said is as in this recipe: `auto`, which looks at the facts, and is the default for ReAlE;
            `fast`, the default for other models; or `paper`.
        progress: show how training goes.
        watch: is called with every step, epoch and validation.
        trackers: are told each event of the journal: `tensorboard`, `mlflow`, or functions of your own.
        began: the moment, by `relatum.time_limit.now()`, from which `minutes` count; by default now.
        settings: settings of the model and of training by name, such as dim=40 and epochs=50.
    """
    began = now() if began is None else began
    if isinstance(data, Spec):
        if spec is not None:
            raise SettingError(
                "contradictory-options", "the data is a spec already", place="spec", remedy="give one of the two"
            )
        spec, data = data, data.data
    if isinstance(out, Spec):
        raise SettingError("contradictory-options", "names a directory", place="out", remedy="give a spec as spec=...")
    given = {"model": model, "spec": spec, "seed": seed, **settings}
    whole = spec_of(_without_secrets(data), recipe, given, announce if progress else lambda _: None)
    tracking = _trackers(trackers, out)
    with _watching(progress, watch) as watching:
        group = start_group()
        if out is None:
            if group is not None:
                raise SettingError(
                    "no-shared-directory",
                    "several workers train into a directory",
                    place="out",
                    remedy="name one that all of them see",
                )
            return fitting.fit_in_memory(Run, whole, facts_of(data), watching, began, tracking)
        folder, read = Path(out), partial(facts_of, data)
        if group is None:
            fitting.fit_into(folder, whole, read, watching, began, tracking)
        else:
            _as_worker(group, folder, lambda: fit_as_worker(group, folder, whole, read, watching, tracking))
    return Run.load(folder)


def resume(
    folder: PathOrText,
    *,
    progress: bool = True,
    watch: Watch | None = None,
    trackers: str | Tracker | Sequence[str | Tracker] = (),
) -> Run:
    """Return a run that was trained on from its last checkpoint; to the bit as if it had never stopped."""
    tracking = _trackers(trackers, folder)
    with _watching(progress, watch) as watching:
        group = start_group()
        if group is None:
            fitting.resume(Path(folder), watching, trackers=tracking)
        else:
            _as_worker(group, Path(folder), lambda: resume_as_worker(group, Path(folder), watching, tracking))
    return Run.load(folder)


def open(folder: PathOrText) -> Run:  # noqa: A001  # the word that people look for
    """Return the run that is kept in a directory."""
    return Run.load(folder)


def update(run: Run | PathOrText, facts: Any, out: PathOrText | None = None, *, seed: int = 0, refit: bool = False) -> Run:
    """Return the run that folding new facts into a run makes; see `Run.update`.

    What is made of a run that is named by its directory is kept too, by default beside it, as `RUN-updated`.
    """
    if isinstance(run, Run):
        return run.update(facts, out, seed=seed, refit=refit)
    return open(run).update(facts, _beside(Path(run)) if out is None else out, seed=seed, refit=refit)


def join(runs: Sequence[Run | PathOrText], out: PathOrText | None = None) -> Run:
    """Return one run whose score is the sum of the scores of several that differ in their seed, kept if `out` is named."""
    target = _free(out)
    return _kept(join_runs([one if isinstance(one, Run) else open(one) for one in runs]), target)


def undo_fill(database: PathOrText, batch: int | None = None) -> Undone:
    """Empty the cells again that `run.fill(...).apply(database)` has filled, and return what became of them.

    A cell that was changed since is left as it is.

    Args:
        database: what was filled: a SQLite or DuckDB file, or the URL of a database.
        batch: which time, by the number that `apply` returned and `list_fills` shows; by default the last one.
    """
    return undo_changes(database, batch=batch)


def _trackers(wanted: str | Tracker | Sequence[str | Tracker], folder: PathOrText | None) -> Trackers | None:
    """Return those who follow training; of several workers, they follow the first."""
    return Trackers(wanted, None if folder is None else Path(folder)) if wanted and is_first_worker() else None


def _without_secrets(data: Any) -> Any:
    """Return what a spec calls the data: it is written into the run, where no password belongs."""
    return without_password(data) if isinstance(data, str) and is_server(data) else data


def _relation_row(one: RelationSummary) -> dict[str, Any]:
    columns, example = "; ".join(map(str, one.columns)), None if one.example is None else ", ".join(one.example)
    return {"relation": one.name, "columns": columns, "facts": one.facts, "example": example, "question": one.question}


def _match_row(one: EntityMatch) -> dict[str, Any]:
    columns = ", ".join(f"{at.relation}.{at.column} ({at.facts:,})" for at in one.columns)
    return {"entity": one.name, "match": one.match, "facts": one.facts, "columns": columns}


def _beside(folder: Path) -> Path:
    """Return where an updated run goes by default, for a folder that may be given as `.` too."""
    whole = folder if folder.name not in ("", "..") else folder.resolve()
    return whole.with_name(f"{whole.name}-updated")


def _is_fact(given: list[Any], run: Run) -> bool:
    """Return whether a list is one fact, a relation and its entities, and not several."""
    return bool(given) and isinstance(given[0], str) and given[0] in run.schema


def _reason_row(reason: Reason) -> dict[str, Any]:
    return {**reason.to_dict(), "facts": "; ".join(reason.facts)}


def _free(out: PathOrText | None) -> Path | None:
    """Return the directory that a run is to be kept in, which must be empty before the work; it is looked at again then."""
    if out is None:
        return None
    require_empty(Path(out))
    return Path(out)


def _kept(run: Run, folder: Path | None) -> Run:
    if folder is None:
        return run
    save_run(run, folder)
    return Run.load(folder)


def _as_worker(group: Group, folder: Path, lead: Callable[[], None]) -> None:
    """Train as one of several workers; afterwards each of them can load the run."""
    if group.is_first:
        lead()
    else:
        follow(group, folder)
        group.wait_until_done("finished")


@contextmanager
def _watching(progress: bool, watch: Watch | None) -> Iterator[Watch]:
    """Yield what is told of training: a display, if one is wanted, and whoever watches."""
    with training_bar() if progress else nullcontext() as shown:
        told = [one for one in (shown, watch) if one is not None]

        def tell(event: str, state: Any, facts: dict[str, Any]) -> None:
            for one in told:
                one(event, state, facts)

        yield tell
