"""docs/theory.md shows the verdicts as they are, and every function and test that it names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from relatum.paper.theory.verdicts import VERDICTS, Verdict, as_markdown

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")


def test_the_document_holds_the_table_of_verdicts() -> None:
    assert as_markdown() in DOCUMENT


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: verdict.where)
def test_the_function_and_the_test_of_a_claim_exist(verdict: Verdict) -> None:
    module, _, function = verdict.code.rpartition(".")
    assert callable(getattr(importlib.import_module(module), function))
    assert re.search(r"^def test_", (ROOT / verdict.test).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_other_name_in_the_document_exists() -> None:
    for path in set(re.findall(r"`((?:tests|src|docs)/[\w/.]+)`", DOCUMENT)):
        assert (ROOT / path).exists(), path
    for name in set(re.findall(r"`(relatum\.[\w.]+)`", DOCUMENT)):
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name


def test_every_theorem_and_lemma_of_the_paper_has_one_verdict() -> None:
    operations = ["Renaming", "Projection", "Selection 1", "Selection 2", "Set Union", "Set Difference"]
    expected = ["Theorem 1 (Expressivity)", "Theorem 2", "Lemma 2.1", "Lemma 2.2"]
    expected += [f"Theorem ({name})" for name in [*operations, "HypE Selection 1 (a)", "HypE Selection 1 (b)"]]
    assert [verdict.where for verdict in VERDICTS if verdict.where != "not in the paper"] == expected
