"""Made datasets that several tests look at."""

from __future__ import annotations

from functools import cache

import pytest

from relatum.synth import SynthDataset, find_preset, synthesize


@cache
def _made(preset: str, seed: int) -> SynthDataset:
    return synthesize(find_preset(preset), seed)


@pytest.fixture(params=[("small", 0), ("small", 1), ("small", 2), ("rel-er", 3)], ids=lambda made: f"{made[0]}-{made[1]}")
def made(request: pytest.FixtureRequest) -> SynthDataset:
    """Return a made dataset; each is made once."""
    return _made(*request.param)


@pytest.fixture
def rel_er() -> SynthDataset:
    """Return the preset that stands in for the published REL-ER."""
    return _made("rel-er", 3)
