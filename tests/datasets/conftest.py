"""What the tests of downloads share: a server on this machine, and a folder for what it sends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.loopback import Server, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("relatum.datasets.download._PAUSE", 0.01)
    monkeypatch.setenv("no_proxy", "*")
    with serving() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where files go: deep enough that a path with `..` in it would show in `tmp_path`."""
    deep = tmp_path / "a" / "b" / "files"
    deep.mkdir(parents=True)
    return deep
