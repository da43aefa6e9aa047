"""A trained run answers relational algebra, knows what follows from facts, and learns new names without training."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum import Hypergraph, Run, Spec, fit
from relatum.algebra import evaluate, parse
from relatum.reasoning.closed_form import Bound
from relatum.runs import definitions
from relatum.runs.definitions import definition_text
from support.locks import locked_elsewhere
from support.mistakes import mistake


@pytest.fixture
def run(example_run: Path, tmp_path: Path) -> Run:
    """Return a run of one's own, which may be added to."""
    shutil.copytree(example_run, tmp_path / "run")
    return Run.load(tmp_path / "run")


def known_tuples(run: Run, expression: str) -> set[tuple[str, ...]]:
    return set(evaluate(parse(expression, run.schema), Hypergraph.union(list(run.split.parts.values()))))


def chance(run: Run, fact: str) -> float:
    """Return the probability of a fact by its score alone, which queries go by."""
    assert run.calibration is not None
    relation = run.schema.id(fact.partition("(")[0])
    return float(run.calibration.probability(relation, run.score(fact).score))


def test_a_bare_relation_is_completed_as_ever(run: Run) -> None:
    found = run.query("sold(drew, ?, book)", k=50)
    plain = run.complete("sold(drew, ?, book)", k=50)
    assert [one.entities for one in found.answers] == [one.entities for one in plain]
    assert [one.known for one in found.answers] == [one.known for one in plain]
    facts = [f"sold(drew, {one.entity}, book)" for one in plain]
    assert [one.probability for one in found.answers] == pytest.approx([chance(run, fact) for fact in facts], rel=1e-5)
    assert found.bound is Bound.EQUAL
    assert found.proven
    assert all(one.slack == pytest.approx(0, abs=1e-6) for one in found.answers)


@pytest.mark.parametrize("mode", ["exact", "closed"])
def test_renamings_and_selections_rank_as_their_source_does(run: Run, mode: str) -> None:
    turned = run["sold"].permute("buyer", "seller", "item").complete("alex", None, "book", k=15, mode=mode)
    selected = run.query("(select[2 = coffee](sold))(drew, ?)", k=15, mode=mode)
    for made, source in ((turned, "sold(?, alex, book)"), (selected, "sold(drew, ?, coffee)")):
        expected = run.query(source, k=15, mode=mode)
        assert [one.entities for one in made.answers] == [one.entities for one in expected.answers]
        assert [one.closed for one in made.answers] == pytest.approx([one.closed for one in expected.answers])


def test_a_projection_is_the_best_over_what_it_drops(run: Run) -> None:
    names = list(run.model.graph.entities)
    found = run.query("project[0, 2](sold)(drew, ?)", k=len(names))
    for one in found.answers:
        best = max(chance(run, f"sold(drew, {other}, {one.entities[0]})") for other in names)
        assert one.probability == pytest.approx(best)
        assert one.slack is not None
        assert one.slack >= -1e-6
    assert found.bound is Bound.AT_LEAST


def test_unions_and_differences_meet_as_probabilities(run: Run) -> None:
    for left, right in (("sold", "bought"), ("bought", "sold")):
        either = run.query(f"union({left}, {right})(drew, ?, book)", k=3)
        without = run.query(f"difference({left}, {right})(drew, ?, book)", k=3)
        for one in either.answers:
            sides = [chance(run, f"{name}(drew, {one.entity}, book)") for name in (left, right)]
            assert one.probability == pytest.approx(max(sides))
        for one in without.answers:
            first, second = (chance(run, f"{name}(drew, {one.entity}, book)") for name in (left, right))
            assert one.probability == pytest.approx(min(first, 1 - second))
        assert (either.bound, without.bound) == (Bound.AT_LEAST, Bound.AT_MOST)


