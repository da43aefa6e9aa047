"""Training by several workers into one run directory; what comes out is what one process would have written, to the bit."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from relatum.closed_folders import close_folder, make_folder, remove_file
from relatum.data.hypergraph import Hypergraph, Split
from relatum.errors import RelatumError, SettingError
from relatum.files import is_there, read_json, write_bytes
from relatum.inference.validation import validator
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.store import save_model
from relatum.progress import silence
from relatum.runs.directory import CARD, CHECKPOINT, JOURNAL, SPEC, card, load_facts, write_text
from relatum.runs.fit import (
    CHECKPOINT_EVERY,
    SpecOf,
    Watch,
    begin,
    held,
    learned_by,
    require_free,
    require_resumable,
    spec_for,
    write_begin,
    write_event,
)
from relatum.runs.journal import Journal
from relatum.runs.spec import Spec
from relatum.runs.trackers import Trackers, tracked
from relatum.runs.validated import save_validated
from relatum.training.checkpoint import load_state, remove_state, require_fitting
from relatum.training.loop import State, Steps, start, train
from relatum.workers.group import Group, Shares
from relatum.workers.ranking import SharedScorer
from relatum.workers.states import gathered, load_parts, own_part, remove_scratch, save_parts, scratch_folder
from relatum.workers.steps import SharedSteps, shared_rows

_LAUNCH, _RUN_ID, _RESTARTS = "launch.json", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"
_SAVE = 1  # what the first worker asks of all


def fit_as_worker(
    group: Group,
    folder: Path,
    spec: Spec | SpecOf,
    split: Callable[[], Split],
    watch: Watch = lambda *_: None,
    trackers: Trackers | None = None,
) -> None:
    """Train into a new directory as the first worker of a group, which reads the data, and begins the run.

    When a launcher starts the group again, training goes on from the last checkpoint.
    """
    with _holding(folder) as hold:

        def prepare() -> None:
            if _is_restarted(folder):
                hold()
                return
            require_free(folder)
            facts = split()
            found = spec_for(spec, facts)
            _refuse(found, group)
            make_folder(folder)
            hold()
            begin(folder, found, facts)
            if _launch():
                write_bytes(folder / _LAUNCH, json.dumps({"launch": _launch()}).encode())

        group.first_alone(prepare, "begun")
        _run(group, folder, watch, trackers)


def resume_as_worker(group: Group, folder: Path, watch: Watch = lambda *_: None, trackers: Trackers | None = None) -> None:
    """Continue a run as the first worker of a group, from a checkpoint of any number of workers, or of one process."""
    with _holding(folder) as hold:

        def prepare() -> None:
            require_resumable(folder)
            hold()

        group.first_alone(prepare, "begun")
        _run(group, folder, watch, trackers)


def follow(group: Group, folder: Path) -> None:
    """Train as any other worker, in the run that the first one begins or resumes."""
    close_folder(folder)
    with silence():
        group.wait_until_done("begun")
        _run(group, folder, lambda *_: None, None)


@contextmanager
def _holding(folder: Path) -> Iterator[Callable[[], None]]:
    """Yield a function that keeps other processes off a run, until this is left."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(held(folder))


def _run(group: Group, folder: Path, watch: Watch, trackers: Trackers | None) -> None:
    training: list[_Training] = []

    def prepare() -> None:
        if not (folder / SPEC).exists():
            where = "on several hosts it must lie in a directory that all of them share"
            raise RelatumError("not-shared", f"{group.names[group.number]} does not see the run {folder}; {where}")
        spec = Spec.of_run(folder / SPEC)
        _refuse(spec, group)
        training.append(_Training(group, folder, spec, load_facts(folder), watch))

    group.together(prepare)
    with tracked(training[0].journal, trackers, training[0].spec):
        training[0].work()


