"""One run on the example that many tests ask, as a fixture."""

from __future__ import annotations

from pathlib import Path

import pytest

import relatum


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