@pytest.mark.parametrize(
    "expression", ["project[2](sold)", "difference(project[1, 2](sold), buyer)", "select[2 = tea](bought)"]
)
@pytest.mark.parametrize("mode", ["exact", "closed"])
def test_an_answer_is_known_if_it_follows_from_facts(run: Run, expression: str, mode: str) -> None:
    known = known_tuples(run, expression)
    everything = run.query(expression, k=1000, mode=mode)
    assert {one.entities for one in everything.answers if one.known} == known
    new = run.query(expression, k=1000, mode=mode, new_only=True)
    assert [one.entities for one in new.answers] == [one.entities for one in everything.answers if not one.known]
    assert len(run.query(expression, k=2, mode=mode, new_only=True).answers) == 2


def test_a_query_without_an_open_column_says_how_true_it_is(run: Run) -> None:
    (answer,) = run.query("sold(drew, alex, book)").answers
    assert answer.entities == ()
    assert answer.known
    assert answer.probability == pytest.approx(chance(run, "sold(drew, alex, book)"))
    assert run["sold"].score("drew", "alex", "book") == answer
    assert run["sold"].project(0).score("drew").known


def test_an_explanation_adds_up(run: Run) -> None:
    query = "difference(project[0, 2](sold), project[1, 2](bought))"
    for one in run.query(query, k=3).answers:
        why = run.explain(query, one)
        left, right = why.parts
        assert why.truth == pytest.approx(one.probability)
        assert why.truth == pytest.approx(min(left.truth, 1 - right.truth))
        for side in (left, right):
            (fact,) = side.parts  # the projection, and the fact that it is best with
            assert side.truth == pytest.approx(fact.truth)
            assert chance(run, fact.text) == pytest.approx(fact.truth)
            assert len(fact.windows) == 3
        assert len(list(why.lines())) == 5
        json.dumps(why.to_json())


def test_a_defined_relation_is_treated_like_any_other(run: Run) -> None:
    run.define("got", "permute[buyer, seller, item](sold)")
    for again in (run, Run.load(run.folder)):
        assert again.schema["got"].roles == ("buyer", "seller", "item")
        mine, theirs = again.complete("got(alex, ?, book)", k=50), again.complete("sold(?, alex, book)", k=50)
        assert [(one.entity, one.known) for one in mine] == [(one.entity, one.known) for one in theirs]
        assert [one.score for one in mine] == pytest.approx([one.score for one in theirs], rel=1e-5)
        facts = [f"sold({one.entity}, alex, book)" for one in theirs]
        assert [one.probability for one in mine] == pytest.approx([chance(run, fact) for fact in facts], rel=1e-5)
        judged, source = again.score("got(alex, drew, book)"), again.score("sold(drew, alex, book)")
        assert (judged.source, source.source) == ("derived", "train")
        assert judged.percentile == pytest.approx(source.percentile)
        assert not any(one.known for one in again.complete("got(?, ?, ?)", k=50, new_only=True))
        assert [one.entities for one in again.query("project[0](got)", k=4).answers] == [
            one.entities for one in again.query("project[1](sold)", k=4).answers
        ]


def test_definitions_build_on_each_other_and_leave_what_was_trained_alone(run: Run) -> None:
    before = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    run.define("got", "permute[1, 0, 2](sold)")
    assert set(run.facts.table("got")) == known_tuples(run, "permute[1, 0, 2](sold)")
    run["got"].project("buyer", "item").define("has")
    (run["has"] - run["buyer"]).define("stole")
    assert set(run.facts.table("has")) == known_tuples(run, "project[1, 2](sold)")
    after = {path.name: path.read_bytes() for path in run.folder.iterdir() if path.is_file()}
    assert after.keys() - before.keys() - {".lock"} == {"definitions.json"}
    assert all(after[name] == content for name, content in before.items())
    again = Run.load(run.folder)
    assert str(again.definitions["stole"]) == "difference(project[0, 2](permute[1, 0, 2](sold)), buyer)"
    assert len(again.model.schema) == 3
    assert again.evaluate().metrics == run.evaluate().metrics


