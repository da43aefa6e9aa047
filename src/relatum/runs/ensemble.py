"""Runs that differ in their seed, joined into one: a model like theirs, whose score is the sum of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relatum.errors import RelatumError, SettingError
from relatum.evidence.evidence import Evidence
from relatum.models.ensemble import joined
from relatum.runs.spec import Spec
from relatum.runs.trained import Kind, Trained
from relatum.runs.validated import Validated, validated


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
