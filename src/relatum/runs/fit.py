"""Training as a person sees it: in memory, or into a directory that fills, can be stopped at any moment, and resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from relatum.closed_folders import close_folder, make_folder, refuse_links_in, remove_file, status
from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.quality import warn_of_facts_in_train, warn_of_near_names
from relatum.data.row_store import RowStore
from relatum.data.schema import Schema
from relatum.datasets.file_types import holds_tables
from relatum.datasets.load import load
from relatum.errors import DataError, RelatumError
from relatum.file_locks import LockTakenError, locked
from relatum.files import stale_temporaries
from relatum.imputation.models import ColumnModels
from relatum.inference.validation import validator
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.store import save_model
from relatum.runs.directory import (
    CARD,
    CHECKPOINT,
    JOURNAL,
    LOCK,
    SPEC,
    card,
    environment_of,
    is_free,
    load_facts,
    read_environment,
    save_environment,
    save_facts,
    write_text,
)
from relatum.runs.journal import Journal
from relatum.runs.spec import Spec
from relatum.runs.trackers import Trackers, tracked
from relatum.runs.trained import Kind
from relatum.runs.validated import Validated, fitted_columns, save_validated, validated
from relatum.tables import Imported, read
from relatum.tables.more_rows import facts_of_rows, read_more_rows
from relatum.time_limit import now
from relatum.training.checkpoint import load_state, require_fitting, save_state
from relatum.training.clock import Clock
from relatum.training.loop import State, as_stored, start, train
from relatum.workers.states import load_parts, remove_parts, remove_scratch

Watch = Callable[[str, State, dict[str, Any]], None]
SpecOf = Callable[[Split], Spec]

CHECKPOINT_EVERY = 120.0  # seconds


def train_model(
    spec: Spec,
    split: Split,
    watch: Watch,
    state: State | None = None,
    clock: Clock | None = None,
    columns: ColumnModels | None = None,
) -> tuple[Model, State]:
    """Return the model of a spec, and the state after training it on a split, from a state on if one is given.

    `columns` are the models of columns, which the end of a limited training is rehearsed with.
    """
    model = MODELS[spec.model](split.train, spec.settings)
    if clock is not None and clock.is_limited:
        with clock.measured("closing"):  # a rehearsal
            untrained = as_stored(start(model, spec.training, spec.seed).parameters, model, spec.training)
            learned_by(spec, split, model, untrained, columns)
    validate = validator(model, split, spec.training.validation_metric)
    return model, train(model, split.train, spec.training, spec.seed, state, validate, watch, clock)


def learned_by(spec: Spec, split: Split, model: Model, parameters: Parameters, columns: ColumnModels | None) -> Validated:
    """Return what validation facts teach about parameters."""
    training = spec.training
    return validated(
        model, parameters, split, evidence=training.evidence, seed=spec.seed, columns=columns, answer_sets=not training.refit
    )


def _refit(spec: Spec, split: Split, watch: Watch, state: State) -> tuple[Model, State]:
    """Return the model of a spec and the state after training it on train and valid together.

    `state` is that of training, whose best epoch is the last one here, or that of the refit itself, which then goes on.
    """
    everything = split.trained_on(refit=True)
    model = MODELS[spec.model](everything, spec.settings)
    if not state.refit:
        epochs, state = state.best_epoch, start(model, spec.training, spec.seed)
        state.refit = epochs
    return model, train(model, everything, spec.training, spec.seed, state, None, watch)


def _fit(
    spec: Spec, split: Split, watch: Watch, state: State | None, clock: Clock, learned: Callable[[Validated], None]
) -> tuple[Model, State]:
    """Return the model and its state after all that a spec asks for.

    `learned` is given what is fitted on validation facts while the model has not seen them.
    """
    if state is None or not state.refit:
        columns = fitted_columns(split, spec.seed)
        model, state = train_model(spec, split, watch, state, clock, columns)
        learned(learned_by(spec, split, model, state.best, columns))
        if not (spec.training.refit and len(split.valid)):
            return model, state
    return _refit(spec, split, watch, state)


def _clock(spec: Spec, split: Split, began: float) -> Clock:
    """Return the clock of a run; a refit is counted to take as long as the training whose epochs it repeats."""
    return Clock(spec.training.minutes, began, 2 if spec.training.refit and len(split.valid) else 1)


def fit_in_memory(
    kind: type[Kind],
    spec: Spec | SpecOf,
    split: Split,
    watch: Watch = lambda *_: None,
    began: float | None = None,
    trackers: Trackers | None = None,
) -> Kind:
    """Return a run of some kind, trained on a split, with nothing kept on disk; `began` and `trackers` as for `fit_into`."""
    began = now() if began is None else began
    spec = spec_for(spec, split)
    journal = Journal()

    def note(event: str, now: State, facts: dict[str, Any]) -> None:
        write_event(journal, event, now, facts)
        watch(event, now, facts)

    found: list[Validated] = []
    with tracked(journal, trackers, spec):
        journal.write("start", epoch=0)
        model, trained = _fit(spec, split, note, None, _clock(spec, split, began), found.append)
    return kind(
        model,
        trained.best,
        spec=spec,
        split=split,
        validated=found[-1].with_evidence_of(split.trained_on(spec.training.refit)),
        events=journal.read(),
        environment=environment_of(split),
    )


def fit_into(
    folder: Path,
    spec: Spec | SpecOf,
    split: Callable[[], Split],
    watch: Watch = lambda *_: None,
    began: float | None = None,
    trackers: Trackers | None = None,
) -> None:
    """Train into a new directory, which then holds all that a trained model needs, the facts included.

    The facts are asked for, by `split`, once the directory is known to be free; `training.minutes` count from the moment
    `began`, by `time_limit.now`, by default now.
    """
    began = now() if began is None else began
    require_free(folder)
    facts = split()
    spec = spec_for(spec, facts)
    make_folder(folder)
    with held(folder):
        begin(folder, spec, facts)
        _run(folder, spec, facts, watch, began, trackers)


def resume(
    folder: Path, watch: Watch = lambda *_: None, began: float | None = None, trackers: Trackers | None = None
) -> None:
    """Continue a run from its last checkpoint; what comes out is the same, to the bit, as without the break."""
    began = now() if began is None else began
    require_resumable(folder)
    with held(folder):
        _run(folder, Spec.of_run(folder / SPEC), load_facts(folder), watch, began, trackers)


def begin(folder: Path, spec: Spec, facts: Split) -> None:
    """Write what a run starts from into a directory that this process holds."""
    require_free(folder)  # once more: another process may have begun here while this one was reading
    save_facts(folder, facts)
    save_environment(folder, environment_of(facts))
    write_text(folder / SPEC, spec.to_toml())  # last: a directory with a spec can be resumed, one without it begun anew


def require_resumable(folder: Path) -> None:
    """Refuse a directory without a run that training could go on in."""
    close_folder(folder)
    if status(folder / SPEC) is None:
        raise RelatumError("not-a-run", f"not a run (there is no {SPEC})", place=folder)
    environment = read_environment(folder)
    for key, came_from in (("updates", "an update"), ("ensemble", "several runs")):
        if environment.get(key):
            reason = f"this run comes from {came_from} and has no optimizer state; train a new run instead"
            raise RelatumError("cannot-resume", f"cannot resume: {reason}", place=folder)


def spec_for(spec: Spec | SpecOf, split: Split) -> Spec:
    """Return the spec of training on these facts, of which there must be some."""
    if not len(split.train):
        raise DataError(
            "no-facts", "there are no facts to train on", place=spec.data if isinstance(spec, Spec) else split.source
        )
    return spec if isinstance(spec, Spec) else spec(split)


def require_free(folder: Path) -> None:
    """Refuse a directory that a run cannot begin in."""
    close_folder(folder)
    if not is_free(folder):
        raise RelatumError(
            "directory-not-empty",
            "the directory is not empty",
            place=folder,
            remedy="resume the run in it, or choose another directory",
        )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes off a run, and first remove what killed ones have left half written."""
    try:
        with locked(folder / LOCK, 0):
            for path in stale_temporaries(folder):
                remove_file(path)
            remove_scratch(folder)
            refuse_links_in(folder)
            yield
    except LockTakenError:
        raise RelatumError("run-in-use", "another process is training this run", place=folder) from None


