"""Training as a person sees it: a directory that fills, can be stopped at any moment, and goes on from where it was."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout

from relatum.data.hypergraph import Hypergraph, Split
from relatum.data.known_answers import KnownAnswers
from relatum.data.loading import load
from relatum.errors import RelatumError
from relatum.evaluation.ranking import rank
from relatum.evaluation.ranks import Metrics
from relatum.files import atomic_file
from relatum.models import MODELS
from relatum.models.base import Model, Parameters
from relatum.models.store import save_model
from relatum.runs.card import card
from relatum.runs.directory import CARD, CHECKPOINT, JOURNAL, LOCK, PROVENANCE, SPEC, load_facts, save_facts
from relatum.runs.journal import Journal
from relatum.runs.run import Run
from relatum.runs.spec import Spec
from relatum.training.checkpoint import load_state, save_state
from relatum.training.loop import State, train

__all__ = ["fit", "resume"]

Watch = Callable[[str, State, dict[str, Any]], None]

_CHECKPOINT_EVERY = 120.0  # seconds
_VALIDATED = 4000  # facts that validation ranks at most; the same ones each time


def fit(spec: Spec, out: str | PathLike[str], watch: Watch = lambda *_: None) -> Run:
    """Train what `spec` says into the new directory `out`, and return the trained run.

    The directory holds all that a trained model needs, the facts included: it works when the data has moved.
    """
    folder = Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise RelatumError(f"{folder}: already holds something; go on with it (--resume {folder}) or choose another place")
    split = load(spec.data)
    folder.mkdir(parents=True, exist_ok=True)
    save_facts(folder, split)
    _write(folder / PROVENANCE, json.dumps(_provenance(split), indent=2) + "\n")
    _write(folder / SPEC, spec.to_toml())  # last: a directory with a spec can be resumed
    return _train(folder, spec, split, watch)


def resume(out: str | PathLike[str], watch: Watch = lambda *_: None) -> Run:
    """Go on with a run from its last checkpoint; what comes out is the same, to the bit, as without the break."""
    folder = Path(out)
    if not (folder / SPEC).exists():
        raise RelatumError(f"{folder}: not a run (there is no {SPEC})")
    return _train(folder, Spec.read(folder / SPEC), load_facts(folder), watch)


def _train(folder: Path, spec: Spec, split: Split, watch: Watch) -> Run:
    try:
        with FileLock(folder / LOCK, timeout=0):
            _run(folder, spec, split, watch)
    except Timeout:
        raise RelatumError(f"{folder}: another process is training this run") from None
    return Run(folder)


def _run(folder: Path, spec: Spec, split: Split, watch: Watch) -> None:
    model = MODELS[spec.model](split.train, spec.settings)
    journal = Journal(folder / JOURNAL)
    state = load_state(folder / CHECKPOINT)
    journal.write("resume" if state is not None else "start", epoch=0 if state is None else state.epoch)
    saved = time.monotonic()

    def note(event: str, now: State, facts: dict[str, Any]) -> None:
        nonlocal saved
        if event != "step":
            journal.write(event, epoch=now.epoch, **facts)
        if event == "validation" or time.monotonic() - saved > _CHECKPOINT_EVERY:
            save_state(folder / CHECKPOINT, now)
            saved = time.monotonic()
        try:
            watch(event, now, facts)
        except KeyboardInterrupt:
            save_state(folder / CHECKPOINT, now)
            raise

    trained = train(model, split.train, spec.training, spec.seed, state, _validator(model, split), note)
    save_state(folder / CHECKPOINT, trained)
    save_model(folder, MODELS, model, trained.best)
    _write(folder / CARD, card(spec, split, trained))


def _validator(model: Model, split: Split) -> Callable[[Parameters], float] | None:
    """Return the validation MRR as a function of parameters, filtered by train and valid alone; None without valid facts."""
    if not len(split.valid):
        return None
    facts = _sample(split.valid, _VALIDATED)
    known = KnownAnswers(split.train, split.valid)
    return lambda parameters: Metrics.of(rank(model, parameters, facts, known)).mrr


def _sample(graph: Hypergraph, most: int) -> Hypergraph:
    """Return about `most` facts of a hypergraph, always the same."""
    chance = np.random.default_rng(0)
    blocks = []
    for block in graph.blocks.values():
        kept = chance.random(len(block)) < most / len(graph)
        blocks.append((block.relations[kept], block.columns[:, kept]))
    return Hypergraph.sort(graph.entities, graph.schema, blocks)


def _provenance(split: Split) -> dict[str, Any]:
    from relatum import __version__

    return {
        "data": split.origin,
        "checksums": dict(split.checksums),
        "versions": {"relatum": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as file:
        file.write(text.encode())
