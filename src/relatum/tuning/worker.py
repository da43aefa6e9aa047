"""One process at work on a study: it claims trials, trains them in memory, and writes down what they reached."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from relatum.data.hypergraph import Split
from relatum.errors import NumericError, SettingError
from relatum.extras import optional
from relatum.runs.fit import Watch, train_model
from relatum.training.loop import State
from relatum.tuning.space import Value
from relatum.tuning.study import BEAT, Study

with optional("optuna", extra="tune"):
    import optuna


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
        if time.monotonic() - shown > BEAT:
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
        study.prune(trial)
    except optuna.exceptions.UpdateFinishedTrialError:
        why = "another process has taken this trial: this one sent no heartbeat for too long"
    except BaseException as error:
        study.lose(trial, blame=not isinstance(error, KeyboardInterrupt))
        raise
    return Outcome(trial.number, trial.params, score, why, time.monotonic() - began)
