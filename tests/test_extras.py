"""What a missing library says."""

from __future__ import annotations

import sys

import pytest

from relatum.extras import optional, require
from support.mistakes import mistake


def test_a_missing_library_is_one_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with mistake("missing-extra"), optional("duckdb", extra="io"):
        import duckdb  # noqa: F401


def test_a_part_of_a_library_that_is_missing_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna.nothing", None)
    with mistake("missing-extra"), optional("optuna", extra="tune"):
        import optuna.nothing  # type: ignore[import-not-found]  # noqa: F401


def test_a_broken_library_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "something_else", None)
    with pytest.raises(ModuleNotFoundError, match="something_else"), optional("duckdb", extra="io"):
        import something_else  # type: ignore[import-not-found]  # noqa: F401


def test_a_library_that_is_there_is_imported() -> None:
    with optional("numpy", extra="none"):
        import numpy
    assert numpy.__name__ == "numpy"


def test_what_is_required_is_there_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require("numpy", extra="none")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with mistake("missing-extra"):
        require("duckdb", extra="io")
