"""What the documents show is what happens: snippets and notebooks run, numbers are those of results, and the site builds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

import relatum
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


TITLES = {"jf17k": "JF17K", "fb-auto": "FB-AUTO", "m-fb15k": "M-FB15K", "rel-er": "REL-ER", "wn18rr": "WN18RR"}


def result(name: str) -> Any:
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def share(part: float, whole: float) -> str:
    return f"{part:,} ({100 * part / whole:.1f} %)"


def ties() -> Iterator[str]:
    for title, found in {
        "[JF17K, ReAlE, seed 0](../results/jf17k.json)": result("jf17k")["runs"][0]["test"],
        "[JF17K, counting alone](../results/baselines.json)": result("baselines")["rows"]["jf17k"]["test"],
    }.items():
        yield row(title, *(f"{found[name]:.7f}" for name in ("mrr_optimistic", "mrr", "mrr_pessimistic")))
    found = result("jf17k")["runs"][0]["test"]
    yield f"Of the {found['questions']:,} questions of JF17K, {found['ties']} have a tie"


def baselines() -> Iterator[str]:
    counting, evidence = result("baselines")["rows"], result("evidence")["rows"]
    for name, title in TITLES.items():
        mrrs = [evidence[name]["test_mrr"][one] for one in ("evidence", "embedding", "both")]
        yield row(title, *(f"{mrr:.3f}" for mrr in (counting[name]["test"]["mrr"], *mrrs)))


def cells() -> Iterator[str]:
    columns = {one["column"]: one for one in result("fill-chinook")["columns"]}
    for name in ("Track.UnitPrice", "Track.MediaTypeId", "Track.GenreId", "Track.Composer", "Invoice.Total"):
        found = columns[name]
        right = [found[one] for one in ("most frequent", "counting", "naive Bayes", "random forest", "relatum")]
        yield row(name, str(found["cells"]), *("-" if one is None else f"{100 * one:.1f} %" for one in right))


def macro_averages() -> Iterator[str]:
    counting = result("baselines")["rows"]
    for name in ("jf17k", "fb-auto", "m-fb15k", "rel-er"):
        test = result(name)["runs"][0]["test"]
        macro = [
            test["mrr"],
            test["mrr_macro"]["arity"],
            test["mrr_macro"]["relation"],
            counting[name]["mrr_macro"]["relation"],
        ]
        yield row(f"[{TITLES[name]}](../results/{name}.json)", *(f"{mrr:.3f}" for mrr in macro))
    by_arity = result("fb-auto")["runs"][0]["test"]["by_arity"]
    yield f"have an MRR of {by_arity['5']['mrr']:.3f}; those of arity 2 have {by_arity['2']['mrr']:.3f}"


def leakage() -> Iterator[str]:
    for name, found in result("leakage")["rows"].items():
        more = [one for arity, one in found["close_by_arity"].items() if int(arity) > 2]
        test, close = (sum(one[key] for one in more) for key in ("test", "close"))
        last = share(close, test) if test else "-"
        yield row(TITLES[name], f"{found['test']:,}", share(found["leaked"], found["test"]), f"{test:,}", last)
    assert [name for name, found in result("leakage")["rows"].items() if not found["complete"]] == ["rel-er"]


def uncertainty() -> Iterator[str]:
    found = result("jf17k")
    for one in found["runs"]:
        title = "[JF17K](../results/jf17k.json)" if one["seed"] == 0 else "JF17K"
        low, high = one["test"]["mrr_interval"]
        yield row(f"{title}, seed {one['seed']}", f"{one['test']['mrr']:.4f}", f"{low:.4f} to {high:.4f}")
    yield row("JF17K, mean and spread", f"{found['test_mrr']['mean']:.4f}", f"{found['test_mrr']['spread']:.4f}")


def probabilities() -> Iterator[str]:
    found = result("probabilities")["rows"]
    held_out, proposals = found["jf17k"]["held_out"], found["made/rel-er-0"]["proposals"]
    for number in (0, 1, 3, 5, 7, 9):
        point = held_out["reliability"][number]
        yield row(*(f"{100 * point[name]:.1f} %" for name in ("predicted", "observed", "share")))
    yield f"The error over all ten groups is {held_out['ece']:.3f}."
    yield f"{100 * proposals['said']:.0f} % were said to be true and {100 * proposals['true']:.0f} % were"


@pytest.mark.parametrize("told", [ties, baselines, cells, macro_averages, leakage, uncertainty, probabilities])
def test_the_page_on_evaluation_has_the_numbers_of_results(told: Any) -> None:
    page = " ".join((ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8").split())
    lines = list(told())
    assert lines
    assert not [line for line in lines if line not in page]


def test_the_page_on_trust_has_the_numbers_of_results() -> None:
    from torture.page import PAGE, page, results

    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text, results("torture"), results("mutation"))


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
RUN = """
import sys
import nbclient, nbformat
nbclient.NotebookClient(nbformat.read(sys.argv[1], as_version=4), timeout=600, kernel_name="python3").execute()
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# ")
    assert not [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if path.stem == "jf17k":
        request.getfixturevalue("benchmark_data")
    # In a process of its own: a kernel is one anyway, and the client's loops leave the warnings of tests alone.
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    ended = subprocess.run(
        [sys.executable, "-c", RUN, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the built site."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    return folder


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|iframe|source)[^>]+src=\"?(?:https?:)?//", text), page
        assert not re.findall(r"<link[^>]+rel=\"?(?:stylesheet|icon|preconnect|preload)[^>]+(?:https?:)?//", text), page


class _Links(HTMLParser):
    """The addresses that a page links to, and the names that can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.names |= {name for name in (given.get("id"), given.get("name")) if name}
        self.links += [link for link in (given.get("href"), given.get("src")) if link]


def test_no_link_is_dead(site: Path) -> None:
    pages = {page: _Links(page) for page in site.rglob("*.html")}
    dead = []
    for page, found in pages.items():
        for link in found.links:
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            above = site if address.path.startswith("/") else page.parent  # 404.html may be shown at any depth
            path = (above / unquote(address.path).lstrip("/")).resolve() if address.path else page
            path = path / "index.html" if path.is_dir() else path
            anchor = unquote(address.fragment)
            absent = not path.exists() or (anchor and path in pages and anchor not in pages[path].names)
            dead += [f"{page.relative_to(site)}: {link}"] if absent else []
    assert not dead


def test_the_reference_has_every_public_name(site: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    anchors = set(re.findall(r"id=\"relatum(?:\.\w+)*\.(\w+)\"", pages))
    assert not set(relatum.__all__) - anchors - {"MODELS"}
    methods = {name for name in vars(relatum.Run) if not name.startswith("_")}
    assert not methods - anchors
