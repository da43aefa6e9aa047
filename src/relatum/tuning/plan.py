"""What a study follows from: the settings it begins from, what is searched and how, and the data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relatum.errors import SettingError
from relatum.runs.spec import Spec
from relatum.tuning.space import SAMPLERS, Dimension, default_space, grid_points, read_space
from relatum.version import __version__

__all__ = ["PRUNERS", "Plan", "make_plan"]

PRUNERS = ("median", "halving", "none")


@dataclass(frozen=True)
class Plan:
    """A study before its first trial; equal plans are one study, wherever and by whomever they are carried out."""

    base: Spec
    space: tuple[Dimension, ...]
    sampler: str
    pruner: str
    checksums: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of the study: the model, and a hash of all that the study follows from."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return f"relatum-{self.base.model}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def to_json(self) -> dict[str, Any]:
        """Return all that the study follows from; the data by its checksums, since its path differs between machines."""
        plain = self.base.to_dict()
        del plain["data"]
        return {
            **plain,
            "search": [str(dimension) for dimension in self.space],
            "sampler": self.sampler,
            "pruner": self.pruner,
            "checksums": dict(self.checksums),
            "relatum": __version__,
        }


def make_plan(base: Spec, search: Sequence[str], sampler: str, pruner: str, checksums: Mapping[str, str]) -> Plan:
    """Return the plan of a study; without `search`, the default space of the model."""
    for name, value, known in (("sampler", sampler, SAMPLERS), ("pruner", pruner, PRUNERS)):
        if value not in known:
            raise SettingError(f"{name}: must be one of {', '.join(known)}, not {value!r}")
    space = read_space(search, base) if search else default_space(base, sampler)
    if sampler == "grid":
        grid_points(base, space)  # refuses a space that is not a grid
    return Plan(base, space, sampler, pruner, checksums)
