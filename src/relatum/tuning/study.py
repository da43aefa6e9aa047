"""A study that many processes work on: each trial is claimed by one of them, and what a dead one held is claimed again.

Claims are made under the storage's lock, so no two processes can take one trial, one point of the grid, or the last of the
trials that are left. What comes next follows from the study alone, not from who asks: the sampler is seeded with the seed of
the spec and the number of trials claimed before, so a study that one process goes through has the same trials each time,
however often it was killed on the way.

The folder of a study holds which study it is, its journal if it is kept there, and the best settings so far.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relatum.closed_folders import close_folder, make_folder, names_in, status
from relatum.data.hypergraph import Split
from relatum.errors import NumericError, RelatumError, SettingError
from relatum.extras import optional
from relatum.files import is_there, parse_json, read_whole, stale_temporaries, write_bytes
from relatum.processes import exists, host
from relatum.runs.fit import Watch, train_model
from relatum.runs.spec import Spec
from relatum.training.loop import State
from relatum.tuning.space import Choice, Dimension, Plan, Value, apply, grid_points
from relatum.tuning.storage import Shared

with optional("optuna", extra="tune"):
    import optuna
    from optuna.trial import TrialState

_TAKEN = (TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED)
_WORKER, _LOSSES = "worker", "losses"
BEST, JOURNAL, _STUDY = "best.toml", "study.journal", "study.json"
_BEAT = 60.0  # seconds between signs of life of the process of a trial
_PATIENCE = 900.0  # seconds without one, after which it counts as dead; so clocks of machines must agree to some minutes
_MOST_LOSSES = 3  # settings whose processes die so often are given up: they would end every process that joins


class Study:
    """The trials of a plan in a storage."""

    def __init__(self, plan: Plan, shared: Shared) -> None:
        self.plan, self.exclusive = plan, shared.exclusive
        self._points = grid_points(plan.base, plan.space) if plan.sampler == "grid" else None
        self._distributions = {dimension.path: _distribution(dimension) for dimension in plan.space}
        with self.exclusive():
            self._study = optuna.create_study(
                storage=shared.storage,
                study_name=plan.name,
                direction="maximize",
                pruner=_pruner(plan),
                load_if_exists=True,
            )

    @property
    def size(self) -> int | None:
        """How many trials there can be: the points of the grid, or without one no end of them."""
        return None if self._points is None else len(self._points)

    def claim(self, most: int) -> optuna.Trial | None:
        """Return a trial that is this process's alone, or None if `most` are finished or being run by all together."""
        with self.exclusive():
            self._release_dead()
            trials = self.trials()
            taken = sum(trial.state in _TAKEN for trial in trials)
            if taken >= most:
                return None
            self._study.sampler = self._sampler(taken)
            if self._points is not None and not any(trial.state == TrialState.WAITING for trial in trials):
                held = [trial.params for trial in trials if trial.state in _TAKEN]
                free = next((point for point in self._points if point not in held), None)
                if free is None:
                    return None
                self._study.enqueue_trial(dict(free))
            trial = self._study.ask(self._distributions)
            trial.set_user_attr(_WORKER, sign_of_life())
            return trial

    def stay(self, trial: optuna.Trial) -> None:
        """Show that the process of a trial is alive."""
        trial.set_user_attr(_WORKER, sign_of_life())

    def same_as(self, trial: optuna.Trial) -> optuna.trial.FrozenTrial | None:
        """Return a complete trial with the same settings, which would only be trained to the same score again."""
        return next((one for one in self.best(len(self.trials())) if one.params == trial.params), None)

    def finish(self, trial: optuna.Trial, score: float | None) -> None:
        """Write down what a trial reached, if it reached its end; nothing if it was given to another process meanwhile."""
        state = TrialState.PRUNED if score is None else TrialState.COMPLETE
        with self.exclusive():
            self._study.tell(trial, score, state, skip_if_finished=True)

    def lose(self, trial: optuna.Trial, *, blame: bool) -> None:
        """Give a trial back without a result; `blame` if its settings may be why."""
        with self.exclusive():
            self._lose(trial.number, blame=blame)

    def spec_of(self, values: dict[str, Value]) -> Spec:
        """Return the base with the values of a trial."""
        return apply(self.plan.base, values)

    def trials(self) -> list[optuna.trial.FrozenTrial]:
        """Return all trials, those that were lost included."""
        return self._study.get_trials(deepcopy=False)

    def best(self, most: int) -> list[optuna.trial.FrozenTrial]:
        """Return the best complete trials, the best first, and among equals the first."""
        complete = (trial for trial in self.trials() if trial.state == TrialState.COMPLETE)
        return sorted(complete, key=lambda trial: (-(trial.value or 0.0), trial.number))[:most]

    def counts(self) -> dict[str, int]:
        """Return how many trials are complete, pruned, running and waiting, and how many times one was lost."""
        found = Counter(trial.state for trial in self.trials())
        names = ("complete", "pruned", "running", "waiting", "fail")
        return {("lost" if name == "fail" else name): found[TrialState[name.upper()]] for name in names}

    def _release_dead(self) -> None:
        """Give back the trials of dead processes; the lock is held, so none can be between claim and first sign of life."""
        for trial in self.trials():
            if trial.state == TrialState.RUNNING and _is_dead(trial.user_attrs.get(_WORKER)):
                self._lose(trial.number, blame=True)

    def _lose(self, number: int, *, blame: bool) -> None:
        trial = self.trials()[number]
        if trial.state != TrialState.RUNNING:
            return
        losses = trial.user_attrs.get(_LOSSES, 0) + blame
        is_over = losses >= _MOST_LOSSES
        self._study.tell(number, state=TrialState.PRUNED if is_over else TrialState.FAIL)
        if not is_over and trial.params:
            self._study.enqueue_trial(dict(trial.params), user_attrs={_LOSSES: losses})

    def _sampler(self, claimed: int) -> optuna.samplers.BaseSampler:
        seed = int(np.random.SeedSequence([self.plan.base.seed, claimed]).generate_state(1)[0])
        if self._points is not None:
            return optuna.samplers.RandomSampler(seed)  # the grid says what comes next: nothing is drawn
        return optuna.samplers.TPESampler(seed=seed)


