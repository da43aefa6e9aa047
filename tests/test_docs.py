"""What the documents show is what happens: every Python snippet runs."""

from __future__ import annotations

import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from relatum import MODELS, Spec
from relatum.cli.demo import write_demo_database
from relatum.models.base import Settings
from relatum.runs.spec import RECIPES
from relatum.settings import rules_of
from relatum.training.settings import TrainingSettings

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_snippets_of_a_document_run_one_after_the_other(
    document: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_demo_database(Path("relatum-demo/world.db"))  # as `relatum demo` leaves it
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


def settings_table(kind: type[Any]) -> str:
    """Return the settings of a part as docs/settings.md lists them; of a model, those that are its own."""
    common = {} if kind is Settings else rules_of(Settings)
    rows = (
        f"| `{name}` | {'' if rule.default is None else json.dumps(rule.default)} | {rule.values} | {rule.help} |\n"
        for name, rule in rules_of(kind).items()
        if common.get(name) != rule
    )
    return "".join(["| setting | default | values | meaning |\n", "|---|---|---|---|\n", *rows])


def test_the_page_of_settings_says_what_their_declarations_say() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    models = {f"`{name}`": kind.settings_type for name, kind in MODELS.items() if kind.settings_type is not Settings}
    for title, kind in {"Training": TrainingSettings, "Models": Settings, **models}.items():
        assert f"# {title}\n\n{settings_table(kind)}" in page
    fast = ", ".join(
        f"`{path}.{name} = {value}`" for path, table in RECIPES["fast"].items() for name, value in table.items()
    )
    assert fast in " ".join(page.split())


def test_the_specs_of_experiments_are_those_that_their_results_were_made_by() -> None:
    compared = 0
    for path in sorted((ROOT / "results").glob("*.json")):
        file, results = ROOT / "experiments" / f"{path.stem}.toml", json.loads(path.read_text())
        if file.exists() and "runs" in results:
            told = {
                name: value for name, value in tomllib.loads(file.read_text()).items() if name not in ("seeds", "ensemble")
            }
            assert {**Spec.from_dict(told).to_dict(), "seed": None} == results["spec"], path.name
            compared += 1
    assert compared >= 20


def test_the_page_of_models_lists_them_all_with_the_mrr_of_results() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` (.+) \|$", (ROOT / "docs" / "models.md").read_text(), re.MULTILINE))
    assert MODELS.keys() <= rows.keys()
    for name, row in rows.items():
        for data, shown in zip(("jf17k", "fb-auto"), row.split(" | ")[3:5], strict=True):
            path = ROOT / "results" / f"{data if name == 'reale' else f'{data}-{name}'}.json"
            assert shown == (f"{json.loads(path.read_text())['test_mrr']['mean']:.3f}" if path.exists() else "-"), path


def test_the_page_on_reproducing_says_how_each_result_is_made() -> None:
    page = (ROOT / "docs" / "reproducing.md").read_text()
    named = {name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)}
    missing = [path.name for path in (ROOT / "results").glob("*.json") if not any(fnmatch(path.name, one) for one in named)]
    assert not missing
    files = re.findall(r"[`/ ]([a-z0-9*_-]+\.(?:py|toml))\b", page)
    assert len(files) >= 20
    assert not [one for one in files if not list((ROOT / "experiments").glob(one))]


def test_links_between_documents_lead_somewhere_in_the_repository() -> None:
    documents = [
        *DOCUMENTS,
        *sorted((ROOT / "docs" / "api").glob("*.md")),
        ROOT / "CONTRIBUTING.md",
        ROOT / "results" / "README.md",
    ]
    links = [
        (document, link)
        for document in documents
        for link in re.findall(r"\]\(([^()\s:#]+\.[a-z]+)(?:#[^)]*)?\)", document.read_text())
    ]
    assert len(links) > 80
    assert not [(document.name, link) for document, link in links if not (document.parent / link).exists()]