class _Training:
    """The training of one run by one worker."""

    def __init__(self, group: Group, folder: Path, spec: Spec, split: Split, watch: Watch) -> None:
        self.group, self.folder, self.spec, self.split, self.watch = group, folder, spec, split, watch
        self.model: Model = MODELS[spec.model](split.train, spec.settings)
        self.shares = Shares(self.model.num_entities, group.count, group.number)
        self.journal = Journal(folder / JOURNAL if group.is_first else None)
        self.state = self._load()
        self.steps: SharedSteps | None = None
        self.saved = self.began = time.monotonic()
        self.waited = group.seconds

    def work(self) -> None:
        """Train, and where this is the first worker, write what a run has at its end."""
        state = self.state
        write_begin(self.journal, state)
        if state is None or not state.refit:
            state = self._trained(self.split.train, state)
            best = self._gathered(state)
            wants_refit = self.spec.training.refit and len(self.split.valid) > 0
            if wants_refit:
                self.group.first_alone(lambda: self._learn(best), "validated")  # what is learned may take long
            else:
                self._learn(best)
                self._close(best)
                return
        everything = self.split.trained_on(refit=True)
        self.model = MODELS[self.spec.model](everything, self.spec.settings)
        if state is not None and not state.refit:
            epochs = state.best_epoch
            state = self._start()
            state.refit = epochs
        state = self._trained(everything, state)
        self._close(self._gathered(state))

    def _trained(self, facts: Hypergraph, state: State | None) -> State:
        """Return the state after training on facts, with this worker's entities."""
        spec = self.spec
        if state is None:
            state = self._start()
        validate = None
        if not state.refit:
            validate = validator(self.model, self.split, spec.training.validation_metric, scorer_of=self._scorer)
        rows = shared_rows(self.folder, self.group, self.model, facts, spec.training, spec.seed)
        found = train(
            self.model, facts, spec.training, spec.seed, state, validate, self._note, steps_of=self._steps, rows=rows
        )
        self._save(found)
        return found

    def _start(self) -> State:
        """Return the state before the first step, with this worker's entities."""
        return start(self.model, self.spec.training, self.spec.seed, range(self.shares.first, self.shares.last))

    def _learn(self, best: Parameters | None) -> None:
        """Write what validation facts teach about the best parameters, where this worker has all of them."""
        if best is not None:
            save_validated(self.folder, learned_by(self.spec, self.split, self.model, best, None))

    def _gathered(self, state: State) -> Parameters | None:
        """Return the best parameters of all workers to the first one."""
        return gathered(state.best, self.model, self.shares, self.group, scratch_folder(self.folder))

    def _scorer(self, parameters: Parameters) -> SharedScorer:
        return SharedScorer(self.group, self.shares, self.model, parameters)

    def _steps(self, *parts: Any) -> Steps:
        self.steps = SharedSteps(self.group, self.shares, self.model, *parts)
        return self.steps

    def _note(self, event: str, now: State, facts: dict[str, Any]) -> None:
        """Write what happened, and save the state when all workers have agreed on it."""
        if event == "end":
            facts = {**facts, "workers": self.group.count, "communication": self._share(), "bytes_sent": self.group.sent}
        write_event(self.journal, event, now, facts)
        if self.steps is not None and (event == "validation" or (event == "step" and self.steps.agreed == _SAVE)):
            self._save(now)
        if self.steps is not None and time.monotonic() - self.saved > CHECKPOINT_EVERY:
            self.steps.wanted = _SAVE  # it counts where this is the first worker, which tells all with the next step
        self.watch(event, now, facts)

    def _share(self) -> float:
        """Return the share of time since the start that this worker has spent in communication, waiting included."""
        return round((self.group.seconds - self.waited) / max(time.monotonic() - self.began, 1e-9), 4)

    def _save(self, state: State) -> None:
        save_parts(self.folder, state, self.model, self.shares, self.group)
        self.saved = time.monotonic()
        if self.group.is_first:
            remove_state(self.folder / CHECKPOINT)  # it is of one process, and older

    def _load(self) -> State | None:
        state = load_parts(self.folder, self.model, self.shares.first, self.shares.last)
        if state is None:
            whole = load_state(self.folder / CHECKPOINT)
            state = None if whole is None else own_part(whole, self.model, self.shares)
        if state is not None:
            own = range(self.shares.first, self.shares.last)
            require_fitting(self.folder / CHECKPOINT, state, self.model, self.spec.training, own)
        return state

    def _close(self, best: Parameters | None) -> None:
        """Write the model, where this worker has all of it; others have no more to do."""
        if best is None:
            return
        write_text(self.folder / CARD, card(self.spec, self.split, self.journal.read()))
        save_model(self.folder, self.model, best)  # last: a run with a model counts as done
        remove_file(self.folder / _LAUNCH)
        remove_scratch(self.folder)
        self.group.say_done("finished")


def _refuse(spec: Spec, group: Group) -> None:
    """Refuse what several workers cannot do."""
    alone = "train it with one process"
    if MODELS[spec.model].reads_facts:
        raise SettingError(
            "not-distributable",
            f"a step reads facts of any entity, which workers do not share out; {alone}",
            place=f"model {spec.model}",
        )
    if spec.training.minutes is not None:
        raise SettingError(
            "workers-without-clock",
            f"{group.count} workers go by epochs, not by a clock",
            place="training.minutes",
            remedy=f"leave it out, or {alone}",
        )
    if getattr(spec.settings, "sigma", None) == "exp":
        raise SettingError(
            "sigma-not-ranked-in-parts",
            "exp cannot be ranked in parts",
            place="model.sigma",
            remedy=f"take sigmoid, or {alone}",
        )


def _launch() -> str:
    """Return the name that a launcher has given to what it started, the same after a restart; empty if it gave none."""
    name = os.environ.get(_RUN_ID, "")
    return "" if name == "none" else name


def _is_restarted(folder: Path) -> bool:
    """Return whether a launcher has started these workers again, after the run in the folder was begun by it."""
    close_folder(folder)
    if not (folder / SPEC).exists():
        return False
    if os.environ.get(_RESTARTS, "0") not in ("", "0"):
        return True
    path = folder / _LAUNCH
    return bool(_launch()) and is_there(path) and read_json(path, "launch", lambda data: data["launch"]) == _launch()
