"""`relatum report`: one page that says what a run has learned, the same each time, for every kind of run."""

from __future__ import annotations

import re
import shutil
from dataclasses import FrozenInstanceError, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from relatum import RelatumError, Run, Spec, fit, load, read, save
from relatum.cli.serve import report
from relatum.data.derivations import Derivation, save_derivations
from relatum.data.quality import check_quality
from relatum.formatting import visible
from relatum.report import report_page, write_report
from relatum.report.page import _environment, name_of, page_of, shortened
from relatum.report.study import study_of
from support.html_checks import Page, checked
from support.mistakes import mistake

SECTIONS = {
    "relations": "What it knows",
    "quality": "How good it is",
    "errors": "Where it fails",
    "predictions": "New predictions",
    "rules": "Rules",
    "data": "Data quality",
    "calibration": "Calibration",
    "training": "Training",
    "settings": "Settings and provenance",
}


def spec_of(data: str = "example", **model: Any) -> Spec:
    return Spec.from_dict({"data": data, "model": {"dim": 10, **model}, "training": {"epochs": 4, "validate_every": 2}})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run on the example, to be read only."""
    return fit(spec_of(), tmp_path_factory.mktemp("runs") / "example").folder


def test_a_report_says_what_was_learned(trained: Path) -> None:
    run = Run.load(trained)
    page = checked(report_page(run))
    metrics = run.evaluate().metrics
    assert [attributes["id"] for attributes in page.all("section")] == list(SECTIONS)
    assert [text for tag, text in page.texts if tag == "h2" and text.strip()] == list(SECTIONS.values())
    for words in (
        "ReAlE on example",
        "example has 36 facts of 3 relations about 15 entities; a fact has 2 or 3 of them.",
        "sold seller, buyer, item 12 alex, ",
        "Split: 28 training, 3 validation, 5 test facts.",
        "which gives 13 questions, and all 15 entities are ranked",
        f"The mean reciprocal rank (MRR) is {metrics.mrr:.3f} (95 % interval",
        "Columns with most errors (8 of 8; 100 % of the loss)",
        "Measured precision: of 15 predictions found in the same way with the test facts hidden,",
        "No fact occurs twice",
        f"by permuting or dropping columns {check_quality(run.split).leakage.facts} entities that occur once",
        "percentage points on average",
        "predicted observed fraction",
        "for 4 epochs; the state after epoch",
        "Training loss",
        "Validation MRR",
        "bought = permute[buyer, seller, item](sold)",
        run.split.checksums["train"],
        "window_dropout",
    ):
        assert words in page.text, words
    assert str(trained) not in page.text
    curves = [attributes for attributes in page.all("polyline") if attributes.get("class") == "line"]
    assert len(curves) == 3  # loss, validation and calibration


def test_a_run_on_tables_has_a_section_of_columns(gappy_run: Path, trained: Path) -> None:
    run = Run.load(gappy_run)
    study = study_of(run)
    assert study.columns == tuple(run.evaluate_columns("test"))
    rows = run.split.rows
    assert rows is not None
    gaps = {name: (empty, share) for name, empty, share in study.gaps}
    assert gaps["customers.country"] == (17, 17 / 120)
    assert set(gaps) == {
        f"{table}.{column.name}"
        for table, held in rows.tables.items()
        for column, cells in zip(held.schema.columns, held.cells, strict=True)
        if column.part_of is None and (cells < 0).any()
    }
    page = checked(report_page(run))
    ids = [attributes["id"] for attributes in page.all("section")]
    assert "columns" in ids
    assert ids.index("quality") < ids.index("columns")
    for words in ("Held-out cells filled right", "Empty cells, which relatum fill answers", "customers.country 17 14.2 %"):
        assert words in page.text, words
    assert study_of(Run.load(trained)).columns == study_of(Run.load(trained)).gaps == ()


def test_the_page_shows_what_was_measured(trained: Path) -> None:
    study = study_of(Run.load(trained))
    assert study == study_of(Run.load(trained))
    with pytest.raises(FrozenInstanceError):
        study.model = "another"  # type: ignore[misc]
    assert study.quality is not None
    other = replace(study, quality=replace(study.quality, overall=replace(study.quality.overall, mrr=0.98765)))
    assert "The mean reciprocal rank (MRR) is 0.988" in checked(page_of(other)).text
    assert "The mean reciprocal rank (MRR) is 0.988" not in checked(page_of(study)).text
    assert "Every right answer ranks first" in checked(page_of(replace(study, errors=None))).text
    one = replace(study, new=replace(study.new, right=1))
    assert "1 is a test fact (6.7 %)." in checked(page_of(one)).text


def test_the_same_run_gives_the_same_bytes_and_is_only_read(trained: Path, tmp_path: Path) -> None:
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in trained.iterdir()}
    for name in ("one.html", "two.html"):
        write_report(Run.load(trained), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in trained.iterdir()} == before


def test_only_reports_are_replaced(trained: Path, tmp_path: Path) -> None:
    run = Run.load(shutil.copytree(trained, tmp_path / "run"))
    for path in (tmp_path / "page.html", tmp_path / "page.html", tmp_path / "run" / "report.html"):
        write_report(run, path)
    (tmp_path / "notes.html").write_text("mine")
    (tmp_path / "run" / "report.html").write_text("a page of an earlier version")
    write_report(run, tmp_path / "run" / "report.html")
    for path in (tmp_path / "notes.html", tmp_path / "run" / "config.json"):
        before = path.read_bytes()
        with mistake("not-ours"):
            write_report(run, path)
        assert path.read_bytes() == before


def test_new_facts_are_the_best_new_answers(trained: Path) -> None:
    run = Run.load(trained)
    new = study_of(run).new
    assert sorted(name for name, *_ in new.groups) == sorted(one.name for one in run.schema)
    for name, roles, found in new.groups:
        assert roles == run.schema[name].roles
        assert 0 < len(found) <= 5
        for one, reason in found:
            if reason is not None:
                assert reason.facts[0].partition("(")[0] in run.schema
                assert reason.confidence <= run.why(str(one), k=1)[0].confidence
            judged = run.score(f"{name}({', '.join(one.entities)})")
            assert judged.source is None
            gap = ", ".join("?" if place == one.position else entity for place, entity in enumerate(one.entities))
            best = run.complete(f"{name}({gap})", k=1, new_only=True)[0]
            assert best.score == pytest.approx(one.score)
            assert one.probability is not None
            assert one.probability < 1e-3 or one.probability == pytest.approx(judged.probability)


def test_predicted_values_stand_in_their_columns_without_their_kind(tmp_path: Path) -> None:
    rows = "".join(f"{place % 20},{'Oslo' if place % 2 else 'Rome'},{place % 3}\n" for place in range(40))
    (tmp_path / "people.csv").write_text(f"person,city,team\n{rows}")
    imported = read(tmp_path / "people.csv", columns={"people": ["person", "city", "team"]})
    save(imported.split, tmp_path / "data")
    run = fit(spec_of(str(tmp_path / "data")), tmp_path / "run")
    ((name, roles, found), *_) = study_of(run).new.groups
    assert roles == run.schema[name].roles
    prefixes = [column_type.prefix if column_type else "" for column_type in run.column_types(name)]
    assert any(prefixes)
    assert any(reason is not None for _, reason in found)
    for one, _ in found:
        assert not any(prefix and entity.startswith(prefix) for entity, prefix in zip(one.entities, prefixes, strict=True))
        entities = [prefix + entity for entity, prefix in zip(one.entities, prefixes, strict=True)]
        assert all(entity in run.model.graph.entities for entity in entities)
    page = checked(report_page(run)).text
    assert not any(prefix in page for prefix in prefixes if prefix)
    assert "person, city, team" in page


FACTS = {part: "".join("\t".join(fact) + "\n" for fact in graph) for part, graph in load("example").parts.items()}
SCORES_ALONE, NOT_MEASURED = "it gives scores alone", "Quality was not measured"
CHOSEN = "There are no test facts; training chose its best state"


@pytest.mark.parametrize(
    ("facts", "said", "unsaid"),
    [
        (FACTS | {"valid": ""}, [SCORES_ALONE], [NOT_MEASURED, CHOSEN]),
        (FACTS | {"test": ""}, [CHOSEN], [NOT_MEASURED, SCORES_ALONE]),
        (FACTS | {"valid": "", "test": ""}, [NOT_MEASURED, SCORES_ALONE], [CHOSEN]),
        (
            {"train": "sold\tdrew\talex\n", "valid": "sold\tlee\talex\n", "test": "lent\tdrew\talex\tbook\n"},
            ["test relations that never occur in training 1"],
            [NOT_MEASURED],
        ),
        ({"train": "is\tdrew\nsold\tdrew\talex\tbook\n"}, ["No rules were found"], []),
    ],
)
def test_runs_that_lack_some_facts_have_reports_that_say_so(
    facts: dict[str, str], said: list[str], unsaid: list[str], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    for part, text in facts.items():
        (tmp_path / "data" / f"{part}.txt").write_text(text)
    page = checked(report_page(fit(spec_of(str(tmp_path / "data")), tmp_path / "run")))
    assert [words for words in said if words not in page.text] == []
    assert [words for words in unsaid if words in page.text] == []


def test_relations_that_were_made_are_measured_by_how(tmp_path: Path) -> None:
    save(load("example"), tmp_path / "data")
    made = {"sold": Derivation("elementary", 0), "bought": Derivation("rename", 1), "buyer": Derivation("project", 2)}
    save_derivations(tmp_path / "data", made)
    page = checked(report_page(fit(spec_of(str(tmp_path / "data")), tmp_path / "run")))
    for words in ("By last operation", "elementary 3", "rename 6", "project 4", "By depth"):
        assert words in page.text, words


def test_definitions_take_part_and_a_missing_journal_is_said(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "journal.jsonl").unlink()
    (tmp_path / "run" / "environment.json").unlink()
    run = Run.load(tmp_path / "run")
    run.define("got", "permute[buyer, seller, item](sold)")
    page = checked(report_page(run))
    assert "Relations that were defined on the run take part." in page.text
    assert "The run’s journal records no epochs." in page.text


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'onmouseover='alert(1)",
    "</style></svg></title>&amp;&lt;", "\u202eevil\u2066", "שלום עולם", "\x01\x7f\x85", "long_" * 2000, "𝕏" * 200,
    "{{ 7 * 7 }}", "{% raw %}{# note #}",
    "{{ study.__class__.__mro__ }}", "${7*7}#{7*7}", "<!-- comment -->", "<![CDATA[x]]>", "]]></svg><svg onload=alert(1)>",
    "<a href=javascript:alert(1)>go</a>", "<iframe src=//example.com></iframe>", "<base href=//example.com>",
    '" style="display:none', "' autofocus onfocus='alert(1)", "`onclick=alert(1)`", "&#60;script&#62;", "</td></tr></table>",
    "</bdi><h1>big</h1>", "<wbr title='x' onerror='y'>", "url(//example.com)", "\u2028line\u2029", "\x1b[31mred\x1b[0m",
    "\ufeff\u200bzero",
]  # fmt: skip


def test_hostile_names_are_shown_and_do_nothing(tmp_path: Path) -> None:
    data = tmp_path / "<b>data & more"
    data.mkdir()
    facts = [
        (f"{kind}{HOSTILE[0]}", *pair) for kind in "ab" for pair in zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1], strict=True)
    ]
    facts += [(HOSTILE[3], HOSTILE[place % 30], f"plain{place}") for place in range(60)]
    facts += [(HOSTILE[1], HOSTILE[place % 30], f"plain{place}") for place in range(60)]
    (data / "train.txt").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    for part, chosen in (("valid", facts[::5]), ("test", facts[::3])):
        (data / f"{part}.txt").write_text("".join("\t".join(fact) + "\n" for fact in chosen))
    (data / "roles.txt").write_text(f"{HOSTILE[3]}\t{HOSTILE[0]}\t{HOSTILE[1]}\n{HOSTILE[1]}\t{HOSTILE[19]}\t{HOSTILE[7]}\n")
    spec = Spec(str(data), spec=spec_of(str(data)), rows="facts")  # which names the page shows is a matter of ranks
    text = report_page(fit(spec, tmp_path / "run"))
    page = checked(text)
    assert "ReAlE on <b>data & more" in page.text
    for name in (*HOSTILE[:4], HOSTILE[5], "␁␡\ufffd"):
        assert name in page.text, name
    assert "<script" not in text
    holding = {key for _, attributes, _ in page.elements for key, value in attributes.items() if "alert" in (value or "")}
    assert holding == {"data-label"}  # and the titles of shortened names, of which none here
    assert len(page.all("h1")) == 1
    assert not set("\x01\x1b\x7f\x85\u202e\u2066") & set(text)
    assert "repeated facts, within one part" in page.text
    assert all(len(data) < 1000 for tag, data in page.texts if tag != "style")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_shown_as_it_is(name: str) -> None:
    page = Page(name_of(name))
    assert {tag for tag, _, _ in page.elements} <= {"bdi", "wbr"}
    assert {key for _, attributes, _ in page.elements for key in attributes} <= {"class", "title"}
    if len(name) <= 96:
        assert "".join(text for _, text in page.texts).rstrip(" ") == visible(name)
    else:
        assert page.elements[0][1] == {"class": "long", "title": visible(shortened(name, 1000))}


def test_templates_escape_all_that_they_are_given() -> None:
    assert _environment().autoescape is True
    for template in _environment().list_templates(extensions=["html"]):
        text = files("relatum.report").joinpath("templates", template).read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", text), template


def test_a_damaged_journal_or_provenance_is_an_error_of_one_line(trained: Path, tmp_path: Path) -> None:
    for name, text in (("journal.jsonl", "{\n"), ("journal.jsonl", '{"event": 1}\n'), ("environment.json", "{")):
        folder = tmp_path / f"{name}{len(text)}"
        shutil.copytree(trained, folder)
        (folder / name).write_text(text)
        with mistake("damaged-file"):
            report_page(Run.load(folder))


def test_the_verb_writes_where_it_is_told_or_into_the_run(trained: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(report)
    run, out = shutil.copytree(trained, tmp_path / "run"), tmp_path / "page.html"
    told = CliRunner().invoke(app, [str(run), "--out", str(out)])
    assert (told.exit_code, told.stdout.split()) == (0, ["written", "to", str(out)])
    assert CliRunner().invoke(app, [str(run)]).exit_code == 0
    assert (run / "report.html").read_bytes() == out.read_bytes()
    checked(out.read_text(encoding="utf-8"))
    assert isinstance(CliRunner().invoke(app, [str(tmp_path / "none")]).exception, RelatumError)
    nowhere = CliRunner().invoke(app, [str(run), "--out", str(tmp_path / "none" / "page.html")])
    assert str(nowhere.exception) == f"{tmp_path / 'none'}: no such directory"
