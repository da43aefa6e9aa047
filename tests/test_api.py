"""The front door: `fit`, `open`, and what can be asked of a run."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

import relatum
from relatum import DataError, Run, Spec, UnknownNameError
from relatum.errors import RelatumError
from relatum.records import Records
from support.mistakes import mistake
from support.postgres_server import PASSWORD


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run on the example, in memory."""
    return relatum.fit("example", dim=20, epochs=4, evidence=False, progress=False)


def test_in_memory_and_on_disk_are_the_same_run(run: Run, tmp_path: Path) -> None:
    kept = relatum.fit("example", tmp_path / "run", dim=20, epochs=4, evidence=False, progress=False)
    assert kept.folder == tmp_path / "run"
    assert run.folder is None
    for name, table in run.parameters.items():
        assert bool((kept.parameters[name] == table).all()), name
    assert kept.spec == run.spec
    assert kept.evaluate().to_dict() == run.evaluate().to_dict()
    assert kept.complete("sold(drew, ?, book)") == run.complete("sold(drew, ?, book)")


def test_a_run_in_memory_can_be_saved_and_opened(run: Run, tmp_path: Path) -> None:
    saved = run.save(tmp_path / "run")
    again = relatum.open(tmp_path / "run")
    for one in (saved, again):
        assert one.score("sold(drew, alex, book)") == run.score("sold(drew, alex, book)")
        assert one.history.epochs == run.history.epochs == 4
        assert run.environment.items() <= one.environment.items()
    with mistake("directory-not-empty"):
        run.save(tmp_path / "run")


def test_a_question_is_asked_in_many_ways(run: Run) -> None:
    by_text = run.complete("sold(drew, ?, book)", k=3)
    assert len(by_text) > 3
    assert run.complete("sold", "drew", None, "book", k=3) == by_text
    assert run.complete("sold", "drew", "?", "book", k=3) == by_text
    assert run.complete(("sold", "drew", None, "book"), k=3) == by_text
    assert run.complete("sold", seller="drew", buyer=None, item="book", k=3) == by_text
    assert run.score("sold", "drew", "alex", "book") == run.score("sold(drew, alex, book)")
    assert list(run.score(["sold(drew, alex, book)"])) == [run.score("sold(drew, alex, book)")]


def test_answers_are_records_by_role(run: Run) -> None:
    answers = run.complete("sold(drew, ?, book)", k=3)
    assert isinstance(answers, Records)
    assert [one.buyer for one in answers] == [one.entity for one in answers] == [one["buyer"] for one in answers]
    assert [*answers.known, *answers.new] == list(answers)
    assert list(answers.columns) == ["buyer", "score", "probability", "known", "source"]
    assert answers.to_pandas()["buyer"].tolist() == [one.buyer for one in answers]
    with pytest.raises(AttributeError, match="unknown field of Answer 'buyr'; did you mean 'buyer'"):
        answers[0].buyr  # noqa: B018


def test_roles_that_are_not_named_are_free(run: Run) -> None:
    facts = {(seller, buyer) for _, seller, buyer, _ in (("sold", *fact) for fact in run.table("sold"))}
    found = run.complete("sold(seller=drew, buyer=?)", k=100)
    assert {one.buyer for one in found.known} == {buyer for seller, buyer in facts if seller == "drew"}
    assert {one.buyer for one in found} == set(run.entities)
    assert len(found) == len(run.entities)
    best = {one.buyer: one.score for one in found}
    items = list(run.entities)
    for buyer in ("alex", "kim"):
        assert best[buyer] == pytest.approx(max(run.score("sold", "drew", buyer, item).score for item in items), rel=1e-5)


