"""Without sqlglot, the error says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from support.mistakes import mistake


def test_a_missing_sqlglot_is_one_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "relatum.sql.syntax", raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with mistake("missing-extra"):
        importlib.import_module("relatum.sql.syntax")
