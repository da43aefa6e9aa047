"""docs/theory.md has a verdict on every theorem and lemma, and every function, test and file that it names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
VERDICTS = [line.strip("| ").split(" | ") for line in DOCUMENT.splitlines() if line.startswith("|")][2:]
OPERATIONS = ("Renaming", "Projection", "Selection 1", "Selection 2", "Set Union", "Set Difference")
CLAIMS = [
    *("Theorem 1 (Expressivity)", "Theorem 2", "Lemma 2.1", "Lemma 2.2"),
    *(f"Theorem ({name})" for name in (*OPERATIONS, "HypE Selection 1 (a)", "HypE Selection 1 (b)")),
    "not in the paper",
]


def test_every_claim_has_one_verdict_a_function_and_tests() -> None:
    assert [where for where, *_ in VERDICTS] == CLAIMS
    for _, _, function, test, verdict, _ in VERDICTS:
        assert verdict.strip("*") in ("holds", "holds, corrected", "fails")
        assert function.startswith("`relatum.")
        assert re.search(r"^def test_", (ROOT / test.strip("`")).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_name_in_the_document_exists() -> None:
    for path in set(re.findall(r"`((?:tests|src|docs)/[\w/.]+)`", DOCUMENT)):
        assert (ROOT / path).exists(), path
    for name in set(re.findall(r"`(relatum\.[\w.]+)`", DOCUMENT)):
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name