def is_held(folder: Path) -> bool:
    """Return whether a process is training the run in a folder."""
    if not (folder / LOCK).exists():
        return False
    try:
        with locked(folder / LOCK, 0):
            return False
    except LockTakenError:
        return True


def _run(folder: Path, spec: Spec, split: Split, watch: Watch, began: float, trackers: Trackers | None) -> None:
    journal, clock = Journal(folder / JOURNAL), _clock(spec, split, began)
    journal.read()  # it is needed at the end: what is wrong with it should show before the work
    state = _load(folder, spec, split)
    saved = time.monotonic()

    def note(event: str, now: State, facts: dict[str, Any]) -> None:
        nonlocal saved
        write_event(journal, event, now, facts)
        if event == "validation" or time.monotonic() - saved > CHECKPOINT_EVERY:
            with clock.measured("saving"):
                _save(folder, now)
            saved = time.monotonic()
        try:
            watch(event, now, facts)
        except KeyboardInterrupt:
            _save(folder, now)
            raise

    with tracked(journal, trackers, spec):
        write_begin(journal, state)
        model, trained = _fit(spec, split, note, state, clock, lambda found: save_validated(folder, found))
        _save(folder, trained)
        write_text(folder / CARD, card(spec, split, journal.read()))
        save_model(folder, model, trained.best)  # last: a run with a model counts as done


