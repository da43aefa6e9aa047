"""Settings with a name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from relatum.errors import UnknownNameError
from relatum.synth.settings import SynthSettings

__all__ = ["PRESETS", "find_preset"]

PRESETS: Mapping[str, SynthSettings] = MappingProxyType(
    {
        "small": SynthSettings(
            entities=300,
            relations=12,
            arities={2: 0.35, 3: 0.4, 4: 0.25},
            elementary_tuples=1_500,
            spread=0.4,
            domain=5,
            derived=40,
            depths=(1.0, 1.0, 1.0, 1.0),
            tuples=3_000,
            kept_arities={},
            valid=0.1,
            test=0.1,
        ),
        "rel-er": SynthSettings(),
    }
)


def find_preset(name: str) -> SynthSettings:
    """Return the preset called `name`."""
    try:
        return PRESETS[name]
    except KeyError:
        raise UnknownNameError("preset", name, PRESETS) from None