def test_a_chain_of_definitions_is_kept_by_name_and_shared_in_memory(run: Run) -> None:
    run.define("d0", "union(sold, permute[1, 0, 2](sold))")
    for number in range(1, 30):  # written out, the last one would have a billion relations
        run.define(f"d{number}", f"union(d{number - 1}, permute[1, 0, 2](d{number - 1}))")
    assert (run.folder / "definitions.json").stat().st_size < 4000
    again = Run.load(run.folder)
    assert again.definitions == run.definitions
    assert definition_text(again.definitions, "d29") == "union(d28, permute[1, 0, 2](d28))"
    assert set(again.facts.table("d29")) == set(again.facts.table("d0"))
    assert again.complete("sold(drew, ?, book)", k=3) == run.complete("sold(drew, ?, book)", k=3)
    with mistake("expression-too-deep"):
        again.score("d29(drew, alex, book)")


@pytest.mark.everything
def test_no_definition_is_lost_where_several_processes_define(run: Run, count: Callable[[int, int], int]) -> None:
    for number in range(count(1, 12)):
        lines = [f"relatum.open({str(run.folder)!r}).define('{side}{number}', 'permute[1, 0, 2](sold)')" for side in "abc"]
        started = [subprocess.Popen([sys.executable, "-c", f"import relatum; {line}"]) for line in lines]
        assert [one.wait() for one in started] == [0, 0, 0]
        names = set(Run.load(run.folder).definitions)
        assert names >= {f"{side}{number}" for side in "abc"}
        assert len(names) == 3 * (number + 1)


def test_what_others_have_defined_meanwhile_is_known_and_not_taken_twice(run: Run) -> None:
    other = Run.load(run.folder)
    other.define("got", "permute[1, 0, 2](sold)")
    with mistake("name-taken"):
        run.define("got", "sold")
    run.define("has", "project[0, 2](got)")
    assert list(Run.load(run.folder).definitions) == ["got", "has"]


def test_a_run_that_another_process_trains_is_not_defined_on(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(definitions, "_QUIET", 0.1)
    monkeypatch.setattr(definitions, "_PATIENCE", 0.1)
    with locked_elsewhere(run.folder / ".lock"), mistake("run-in-use"):
        run.define("got", "permute[1, 0, 2](sold)")
    assert capsys.readouterr().err == f"{run.folder}: waiting for another process ...\n"
    assert not (run.folder / "definitions.json").exists()


@pytest.mark.parametrize(
    ("name", "expression", "reason"),
    [
        ("sold", "bought", "name-taken"),
        ("union", "bought", "name-taken"),
        ("#x", "bought", "relation-like-comment"),
        ("pairs", "product(sold, sold)", "no-closed-form"),
        ("pairs", "project[7](sold)", "no-such-position"),
        ("pairs", "select[0 = nobody](sold)", "unknown-name"),
    ],
)
def test_what_cannot_be_defined_is_refused_and_nothing_is_written(run: Run, name: str, expression: str, reason: str) -> None:
    with mistake(reason):
        run.define(name, expression)
    assert not (run.folder / "definitions.json").exists()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{", "damaged-file"),
        ("[]", "damaged-file"),
        ('{"definitions": 3}', "damaged-file"),
        ('{"format": "x", "version": 1, "definitions": []}', "other-format"),
    ],
)
def test_damaged_definitions_are_refused(run: Run, content: str, code: str) -> None:
    (run.folder / "definitions.json").write_text(content)
    with mistake(code):
        Run.load(run.folder)


def test_an_unknown_mode_and_a_missing_argument_are_refused(run: Run) -> None:
    with mistake("unknown-name"):
        run.query("sold", mode="exakt")
    with mistake("argument-count"):
        run["sold"].complete("drew")


def test_other_models_say_that_they_have_no_algebra(tmp_path: Path) -> None:
    spec = Spec.from_dict({"data": "example", "model": {"name": "m-distmult", "dim": 8}, "training": {"epochs": 1}})
    run = fit(spec, tmp_path / "run")
    with mistake("needs-reale"):
        run.query("project[0](sold)")
    with mistake("needs-reale"):
        run.define("got", "permute[1, 0, 2](sold)")
