"""The door to sqlglot: it is the only one, and says what to install."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import relatum.sql
from support.mistakes import mistake


def test_two_modules_touch_sqlglot() -> None:
    room = Path(relatum.sql.__file__).parent
    touching = [
        path.name
        for path in room.parent.rglob("*.py")
        if "import sqlglot" in (text := path.read_text()) or "from sqlglot" in text
    ]
    assert sorted(touching) == ["binding.py", "syntax.py"]


def test_a_missing_sqlglot_is_one_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "relatum.sql.syntax", raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with mistake("missing-extra"):
        importlib.import_module("relatum.sql.syntax")
