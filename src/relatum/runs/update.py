"""Runs made of others: with new facts folded in, and what that changes; or several of other seeds joined into one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.merging import MergedSplit, merge
from relatum.errors import DataError, RelatumError, SettingError
from relatum.evidence.evidence import Evidence
from relatum.files import sha256_of
from relatum.imputation.models import ColumnModels
from relatum.inference.ranking import Metrics, rank
from relatum.inference.validation import sample, validator
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.ensemble import joined
from relatum.runs.directory import versions
from relatum.runs.spec import Spec
from relatum.runs.trained import Kind, Trained
from relatum.runs.validated import Validated, validated
from relatum.settings import whole_number
from relatum.tables.more_rows import joined_rows
from relatum.training.fold_in import facts_with, fold_in, init_new_entities

_VALIDATED, _NEW_FACTS = 1000, 250  # facts that are ranked at most before and after: of valid, and of the new ones


@dataclass(frozen=True, eq=False)
class Folded:
    """A run, and what became of its model with more facts: over the run's and the new ones together, which are `wide`.

    The fit began at the parameters `start`, with rows for all entities, and ended at `parameters`. It has fitted the rows of
    the entities that are `new`, and of known ones that are `refitted`.
    """

    trained: Trained
    wide: MergedSplit
    model: Model
    start: Parameters
    parameters: Parameters
    new: Int64
    refitted: Int64
    seconds: float


def counts_of(folded: Folded) -> dict[str, int]:
    """Return how many facts came and what became of them, and how many rows were fitted."""
    wide, added = folded.wide, folded.wide.added
    return {
        "facts": wide.read,
        "repeated": wide.repeated,
        "known": wide.known,
        "added": sum(map(len, added.values())),
        "added_valid": len(added["valid"]),
        "added_test": len(added["test"]),
        "among_known_entities": len(added["train"]) - len(_with(added["train"], folded.new)),
        "new_entities": len(folded.new),
        "refitted_entities": len(folded.refitted),
    }


def effect_of(folded: Folded) -> dict[str, Any]:
    """Return how well old and new facts rank before and after, filtered by train and valid, by realistic ranks.

    Before and after, the same facts of the old run's valid are ranked, after among more entities. Of the new facts, those
    that hold an entity whose row was fitted are ranked at the rows where the fit began, and after it.
    """
    wide, model = folded.wide, folded.model
    before = validator(folded.trained.model, folded.trained.split, most=_VALIDATED)
    after = validator(model, replace(wide.split, valid=wide.before.valid), most=_VALIDATED)
    known = KnownAnswers(wide.split.train, wide.split.valid)
    own = sample(_with(wide.added["train"], np.union1d(folded.new, folded.refitted)), _NEW_FACTS)
    first, last = (Metrics.of(rank(model, one, own, known)) for one in (folded.start, folded.parameters))
    return {
        "seconds": round(folded.seconds, 2),
        "valid_facts": len(sample(wide.before.valid, most=_VALIDATED)) if after else 0,
        "valid_mrr_before": None if before is None else before(folded.trained.parameters)["mrr"],
        "valid_mrr_after": None if after is None else after(folded.parameters)["mrr"],
        "own_questions": last.questions,
        "own_mrr_start": first.mrr,
        "own_mrr": last.mrr,
        "own_mean_rank_start": first.mean_rank,
        "own_mean_rank": last.mean_rank,
    }


def _with(facts: Hypergraph, entities: Int64) -> Hypergraph:
    return facts_with(facts, entities) if len(facts) else facts


def update(run: Kind, new_facts: Split, *, seed: int = 0, refit: bool = False) -> Kind:
    """Return the run that folding new facts into a trained one makes, in memory; the old one stays as it is.

    Entities that stood in no training fact before get rows that are fitted to the new facts; all else is frozen. Facts among
    known entities become known training facts. `valid` and `test` facts join those of the run; nothing is fitted to them.
    What was done, and how it went, is the last record of the new run's journal.

    Arguments are as of `Run.update`; the run must know the relations of the facts.
    """
    whole_number("seed", seed, least=0)
    folded = _folded(run, _with_more(run, new_facts), run.spec, seed, refit=refit)
    source = run.folder.resolve().name if run.folder is not None else run.name
    step = {
        "from": source,
        "model": sha256_of(run.folder / "model.safetensors") if run.folder is not None else None,
        "facts": new_facts.source,
        "checksums": dict(new_facts.checksums),
        **counts_of(folded),
        "seed": seed,
        "versions": versions(),
    }
    wide = folded.wide.split
    if wide.rows is not None and new_facts.rows is not None:
        wide = replace(wide, rows=joined_rows(wide.rows, new_facts.rows, wide))
    columns = run.columns
    if columns is not None and wide.rows is not None:
        columns = ColumnModels(wide.rows, columns.models)
    read = wide.trained_on(run.spec.training.refit)
    done = {"from": source, **counts_of(folded), **effect_of(folded)}
    return type(run)(
        folded.model,
        folded.parameters,
        spec=run.spec,
        split=wide,
        validated=run.validated.with_evidence_of(read)._replace(columns=columns, answer_sets=None),
        definitions=run.definitions,
        events=[*run.events, {"event": "update", "time": round(time.time(), 3), **done}],
        environment={**run.environment, "updates": [*run.environment.get("updates", []), step]},
    )


def _with_more(trained: Trained, given: Split) -> MergedSplit:
    """Return the facts of a run with more; refused unless there is a new one among them."""
    for name in given.schema.names:
        if name in trained.definitions:
            raise DataError(
                "defined-relation",
                f"{name} is a defined relation: its facts follow from those of others",
                place=given.source,
            )
    wide = merge(trained.split, given)
    if not wide.read:
        raise DataError("unusable-new-facts", "there are no facts in it", place=given.source)
    if not any(map(len, wide.added.values())):
        raise DataError(
            "nothing-new", f"nothing is new, for the run knows all of its {wide.read:,} facts already", place=given.source
        )
    return wide


def _folded(trained: Trained, wide: MergedSplit, spec: Spec, seed: int, *, refit: bool) -> Folded:
    began = time.perf_counter()
    facts = wide.split.train
    old, now = wide.before.train.degrees(), facts.degrees()
    model = MODELS[spec.model](facts, trained.model.settings)
    rows = wide.split.entities.ids(trained.model.graph.entities).astype(np.int64)
    named = np.isin(np.arange(len(now)), rows)
    new = np.flatnonzero(~named | ((old == 0) & (now > 0)))
    refitted = np.flatnonzero((old > 0) & (now > 2 * old)) if refit else np.empty(0, np.int64)
    start = init_new_entities(model, _with_room(trained, rows, len(now)), facts, new, seed)
    fitted = np.union1d(new[now[new] > 0], refitted)
    parameters = fold_in(model, start, facts, fitted, spec.training, seed)
    return Folded(trained, wide, model, start, parameters, new, refitted, time.perf_counter() - began)


def _with_room(trained: Trained, rows: Int64, count: int) -> Parameters:
    """Return a run's parameters with its entities' rows moved to `rows` among so many; the other rows are 0."""
    parameters = dict(trained.parameters)
    for name in trained.model.entity_tables:
        table = parameters[name]
        parameters[name] = torch.zeros(count, *table.shape[1:], dtype=table.dtype)
        parameters[name].index_copy_(0, torch.from_numpy(rows), table)
    return parameters


def join(runs: Sequence[Kind]) -> Kind:
    """Return the run of the sum of several trained models, in memory.

    Probabilities are calibrated anew on validation facts, and evidence is weighed anew where all runs have some. If a run
    was refitted on these facts, they tell nothing more: then there are no probabilities, and evidence weighs as much as in
    all runs together, since their scores are summed. Relations that were defined on a run are not taken over.
    """
    if len(runs) < 2:
        raise SettingError("runs-not-alike", "an ensemble joins at least two runs")
    first = runs[0]
    for other in runs[1:]:
        if other.split.checksums != first.split.checksums or any(
            len(other.split.parts[name]) != len(part) for name, part in first.split.parts.items()
        ):
            raise RelatumError("other-training-facts", f"was trained on other facts than {first.name}", place=other.name)
    model, parameters = joined([run.model for run in runs], [run.parameters for run in runs])
    members = [_member(run) for run in runs]
    evidence = [run.evidence for run in runs if run.evidence is not None]
    weighed = len(evidence) == len(runs)
    if any(run.spec.training.refit for run in runs):
        learned = Validated(evidence=Evidence.joined(evidence) if weighed else None)
    else:
        learned = validated(model, parameters, first.split, evidence=weighed)
    return type(first)(
        model,
        parameters,
        spec=Spec(first.spec.data, spec=first.spec, settings=model.settings),
        split=first.split,
        validated=learned,
        events=[],
        environment={**first.environment, "ensemble": members},
    )


def _member(run: Trained) -> dict[str, Any]:
    """Return what is worth knowing of a run that went into an ensemble."""
    history = run.history
    return {
        "seed": run.spec.seed,
        "minutes_of_training": round(history.seconds / 60, 2),
        "epochs": history.epochs,
        "valid_mrr": None if history.best is None else history.best.value,
    }
