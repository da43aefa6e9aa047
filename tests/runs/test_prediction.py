"""A run predicts the facts that are missing: new, near known ones or anywhere, of stored and of defined relations."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from relatum import Run
from relatum.runs import prediction
from relatum.runs.answers import Prediction
from relatum.runs.prediction import predict
from support.mistakes import mistake


@pytest.fixture(scope="module")
def run(example_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = Run.load(shutil.copytree(example_run, tmp_path_factory.mktemp("predicting") / "run"))
    made.define("customer", "project[buyer](sold)")
    made.define("traded", "union(sold, permute[1, 0, 2](sold))")
    return made


def known(run: Run, relation: str) -> set[tuple[str, ...]]:
    return set(run.table(relation))


@pytest.mark.parametrize("relation", ["sold", "bought", "traded"])
def test_predictions_are_the_best_new_answers_to_all_questions(run: Run, relation: str) -> None:
    best: dict[tuple[str, ...], float] = {}
    for fact in known(run, relation):
        for position in range(3):
            asked = [*fact[:position], "?", *fact[position + 1 :]]
            for answer in run.complete(f"{relation}({', '.join(asked)})", k=100, new_only=True):
                made = (*fact[:position], answer.entity, *fact[position + 1 :])
                best[made] = max(best.get(made, answer.score), answer.score)
    found = run.predict(relation, top=10**6)
    assert {one.entities for one in found} == best.keys()
    chances = [one.probability for one in found]
    assert chances == sorted(chances, reverse=True)  # type: ignore[type-var]
    assert all(one.score == pytest.approx(best[one.entities], rel=1e-6) for one in found)
    by_score = sorted(found, key=lambda one: -one.score)
    assert sorted(one.score for one in run.predict(relation, top=7)) == sorted(one.score for one in by_score[:7])
    for one in found[:5]:
        judged = run.score(f"{relation}({', '.join(one.entities)})")
        assert (judged.source, one.relation) == (None, relation)
        assert (judged.probability is None) is (one.probability is None)
        assert one.position is not None
        others = [place for place in range(3) if place != one.position]
        assert any(
            [fact[place] for place in others] == [one.entities[place] for place in others] for fact in known(run, relation)
        )


def test_what_a_projection_keeps_can_be_predicted(run: Run) -> None:
    found = run.predict("customer")
    assert {one.entities for one in found} == {(name,) for name in run.model.graph.entities} - known(run, "customer")
    assert [one.entities for one in found] == [one.entities for one in run.predict("customer", exact=True)]


def test_thresholds_leave_out_what_lies_below(run: Run) -> None:
    every = run.predict("sold")
    least, likely = every[20].score, every[30].probability
    assert run.predict("sold", min_score=least) == [one for one in every if one.score >= least]
    assert likely is not None
    kept = run.predict("sold", min_probability=likely)
    assert kept == [one for one in every if (one.probability or 0) >= likely]
    assert 31 <= len(kept) < len(every)
    assert run.predict("sold", min_score=1e9) == []


def test_several_relations_at_once_are_those_one_by_one(run: Run) -> None:
    names = ["buyer", "sold", "customer"]
    found = predict(run, names, 5)
    assert list(found) == names
    assert found == {name: run.predict(name, 5) for name in names}
    assert isinstance(found["sold"][0], Prediction)


def test_what_cannot_be_asked_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({"around": 0}, {"per_question": 0}, {"min_probability": 1.5}, {"min_score": float("nan")}):
        with mistake("setting-out-of-range"):
            predict(run, ["sold"], **wrong)  # type: ignore[arg-type]
    monkeypatch.setattr(prediction, "EXHAUSTIVE_LIMIT", 15**3 - 1)
    with mistake("too-many-facts"):
        run.predict("sold", exact=True)


def test_the_search_can_be_held_to_a_few_known_facts(run: Run) -> None:
    (few,) = predict(run, ["sold"], 10**6, around=2).values()
    every = run.predict("sold", top=10**6)
    assert {one.entities for one in few} < {one.entities for one in every}
    assert len(few) <= 2 * 3 * run.model.num_entities
    assert predict(run, ["sold"], 10**6, around=2)["sold"] == few
    assert predict(run, ["sold"], 10**6, around=10**6)["sold"] == every


def test_facts_that_are_held_back_can_be_predicted(run: Run) -> None:
    given, names = run.split.train, [schema.name for schema in run.model.schema]
    near = set()
    for name, found in predict(run, names, 10**6, given=given).items():
        entities, known_here = {one.entities for one in found}, set(given.table(name))
        assert not known_here & entities
        for fact in known(run, name) - known_here:
            beside = any(sum(map(str.__ne__, fact, other)) == 1 for other in known_here)
            assert (fact in entities) == beside
            near |= {fact} if beside else set()
    assert near