def _load(folder: Path, spec: Spec, split: Split) -> State | None:
    """Return the last state of a run, from one process or from several."""
    model = MODELS[spec.model](split.train, spec.settings)
    shared = load_parts(folder, model)
    state = load_state(folder / CHECKPOINT) if shared is None else shared
    if state is not None:
        require_fitting(folder / CHECKPOINT, state, model, spec.training)
    return state


def _save(folder: Path, state: State) -> None:
    save_state(folder / CHECKPOINT, state)
    remove_parts(folder)


def write_begin(journal: Journal, state: State | None) -> None:
    """Put into the journal that training begins, or goes on from a state."""
    if state is None:
        journal.write("start", epoch=0)
    else:
        journal.write("resume", epoch=state.epoch, **({"refit": True} if state.refit else {}))


def write_event(journal: Journal, event: str, now: State, facts: dict[str, Any]) -> None:
    """Put an event of training into the journal; an epoch with its validation, so that no checkpoint is ahead of it."""
    if now.refit:
        if event == "epoch":
            journal.write("refit", epoch=now.epoch, loss=facts["loss"], done=facts["done"])
    elif event == "epoch":
        journal.write(event, epoch=now.epoch, loss=facts["loss"], done=facts["done"])
        if facts["validation"] is not None:
            journal.write("validation", epoch=now.epoch, **facts["validation"])
    elif event == "end":
        journal.write(event, epoch=now.epoch, **facts)


def facts_of(data: Any, *, use_cache: bool = True) -> Split:
    """Return the facts that `fit` takes, as a split: by name or path, from tables, from memory; warn of what spoils them."""
    is_path = isinstance(data, str | os.PathLike)
    if (
        not is_path
        and isinstance(data, Iterable)
        and not isinstance(data, Mapping | Hypergraph)
        and not hasattr(data, "columns")
    ):
        data = list(data)
    if isinstance(data, Split):
        split = data
    elif isinstance(data, Hypergraph):
        split = _all_train(data)
    elif is_path and not holds_tables(data):
        split = load(data, use_cache=use_cache)
    elif isinstance(data, list) and data and all(map(_is_fact, data)):
        split = _all_train(Hypergraph.of(data))
    else:  # tables, whose names are looked at when they are read
        return data.split if isinstance(data, Imported) else read(data).split
    warn_of_facts_in_train(split)
    warn_of_near_names(split)
    return split


def _is_fact(row: object) -> bool:
    return isinstance(row, tuple) and all(isinstance(name, str) for name in row)


def more_facts(data: Any, rows: RowStore | None, schema: Schema) -> Split:
    """Return facts for a run: those of tables are read as its own were, in the same columns and groups."""
    if rows is None or not (isinstance(data, str | os.PathLike) and holds_tables(data)):
        return facts_of(data, use_cache=False)
    return facts_of_rows(read_more_rows(data, rows), schema)


def _all_train(graph: Hypergraph) -> Split:
    empty = Hypergraph(graph.entities, graph.schema, ())
    return Split(graph, empty, empty, source="memory")