def sign_of_life() -> dict[str, Any]:
    """Return what a process writes into the trial that it has claimed."""
    return {"host": host(), "process": os.getpid(), "time": time.time()}


def _is_dead(sign: Mapping[str, Any] | None) -> bool:
    """Return whether the process that wrote this is gone; without any sign it was killed before it could write one."""
    if sign is None or time.time() - sign["time"] > _PATIENCE:
        return True
    return bool(sign["host"] == host()) and not exists(sign["process"])


def _distribution(dimension: Dimension) -> optuna.distributions.BaseDistribution:
    if isinstance(dimension, Choice):
        return optuna.distributions.CategoricalDistribution(dimension.values)
    if isinstance(dimension.low, int) and isinstance(dimension.high, int):
        return optuna.distributions.IntDistribution(dimension.low, dimension.high, log=dimension.is_log)
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.is_log)


def _pruner(plan: Plan) -> optuna.pruners.BasePruner:
    """Return what ends trials early; time is counted in epochs."""
    training = plan.base.training
    if plan.pruner == "median":  # not in the first fifth: a small rate learns slowly at first
        return optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=training.epochs // 5)
    if plan.pruner == "halving":
        return optuna.pruners.SuccessiveHalvingPruner(min_resource=training.validate_every, reduction_factor=3)
    return optuna.pruners.NopPruner()


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: with a score, or without one and why; a score may be known from a trial before."""

    number: int
    values: dict[str, Value]
    score: float | None
    why: str
    seconds: float


def work(
    study: Study,
    split: Split,
    most: int,
    until: float = float("inf"),
    watch: Watch = lambda *_: None,
) -> Iterator[Outcome]:
    """Yield how each trial of this process ended, until `most` are finished or being run by all processes together.

    Args:
        study: what is worked on.
        split: the data; its test facts are not looked at.
        most: how many trials the study is to have.
        until: by `time.monotonic()`, after which no trial is begun.
        watch: called during training as in `fit`. If it raises, the trial is given back, and another process can claim it.
    """
    while time.monotonic() < until and (trial := study.claim(most)) is not None:
        yield _carry_out(study, split, trial, watch)


def _carry_out(study: Study, split: Split, trial: optuna.Trial, watch: Watch) -> Outcome:
    began = shown = time.monotonic()

    def note(event: str, state: State, facts: dict[str, Any]) -> None:
        nonlocal shown
        if time.monotonic() - shown > _BEAT:
            study.stay(trial)
            shown = time.monotonic()
        if event == "validation":
            trial.report(facts["score"], state.epoch)
            if not state.done and trial.should_prune():
                raise optuna.TrialPruned(f"pruned after epoch {state.epoch} with MRR {state.best_score:.4f}")
        watch(event, state, facts)

    score: float | None = None
    why = ""
    try:
        if (known := study.same_as(trial)) is not None:
            score, why = known.value, f"the same settings as trial {known.number}"
        else:
            score = train_model(study.spec_of(trial.params), split, note)[1].best_score
        study.finish(trial, score)
    except (optuna.TrialPruned, SettingError, NumericError) as error:  # settings that cannot be, or diverge, count as bad
        why = str(error)
        study.finish(trial, None)
    except optuna.exceptions.UpdateFinishedTrialError:
        why = "another process has taken this trial: this one sent no heartbeat for too long"
    except BaseException as error:
        study.lose(trial, blame=not isinstance(error, KeyboardInterrupt))
        raise
    return Outcome(trial.number, trial.params, score, why, time.monotonic() - began)


def require_folder(folder: Path, plan: Plan) -> None:
    """Refuse a folder that holds another study, or anything else."""
    close_folder(folder)
    known, remedy = folder / _STUDY, "choose another folder"
    if is_there(known):
        try:
            before = parse_json(read_whole(known))
        except ValueError:
            raise RelatumError("damaged-file", "not valid JSON", place=known, remedy=remedy) from None
        if not isinstance(before, dict):
            raise RelatumError("other-study", "not that of a study", place=known, remedy=remedy)
        if before != plan.to_json():
            other = _difference(before, plan.to_json())
            raise RelatumError("other-study", f"holds a study with {other}", place=folder, remedy=remedy)
    elif status(folder) is not None:
        others = set(names_in(folder)) - {path.name for path in stale_temporaries(folder)}
        if any(not name.startswith(JOURNAL) for name in others):
            raise RelatumError("other-study", "already holds other files", place=folder, remedy=remedy)


def bind(folder: Path, plan: Plan, shared: Shared) -> None:
    """Bind a folder to a study; create it if it does not exist."""
    with shared.exclusive():
        require_folder(folder, plan)  # once more: another process may have come first
        make_folder(folder)
        if not is_there(folder / _STUDY):
            write_bytes(folder / _STUDY, (json.dumps(plan.to_json(), indent=1) + "\n").encode())


def save_best(folder: Path, study: Study) -> None:
    """Write the best settings so far as a spec; under the lock, so that no older best comes after a newer one."""
    with study.exclusive():
        best = study.best(1)
        if best:
            comment = f"# Validation MRR {best[0].value:.6f}: trial {best[0].number} of the study {study.plan.name}.\n"
            text = comment + study.spec_of(best[0].params).to_toml()
            path = folder / BEST
            if not is_there(path) or read_whole(path) != text.encode():
                write_bytes(path, text.encode())


def _difference(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> str:
    """Return the first setting in which two plans differ, and both its values."""
    for key in dict.fromkeys([*before, *now]):
        old, new = before.get(key), now.get(key)
        if old != new and isinstance(old, Mapping) and isinstance(new, Mapping):
            return _difference(old, new, f"{path}{key}.")
        if old != new:
            return f"{path}{key} = {old}, not {new}"
    return "other settings"
