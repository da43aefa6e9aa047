"""A shop in SQLite and a run on it, as fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.shop_of_four import fill_sqlite, train


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite database of a shop, to be copied."""
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    fill_sqlite(path)
    return path


@pytest.fixture(scope="session")
def shop_run(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run on the shop, whose data is no longer where it was; to be read only."""
    folder = tmp_path_factory.mktemp("run")
    return train(str(shop), folder)
