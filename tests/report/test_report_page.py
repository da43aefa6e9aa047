"""`relatum report`: one page that says what a run has learned, the same each time, for every kind of run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from report_checks import checked
from typer.testing import CliRunner

from relatum import DataError, Hypergraph, RelatumError, Run, Spec, fit, load, save
from relatum.cli.report import report
from relatum.data.provenance import Origin, save_provenance
from relatum.report import report_page, write_report
from relatum.report.proposals import largest, propose

SECTIONS = ["learning", "quality", "probabilities", "failures", "new", "rules", "data", "settings"]


def spec_of(data: str = "example", **model: Any) -> Spec:
    return Spec.from_dict({"data": data, "model": {"dim": 10, **model}, "training": {"epochs": 4, "validate_every": 2}})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the directory of a run on the example, to be read only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RELATUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield fit(spec_of(), tmp_path_factory.mktemp("runs") / "example").folder


def test_a_report_says_what_was_learned(trained: Path) -> None:
    run = Run(trained)
    page = checked(report_page(run))
    metrics = run.evaluate().metrics
    assert [attributes["id"] for attributes in page.all("section")] == SECTIONS
    for words in (
        "ReAlE on example",
        "example has 36 facts of 3 relations about 15 entities; a fact joins 2 or 3 of them.",
        f"The mean of 1 / rank (MRR) is {metrics.mrr:.3f} (95 % interval",
        "for 4 epochs; the state after epoch",
        "percentage points on average",
        "Loss by epoch",
        "Validation MRR by time",
        "bought = rename[buyer, seller, item](sold)",
        run.split.checksums["train"],
        "window_dropout",
    ):
        assert words in page.text, words
    assert str(trained) not in page.text


def test_the_same_run_gives_the_same_bytes_and_is_only_read(trained: Path, tmp_path: Path) -> None:
    before = {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in trained.iterdir()}
    for name in ("one.html", "two.html"):
        write_report(Run(trained), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert {path.name: (path.stat().st_mtime_ns, path.stat().st_size) for path in trained.iterdir()} == before


def test_new_facts_are_the_best_new_answers(trained: Path) -> None:
    run = Run(trained)
    names = run.model.graph.entities
    given = Hypergraph.union(list(run.split.parts.values()))
    found = propose(run, given, largest(given))
    assert len(found) == len(run.schema)
    assert all(len(group) <= 5 for group in found)
    for one in (one for group in found for one in group):
        relation = run.schema[one.relation].name
        fact = ", ".join(names[entity] for entity in one.entities)
        judged = run.score(f"{relation}({fact})")
        assert judged.source is None
        assert judged.probability == pytest.approx(one.probability)
        gap = ", ".join("?" if place == one.position else names[entity] for place, entity in enumerate(one.entities))
        best = run.complete(f"{relation}({gap})", k=1, new_only=True)
        assert best[0].score == pytest.approx(one.score)


@pytest.mark.parametrize("model", ["hype", "m-transh", "g-mpnn"])
def test_other_models_have_reports(model: str, tmp_path: Path) -> None:
    run = fit(Spec.from_dict({"data": "example", "model": {"name": model}, "training": {"epochs": 1}}), tmp_path / "run")
    assert "Rules between the relations" in checked(report_page(run)).text


@pytest.mark.parametrize("empty", [{"valid"}, {"test"}, {"valid", "test"}])
def test_runs_without_some_facts_have_reports_that_say_so(empty: set[str], tmp_path: Path) -> None:
    save(load("example"), tmp_path / "data")
    for part in empty:
        (tmp_path / "data" / f"{part}.txt").write_text("")
    page = checked(report_page(fit(spec_of(str(tmp_path / "data")), tmp_path / "run")))
    assert ("it gives scores alone" in page.text) == ("valid" in empty)
    assert ("nothing was measured" in page.text) == (empty == {"valid", "test"})
    assert ("which training has looked at" in page.text) == (empty == {"test"})


def test_relations_that_were_made_are_measured_by_how(tmp_path: Path) -> None:
    save(load("example"), tmp_path / "data")
    made = {"sold": Origin("elementary", 0), "bought": Origin("rename", 1), "buyer": Origin("project", 2)}
    save_provenance(tmp_path / "data", made)
    page = checked(report_page(fit(spec_of(str(tmp_path / "data")), tmp_path / "run")))
    for words in ("By how a relation was made", "elementary 3", "rename 6", "project 4", "By depth"):
        assert words in page.text, words


def test_relations_that_only_the_test_knows_have_a_report(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    facts = {"train": "sold\tdrew\talex\n", "valid": "sold\tlee\talex\n", "test": "lent\tdrew\talex\tbook\n"}
    for part, text in facts.items():
        (tmp_path / "data" / f"{part}.txt").write_text(text)
    page = checked(report_page(fit(spec_of(str(tmp_path / "data")), tmp_path / "run")))
    assert "relations of test that training never saw" in page.text


def test_a_run_of_two_facts_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text("is\tdrew\nsold\tdrew\talex\tbook\n")
    page = checked(report_page(fit(spec_of(str(tmp_path / "facts.txt")), tmp_path / "run")))
    assert "No relation was found to equal" in page.text


def test_definitions_take_part_and_a_missing_journal_is_said(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "journal.jsonl").unlink()
    (tmp_path / "run" / "provenance.json").unlink()
    run = Run(tmp_path / "run")
    run.define("got", "rename[buyer, seller, item](sold)")
    page = checked(report_page(run))
    assert "Relations that were defined on the run take part." in page.text
    assert "The journal of this run tells of no epoch." in page.text


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "</style></svg></title>&amp;&lt;",
    "\u202eevil\u2066",
    "שלום עולם",
    "\x01\x7f\x85",
    "long_" * 2000,
    "𝕏" * 200,
]


def test_hostile_names_are_shown_and_do_nothing(tmp_path: Path) -> None:
    data = tmp_path / "<b>data & more"
    data.mkdir()
    facts = [
        (f"{kind}{HOSTILE[0]}", *pair) for kind in "ab" for pair in zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1], strict=True)
    ]
    facts += [(HOSTILE[3], HOSTILE[place % 9], f"plain{place}") for place in range(40)]
    facts += [(HOSTILE[1], HOSTILE[place % 9], f"plain{place}") for place in range(40)]
    (data / "train.txt").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    for part, chosen in (("valid", facts[::5]), ("test", facts[::3])):
        (data / f"{part}.txt").write_text("".join("\t".join(fact) + "\n" for fact in chosen))
    (data / "roles.txt").write_text(f"{HOSTILE[3]}\t{HOSTILE[0]}\t{HOSTILE[1]}\n")
    text = report_page(fit(spec_of(str(data)), tmp_path / "run"))
    page = checked(text)
    assert "ReAlE on <b>data & more" in page.text
    for name in (*HOSTILE[:4], HOSTILE[5], "␁␡\ufffd"):
        assert name in page.text, name
    assert "<script" not in text
    assert not set("\x01\x7f\x85\u202e\u2066") & set(text)
    assert "repetitions of facts" in page.text
    assert all(len(data) < 1000 for tag, data in page.texts if tag != "style")


def test_a_damaged_journal_or_provenance_is_an_error_of_one_line(trained: Path, tmp_path: Path) -> None:
    for name, text in (("journal.jsonl", "{\n"), ("journal.jsonl", '{"event": 1}\n'), ("provenance.json", "{")):
        folder = tmp_path / f"{name}{len(text)}"
        shutil.copytree(trained, folder)
        (folder / name).write_text(text)
        with pytest.raises(DataError, match=name):
            report_page(Run(folder))


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
