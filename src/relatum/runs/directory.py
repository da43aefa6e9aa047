"""What lies where in a run directory: facts, calibration, environment and model card."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol, Self, TypedDict, TypeVar

import numpy as np
import torch

from relatum.artefacts import Count, Share, Within, read
from relatum.closed_folders import close_folder, names_in, status
from relatum.data.hypergraph import Split
from relatum.datasets.cache import load_columns, save_columns
from relatum.datasets.registry import DATASETS
from relatum.datasets.row_files import ROWS, VALUES, load_rows, save_rows
from relatum.errors import RelatumError
from relatum.files import is_there, read_document, sha256_of, stale_temporaries, write_bytes, write_document
from relatum.kernels.parallel import threads
from relatum.runs.journal import Folded, history_of
from relatum.runs.spec import Spec
from relatum.version import __version__

SPEC, JOURNAL, CHECKPOINT, LOCK = "spec.toml", "journal.jsonl", "checkpoint.safetensors", ".lock"
ENVIRONMENT, CARD = "environment.json", "README.md"
# Files of what is fitted on validation facts, in the order of the fields of `Validated`, and the format of each.
FITTED: Mapping[str, str] = {
    "calibration.json": "relatum-calibration",
    "answer_calibration.json": "relatum-answer-calibration",
    "new_fact_calibration.json": "relatum-new-fact-calibration",
    "evidence.json": "relatum-evidence",
    "columns.json": "relatum-column-models",
    "answer_sets.json": "relatum-answer-sets",
}

_OPTIONAL = (ROWS, VALUES, *FITTED)  # files that not every run has
_FACTS, _KEY = "facts.safetensors", {"run": "facts"}
_FORMAT, _VERSION, _FITTED_VERSION = "relatum-environment", 1, 1

_Fitted = TypeVar("_Fitted", bound="_FromJson")


class _FromJson(Protocol):
    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, data: Any, **known: Any) -> Self: ...


class Member(TypedDict):
    """A run that went into an ensemble."""

    seed: Annotated[int, Within(0, (1 << 63) - 1)]
    minutes_of_training: Annotated[float, Within(0, 1e12)]
    epochs: Count
    valid_mrr: Share | None


class Environment(TypedDict, total=False):
    """What a run was made from and where."""

    data: str
    checksums: dict[str, str]
    versions: dict[str, str]
    python: str
    machine: str
    threads: Annotated[int, Within(1, 1 << 20)]
    updates: list[Folded]
    ensemble: list[Member]
    facts: str
    files: list[str]


def close_run_around(path: Path) -> None:
    """Follow no link in the run that a file lies in which a person has named, if it lies in one."""
    if os.path.lexists(path.parent / SPEC) and os.path.lexists(path.parent / _FACTS):
        close_folder(path.parent)


def is_free(folder: Path) -> bool:
    """Return whether a run can begin in a folder: nothing is there, or only what a start has left that was killed.

    The spec comes last, so without it there is no run, and what is there can be made again.
    """
    if status(folder) is None:
        return True
    found = set(names_in(folder)) - {path.name for path in stale_temporaries(folder)} - {LOCK}
    return found <= {ROWS, VALUES, _FACTS} or (_FACTS in found and found <= {ROWS, VALUES, _FACTS, ENVIRONMENT})


def why_no_run(folder: Path) -> str:
    """Return what a folder without a trained model is instead of a run, and what to do."""
    if (folder / SPEC).exists():
        return "training has not finished; resume it with relatum.resume, or relatum train"
    if any(folder.glob("train.t*")) if folder.is_dir() else not folder.exists() and str(folder) in DATASETS:
        return f"this is a dataset, not a run; train a model on it first, with relatum.fit({str(folder)!r}) or relatum train"
    return "not a run directory; relatum.fit and relatum train write one" if folder.exists() else "no such run directory"


def save_facts(folder: Path, split: Split) -> None:
    """Keep the facts with the run, so that it works when the data has moved."""
    if split.rows is not None:
        save_rows(folder, split.rows)
    save_columns(folder / _FACTS, _KEY, split)


def load_facts(folder: Path) -> Split:
    """Return the facts of a run, which must be those that it began with."""
    split = load_columns(folder / _FACTS, _KEY)
    if split is None:
        raise RelatumError("missing-part", f"its facts ({_FACTS}) are missing or damaged", place=folder)
    wanted = read_environment(folder).get("facts")
    if wanted is not None and wanted != sha256_of(folder / _FACTS):
        raise RelatumError(
            "other-facts",
            f"its facts ({_FACTS}) are not those that it was trained on",
            place=folder,
            remedy="put these back",
        )
    _has(folder, VALUES)
    return replace(split, rows=load_rows(folder) if _has(folder, ROWS) else None)


def load_fitted(folder: Path, name: str, kind: type[_Fitted], **known: Any) -> _Fitted | None:
    """Return what was fitted, by the name of its file and what is known beside it; None where a run has none."""
    if not _has(folder, name):
        return None
    return read_document(folder / name, FITTED[name], _FITTED_VERSION, lambda data: kind.from_json(data, **known))


def save_fitted(folder: Path, name: str, fitted: _FromJson) -> None:
    """Write what was fitted, atomically."""
    write_document(folder / name, FITTED[name], _FITTED_VERSION, fitted.to_json(), indent=None)


def _has(folder: Path, name: str) -> bool:
    """Return whether a run has a file that not every run has; one that it had at first must still be there."""
    if is_there(folder / name):
        return True
    if name in read_environment(folder).get("files", ()):
        raise RelatumError("missing-part", f"{name} is missing, a part of the run", place=folder, remedy="put it back")
    return False


def write_text(path: Path, text: str) -> None:
    """Write a text, atomically."""
    write_bytes(path, text.encode())


def environment_of(split: Split) -> dict[str, Any]:
    """Return what a run that begins is made from and where: data, versions and machine."""
    return {
        "data": split.source,
        "checksums": dict(split.checksums),
        "versions": versions(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": threads(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    return {"relatum": __version__, "torch": torch.__version__, "numpy": np.__version__}


def read_environment(folder: Path) -> dict[str, Any]:
    """Return what a run was made from and where; `updates`, if there are any, lists what was folded in after training."""
    path = folder / ENVIRONMENT
    return read_document(path, _FORMAT, _VERSION, partial(read, Environment)) if is_there(path) else {}


def save_environment(folder: Path, environment: Mapping[str, Any]) -> None:
    """Write what a run was made from and where, with the checksum of its facts and the names of what not every run has.

    All of these files must be there already.
    """
    found = {"files": [name for name in _OPTIONAL if (folder / name).exists()]}
    facts = sha256_of(folder / _FACTS)
    write_document(folder / ENVIRONMENT, _FORMAT, _VERSION, {**environment, "facts": facts, **found})


def card(spec: Spec, split: Split, events: Sequence[Mapping[str, Any]]) -> str:
    """Return the model card of a run, as Markdown, by what its journal says."""
    if events and events[-1]["event"] == "update":
        return _card(spec, split, _updated(events[-1]))
    history = history_of(events)
    score = f"{history.best.value:.4f}" if history.best else "not measured: there are no valid facts"
    epoch = history.best.epoch if history.best else history.epochs
    reached = f"{score} (filtered by train and valid, realistic ties), epoch {epoch} of {history.epochs}"
    return _card(spec, split, {"best validation MRR": reached})


def _updated(update: Mapping[str, Any]) -> dict[str, str]:
    after, before = update.get("valid_mrr_after"), update.get("valid_mrr_before")
    score = (
        "not measured: there are no valid facts"
        if after is None or before is None
        else f"{after:.4f}, before the update {before:.4f}"
    )
    folded = f"{update['added']:,} facts folded into {update['from']}; {update['new_entities']:,} new entities"
    return {"validation MRR": score, "updated": folded}


def _card(spec: Spec, split: Split, reached: Mapping[str, str]) -> str:
    sizes = ", ".join(f"{part} {len(graph):,}" for part, graph in split.parts.items())
    rows = "\n".join(f"| {name} | {value} |" for name, value in reached.items())
    dataset = DATASETS.get(split.source)
    described = f"{split.source} ({dataset.licence}; {dataset.cite})" if dataset else split.source
    relation = split.schema[0] if len(split.schema) else None
    gaps = ", ".join(["?", *["..."] * (relation.arity - 1)]) if relation else "?"
    return f"""# {spec.model} on {split.source}

| | |
|---|---|
| facts | {described}: {sizes} |
| names | {len(split.entities):,} entities, {len(split.schema):,} relations, arity {_arities(split)} |
{rows}
| seed | {spec.seed} |

Settings are in `spec.toml`, versions and checksums in `environment.json`, the history of training in `journal.jsonl`. The
facts are in `facts.safetensors`, so this directory works by itself:

```
relatum evaluate RUN
relatum complete RUN '{relation.name if relation else "relation"}({gaps})'
```

Scores of one relation can be compared with each other; scores of different relations cannot. Probabilities can: they are
fitted on validation facts against as many negatives, which are facts with one entity replaced.
"""


def _arities(split: Split) -> str:
    return ", ".join(map(str, sorted(split.schema.arities)))
