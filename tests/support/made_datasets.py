"""Made datasets, and one run on the example, that many tests look at."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import relatum
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


@pytest.fixture(scope="session")
def example_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run on the example, trained once; to be read only, or copied."""
    folder = tmp_path_factory.mktemp("runs") / "example"
    relatum.fit("example", folder, dim=20, epochs=20, evidence=False, progress=False)
    return folder


@pytest.fixture(scope="session")
def example(example_run: Path) -> relatum.Run:
    """Return the run on the example, opened; nothing may be defined on it."""
    return relatum.open(example_run)
