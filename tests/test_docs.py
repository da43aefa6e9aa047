"""What the documents show is what happens: every Python snippet runs."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from relatum import Spec

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_snippets_of_a_document_run_one_after_the_other(
    document: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", document.read_text(), re.DOTALL):
        capsys.readouterr()
        exec(compile(snippet, str(document), "exec"), names)  # noqa: S102
        printed = capsys.readouterr().out
        # A comment behind a print that is a plain result is a promise; one with a comma and words is prose.
        for promise in re.findall(r"^print\(.*\)  # (\[.*\]|\w+\(.*\))$", snippet, re.MULTILINE):
            assert promise in printed


def test_the_numbers_of_the_readme_are_those_of_the_results() -> None:
    rows = re.findall(
        r"^\| \[.*?\]\((results/.*?\.json)\).*?\| (0\.\d{3}) \|", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert len(rows) >= 4
    for path, shown in rows:
        assert f"{json.loads((ROOT / path).read_text())['test_mrr']['mean']:.3f}" == shown, path


def test_the_specs_of_experiments_are_those_that_their_results_were_made_by() -> None:
    compared = 0
    for path in sorted((ROOT / "results").glob("*.json")):
        file, results = ROOT / "experiments" / f"{path.stem}.toml", json.loads(path.read_text())
        if file.exists() and "runs" in results:
            told = {name: value for name, value in tomllib.loads(file.read_text()).items() if name != "seeds"}
            assert {**Spec.from_dict(told).to_dict(), "seed": None} == results["spec"], path.name
            compared += 1
    assert compared >= 20
