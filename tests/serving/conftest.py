"""A run and a server of it that many tests ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from relatum.serving.security import ServerSettings
from support.served import Client, served


@pytest.fixture(scope="package")
def decisions_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the decisions of the server."""
    return tmp_path_factory.mktemp("decisions") / "decisions.db"


@pytest.fixture(scope="package")
def client(shop_run: Path, example_run: Path, decisions_file: Path) -> Iterator[Client]:
    """Return a client of a server that shows a shop made from tables, and the example."""
    with served([shop_run, example_run], ServerSettings(decisions=decisions_file, seconds=60.0)) as found:
        found.get(f"/{shop_run.name}.json")  # loaded from here on
        found.get("/example.json")
        yield found
