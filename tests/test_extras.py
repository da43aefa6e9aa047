"""What a missing library says."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from relatum.extras import optional, require
from support.mistakes import mistake


@pytest.mark.parametrize(("library", "missing"), [("duckdb", "duckdb"), ("optuna", "optuna.nothing")])
def test_a_missing_library_or_a_part_of_it_is_one_line_that_installs_it(
    library: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with mistake("missing-extra"), optional(library, extra="io"):
        import_module(missing)


def test_what_is_broken_is_not_called_missing_and_what_is_required_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "something_else", None)
    with pytest.raises(ModuleNotFoundError, match="something_else"), optional("duckdb", extra="io"):
        import_module("something_else")
    require("numpy", extra="none")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with mistake("missing-extra"):
        require("duckdb", extra="io")