@pytest.mark.parametrize(
    ("ask", "error", "reason"),
    [
        (lambda run: run.complete("sodl(drew, ?)"), UnknownNameError, "did you mean 'sold'"),
        (lambda run: run.complete("sold(drw, ?, book)"), UnknownNameError, "did you mean 'drew'"),
        (lambda run: run.complete("sold(drew, ?)"), DataError, "takes 3 arguments, not 2"),
        (lambda run: run.complete("sold", buyr=None), UnknownNameError, "did you mean 'buyer'"),
        (lambda run: run.complete("sold", "drew", buyer=None), DataError, "by position or by role, not both"),
        (lambda run: run.complete("sold(drew, ?, book)", 3), DataError, "say k=... for more answers"),
        (lambda run: run.complete(3), DataError, "a question is a text such as 'sold(drew, ?, book)'"),
        (lambda run: run.complete("sold(drew, alex, book)"), DataError, "at least one position must be open"),
        (lambda run: run.score("sold(drew, ?, book)"), DataError, "names an entity for every position"),
        (lambda run: run.score("sold(seller=drew, buyer=alex)"), DataError, "names an entity for every position"),
        (lambda run: run.evaluate("tset"), UnknownNameError, "did you mean 'test'"),
        (lambda run: run.evaluate().by("arty"), UnknownNameError, "did you mean 'arity'"),
        (lambda run: run.predict("sodl"), UnknownNameError, "did you mean 'sold'"),
        (lambda run: run.rules("sodl"), UnknownNameError, "did you mean 'sold'"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_right_word(
    run: Run, ask: object, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error) as caught:
        ask(run)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("settings", "reason"), [({"lr": 0.1}, "learning_rate"), ({"model": "hyp"}, "did you mean 'hype'")])
def test_a_wrong_setting_is_refused_before_anything_is_read(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(RelatumError) as caught:
        relatum.fit("/nowhere", **settings)  # type: ignore[arg-type]
    assert reason in str(caught.value)


def test_facts_come_in_many_forms(tmp_path: Path) -> None:
    import pandas

    facts = [("sold", "drew", "alex", "book"), ("sold", "kim", "alex", "tea"), ("sold", "drew", "kim", "tea")]
    frame = pandas.DataFrame([fact[1:] for fact in facts], columns=["seller", "buyer", "item"])
    frame.to_csv(tmp_path / "sold.csv", index=False)
    for data in (
        facts,
        relatum.Hypergraph.of(facts),
        {"sold": frame},
        str(tmp_path / "sold.csv"),
        relatum.read({"sold": frame}),
    ):
        run = relatum.fit(data, dim=4, epochs=1, window=2, progress=False)
        assert len(run.facts) == 3
        assert [relation.name for relation in run.schema] == ["sold"]
    assert run.complete("sold(drew, ?, tea)", k=1).columns.keys() >= {"buyer"}  # a value as it stands in the table


def test_a_spec_says_all_of_it(tmp_path: Path) -> None:
    spec = Spec("example", dim=4, epochs=1)
    assert relatum.fit(spec, progress=False).spec == spec
    assert relatum.fit("example", spec=spec, epochs=2, progress=False).spec.training.epochs == 2
    with mistake("contradictory-options"):
        relatum.fit("example", spec)  # type: ignore[arg-type]


def test_new_facts_are_folded_in(run: Run, tmp_path: Path) -> None:
    new = run.update([("sold", "zoe", "alex", "book"), ("sold", "zoe", "kim", "book")])
    assert "zoe" in new.entities
    assert "zoe" not in run.entities
    kept = run.update([("sold", "zoe", "alex", "book")], tmp_path / "new")
    assert relatum.open(tmp_path / "new").events[-1]["new_entities"] == kept.events[-1]["new_entities"] == 1


def test_rules_reports_and_exports(run: Run, tmp_path: Path) -> None:
    assert any(one.head.name == "bought" for one in run.rules())
    assert run.rules("bought").to_dicts()[0]["rule"].startswith("bought = permute[")
    assert run.report(tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    written = run.export(tmp_path / "new.csv", "sold", 5)
    assert len((tmp_path / "new.csv").read_text().splitlines()) == len(written) + 1 == 6
    assert len(run.predict(["sold", "bought"], 2)) == 4
    assert len(run.export(tmp_path / "none.csv", "sold", min_score=1e9)) == 0
    assert len((tmp_path / "none.csv").read_text().splitlines()) == 1
    assert run.explain("sold(drew, ?, book)").windows


def test_a_run_shows_what_it_is(run: Run, tmp_path: Path) -> None:
    shown = repr(run)
    assert "ReAlE on example, 28 training facts, 15 entities, in memory" in shown
    assert "sold(seller, buyer, item)" in shown
    assert "hits@10" in repr(run.evaluate())
    assert "<table>" in run.evaluate()._repr_html_()
    coffee = run["sold"].select("item", "coffee").project("buyer")
    found = (coffee.complete(k=3), (coffee - run["buyer"].project("person")).complete(k=3), run.query("project[0](sold)"))
    for one in (*found, run.predict(top=5), run.rules(), run.explain("sold(drew, ?, book)"), run.evaluate().by("arity")):
        assert " object at 0x" not in repr(one) + str(one)


def test_a_password_is_nowhere_in_a_run_on_a_database(database: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE sold (seller TEXT, buyer TEXT, item TEXT)")
        rows = [(f"s{n % 4}", f"b{n % 5}", f"i{n % 3}") for n in range(40)]
        connection.cursor().executemany("INSERT INTO sold VALUES (%s, %s, %s)", rows)
    run = relatum.fit(database, tmp_path / "run", dim=4, epochs=1, progress=False)
    again = relatum.fit(Spec(database, dim=4, epochs=1), tmp_path / "again", progress=False)
    relatum.read(database).save(tmp_path / "facts")
    assert b"postgresql://owner@127.0.0.1" in (tmp_path / "facts" / "import.json").read_bytes()
    secrets = [PASSWORD.encode(), quote(PASSWORD, safe="").encode()]
    for one in (run, again):
        assert len(one.facts)
        assert not any(secret.decode() in repr(one) for secret in secrets)
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert not any(secret in path.read_bytes() for secret in secrets), path


def test_a_target_is_looked_at_before_facts_are_searched_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.csv").write_text("mine")
    monkeypatch.setattr("relatum.api.predict", lambda *_, **__: pytest.fail("searched first"))
    with mistake("table-exists"):
        run.export(tmp_path / "new.csv", "sold")
    assert (tmp_path / "new.csv").read_text() == "mine"
