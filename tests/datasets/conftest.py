"""What the tests of downloads share: a server on this machine, asked again without a pause."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from support.loopback import TIMEOUT, Server, serving


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("relatum.datasets.download._TIMEOUT", TIMEOUT)
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("RELATUM_DATA", raising=False)
    with serving() as running:
        yield running
