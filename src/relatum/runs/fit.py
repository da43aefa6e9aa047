"""Training as a person sees it: a directory that fills, can be stopped at any moment, and goes on from where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.datasets.load import load
from relatum.errors import DataError, RelatumError
from relatum.files import stale_temporaries
from relatum.inference.calibration import draw_sample, fit_calibration
from relatum.inference.ranking import Metrics, rank
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.store import save_model
from relatum.runs.directory import (
    CALIBRATION,
    CARD,
    CHECKPOINT,
    JOURNAL,
    LOCK,
    SPEC,
    card,
    is_free,
    load_facts,
    provenance_of,
    read_provenance,
    save_facts,
    save_provenance,
    write_text,
)
from relatum.runs.journal import Journal
from relatum.runs.spec import Spec
from relatum.runs.trained import Run
from relatum.training.checkpoint import load_state, save_state
from relatum.training.loop import State, train

__all__ = ["Watch", "fit", "resume", "sample", "validator"]

Watch = Callable[[str, State, dict[str, Any]], None]

_CHECKPOINT_EVERY = 120.0  # seconds
_VALIDATED = 4000  # facts that validation ranks at most; the same ones each time


def fit(spec: Spec, out: str | PathLike[str], watch: Watch = lambda *_: None) -> Run:
    """Train what `spec` says into the new directory `out`, and return the trained run.

    The directory holds all that a trained model needs, the facts included: it works when the data has moved.
    """
    folder = Path(out)
    _require_free(folder)
    split = load(spec.data)
    if not len(split.train):
        raise DataError(f"{spec.data}: there are no facts to train on")
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder):
        _require_free(folder)  # once more: another process may have begun here while this one was reading
        save_facts(folder, split)
        save_provenance(folder, provenance_of(split))
        write_text(folder / SPEC, spec.to_toml())  # last: a directory with a spec can be resumed, one without it begun anew
        _run(folder, spec, split, watch)
    return Run(folder)


def resume(out: str | PathLike[str], watch: Watch = lambda *_: None) -> Run:
    """Go on with a run from its last checkpoint; what comes out is the same, to the bit, as without the break."""
    folder = Path(out)
    if not (folder / SPEC).exists():
        raise RelatumError(f"{folder}: not a run (there is no {SPEC})")
    if read_provenance(folder).get("updates"):
        raise RelatumError(f"{folder}: was updated after training, so no training can be gone on with; train anew instead")
    with _held(folder):
        _run(folder, Spec.of_run(folder / SPEC), load_facts(folder), watch)
    return Run(folder)


def _require_free(folder: Path) -> None:
    if not is_free(folder):
        raise RelatumError(f"{folder}: already holds something; go on with it (--resume {folder}) or choose another place")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other processes off a run, and first remove what killed ones have left half written."""
    try:
        with FileLock(folder / LOCK, timeout=0):
            for path in stale_temporaries(folder):
                path.unlink()
            yield
    except Timeout:
        raise RelatumError(f"{folder}: another process is training this run") from None


def _run(folder: Path, spec: Spec, split: Split, watch: Watch) -> None:
    model = MODELS[spec.model](split.train, spec.settings)
    journal = Journal(folder / JOURNAL)
    state = load_state(folder / CHECKPOINT)
    journal.write("resume" if state is not None else "start", epoch=0 if state is None else state.epoch)
    saved = time.monotonic()

    def note(event: str, now: State, facts: dict[str, Any]) -> None:
        nonlocal saved
        if event == "epoch":  # with its validation, so that no checkpoint is ahead of the journal
            journal.write(event, epoch=now.epoch, loss=facts["loss"], done=facts["done"])
            if facts["validation"] is not None:
                journal.write("validation", epoch=now.epoch, **facts["validation"])
        elif event == "end":
            journal.write(event, epoch=now.epoch)
        if event == "validation" or time.monotonic() - saved > _CHECKPOINT_EVERY:
            save_state(folder / CHECKPOINT, now)
            saved = time.monotonic()
        try:
            watch(event, now, facts)
        except KeyboardInterrupt:
            save_state(folder / CHECKPOINT, now)
            raise

    trained = train(model, split.train, spec.training, spec.seed, state, validator(model, split), note)
    save_state(folder / CHECKPOINT, trained)
    _calibrate(folder, model, split, trained.best)
    save_model(folder, model, trained.best)  # a run with a model counts as done
    write_text(folder / CARD, card(spec, split, trained))


def validator(model: Model, split: Split, most: int = _VALIDATED) -> Callable[[Parameters], float] | None:
    """Return the validation MRR as a function of parameters, filtered by train and valid alone; None without valid facts."""
    if not len(split.valid):
        return None
    facts = sample(split.valid, most)
    known = KnownAnswers(split.train, split.valid)
    return lambda parameters: Metrics.of(rank(model, parameters, facts, known)).mrr


def _calibrate(folder: Path, model: Model, split: Split, parameters: Parameters) -> None:
    """Fit on validation facts what turns scores into probabilities, and keep it with the run."""
    if not len(split.valid):
        return
    with torch.no_grad():
        tables = model.encode(parameters)
    labelled = draw_sample(
        model, tables, sample(split.valid, _VALIDATED), KnownAnswers(split.train, split.valid), split.train
    )
    found = fit_calibration(labelled, len(model.schema)).to_json()
    write_text(folder / CALIBRATION, json.dumps(found) + "\n")


def sample(graph: Hypergraph, most: int) -> Hypergraph:
    """Return about `most` facts of a hypergraph, always the same."""
    chance = np.random.default_rng(0)
    blocks = []
    for block in graph.blocks.values():
        kept = chance.random(len(block)) < most / len(graph)
        blocks.append((block.relations[kept], block.columns[:, kept]))
    return Hypergraph.sort(graph.entities, graph.schema, blocks)
