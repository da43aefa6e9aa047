"""What validation facts teach about a trained model: how sure its scores are, and how much evidence weighs beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.evidence.evidence import Evidence
from relatum.evidence.weights import found_evidence
from relatum.imputation.models import ColumnModels, columns_to_fill, fit_columns, weigh_embedding
from relatum.inference.answer_calibration import AnswerCalibration, fit_answer_calibration
from relatum.inference.answer_sample import answer_sample, sampled_facts
from relatum.inference.answer_sets import MOST_FACTS, AnswerSets, fit_answer_sets
from relatum.inference.calibration import Calibration
from relatum.inference.new_fact_calibration import (
    NewFactCalibration,
    as_answers,
    best_candidates,
    fit_new_fact_calibration,
    share_unnamed,
)
from relatum.inference.scoring import CandidateScorer
from relatum.inference.validation import calibrate, sample
from relatum.models.base import Model, Parameters
from relatum.progress import progress
from relatum.rules import estimate_observed_share
from relatum.runs.column_scores import embedding_scores
from relatum.runs.directory import FITTED, read_environment, save_environment, save_fitted

ScorerOf = Callable[[int, KnownAnswers], CandidateScorer]

_NAMED = 10_000  # validation facts of which it is seen whether rules name them


class Validated(NamedTuple):
    """What is fitted on validation facts, as `Trained` has it; None where there are none, or where it is not wanted."""

    calibration: Calibration | None = None
    answer_calibration: AnswerCalibration | None = None
    new_fact_calibration: NewFactCalibration | None = None
    evidence: Evidence | None = None
    columns: ColumnModels | None = None
    answer_sets: AnswerSets | None = None

    def with_evidence_of(self, facts: Hypergraph) -> Validated:
        """Return the same with evidence that is read from other facts, such as those that a refit has learned as well."""
        return self if self.evidence is None else self._replace(evidence=self.evidence.with_facts(facts))


def validated(
    model: Model,
    parameters: Parameters,
    split: Split,
    *,
    evidence: bool,
    seed: int = 0,
    columns: ColumnModels | None = None,
    answer_sets: bool = True,
) -> Validated:
    """Return what the validation facts of a split teach about a model that has not seen them.

    `columns` are the models of columns as `fitted_columns` has them, if they were fitted before. `answer_sets` says whether
    sets of answers are wanted: about a model that is going to see the validation facts they could promise nothing.
    """
    with torch.no_grad():
        tables = model.encode(parameters)
    found = found_evidence(model, tables, split, seed) if evidence else None

    def scorer(relation: int, known: KnownAnswers) -> CandidateScorer:
        return CandidateScorer(model, tables, relation, known, split.allowed_entities(split.schema[relation].name), found)

    answers, new = _chances(scorer, split, found) if len(split.valid) else (None, None)
    weighed = _weighed(model, tables, fitted_columns(split, seed) if columns is None else columns)
    sets = answer_sets_of(scorer, split, answers) if answer_sets else None
    return Validated(calibrate(model, tables, split), answers, new, found, weighed, sets)


def answer_sets_of(scorer_of: ScorerOf, split: Split, answers: AnswerCalibration | None) -> AnswerSets | None:
    """Return what sets of answers go by, from how likely answers are; None without validation facts."""
    if answers is None:
        return None
    with progress("sets of answers", min(MOST_FACTS, len(split.valid))) as advance:
        return fit_answer_sets(answers, scorer_of, split.train, split.valid, advance)


def fitted_columns(split: Split, seed: int = 0) -> ColumnModels | None:
    """Return the models of the columns of tables, which know of no embedding; None where there are no tables."""
    rows = split.rows
    if rows is None:
        return None
    with progress("columns", sum(len(columns_to_fill(rows, table)) for table in rows.tables)) as advance:
        return fit_columns(rows, seed=seed, advance=advance)


def _weighed(model: Model, tables: Parameters, columns: ColumnModels | None) -> ColumnModels | None:
    """Return models of columns with the weight of the embedding beside them."""
    if columns is None:
        return None
    with progress("weights of the embedding", len(columns.models)) as advance:
        return weigh_embedding(columns, embedding_scores(model, tables, columns.store), advance)


def _chances(
    scorer_of: ScorerOf, split: Split, evidence: Evidence | None
) -> tuple[AnswerCalibration | None, NewFactCalibration | None]:
    """Return the chances of answers and of new facts."""
    observed = estimate_observed_share(Hypergraph.union(list(split.parts.values()))).value
    with progress("probabilities of answers", sampled_facts(split.train, split.valid)) as advance:
        answered = list(answer_sample(scorer_of, split.train, split.valid, advance))
    answers = fit_answer_calibration(answered, split, observed)
    if answers is None:
        return None, None
    known, judged, candidates = KnownAnswers(split.train), [], best_candidates(answers, answered)
    with progress("probabilities of new facts", sum(len(one.right) for one in candidates)) as advance:
        for one in candidates:
            judged.append((one, as_answers(answers, scorer_of(one.relation, known), one.facts)))
            advance(len(one.right))
    unnamed = share_unnamed(evidence, sample(split.valid, _NAMED))
    return answers, fit_new_fact_calibration(judged, split.train, answers, unnamed)


def save_validated(folder: Path, found: Validated) -> None:
    """Write what was fitted into a run directory, each into a file of its own, and note which of them there are."""
    for name, each in zip(FITTED, found, strict=True):
        if each is not None:
            save_fitted(folder, name, each)
    save_environment(folder, read_environment(folder))
