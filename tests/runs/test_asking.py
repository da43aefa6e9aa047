"""A trained run answers questions with several gaps, and says how sure it is."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from relatum import DataError, Run, Spec, fit, load
from relatum.data.loading import save


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    spec = Spec.from_dict({"data": "example", "model": {"dim": 20}, "training": {"epochs": 20}})
    return fit(spec, tmp_path_factory.mktemp("asking") / "run")


def test_several_gaps_are_filled_by_the_best_of_all_facts(run: Run) -> None:
    names = list(run.model.graph.entities)
    answers = run.complete("sold(?, ?, book)", k=12)
    every = sorted((-run.score(f"sold({a}, {b}, book)").score for a, b in itertools.product(names, names)))
    assert [-answer.score for answer in answers] == pytest.approx(every[:12], rel=1e-5)
    assert all(len(answer.entities) == 2 for answer in answers)
    assert run.complete("sold(?, ?, ?)", k=5)[0].score >= answers[0].score * (1 - 1e-6)


def test_new_facts_alone_can_be_asked_for(run: Run) -> None:
    new = run.complete("sold(?, ?, ?)", k=200, new_only=True)
    assert not any(answer.known for answer in new)
    assert any(answer.known for answer in run.complete("sold(?, ?, ?)", k=200))


def test_a_beam_finds_the_best_fact(run: Run) -> None:
    exact, beam = (run.complete("sold(?, ?, ?)", k=3, beam=size) for size in (None, 30))
    assert beam[0] == exact[0]


def test_a_judgement_holds_score_probability_percentile_and_source(run: Run) -> None:
    names = list(run.model.graph.entities)
    fact = run.score("sold(drew, alex, book)")
    assert fact.source == "train"
    assert fact.probability is not None
    assert 0 < fact.probability < 1
    known = {fact for graph in load("example").parts.values() for fact in graph}
    below = total = 0.0
    for position, name in itertools.product(range(3), names):
        other = ["drew", "alex", "book"]
        other[position] = name
        if ("sold", *other) in known:
            continue
        rival = run.score(f"sold({', '.join(other)})").score
        total += 1
        below += (rival < fact.score) + (rival == fact.score) / 2
    assert fact.percentile == pytest.approx(100 * below / total)


def test_probabilities_follow_the_scores_of_a_relation(run: Run) -> None:
    answers = run.complete("sold(drew, ?, book)", k=100)
    chances = [answer.probability for answer in answers]
    assert all(chance is not None for chance in chances)
    assert chances == sorted(chances, reverse=True)  # type: ignore[type-var]
    trust = run.reliability("valid")
    assert trust is not None
    assert 0 <= trust.brier <= 1
    assert 0 <= trust.error <= 1


def test_without_validation_facts_there_are_no_probabilities(tmp_path: Path) -> None:
    split = load("example")
    save(split, tmp_path / "data")
    (tmp_path / "data" / "valid.txt").write_text("")
    plain = fit(Spec.from_dict({"data": str(tmp_path / "data"), "training": {"epochs": 1}}), tmp_path / "run")
    assert plain.calibration is None
    assert plain.reliability() is None
    assert plain.score("sold(drew, alex, book)").probability is None
    assert plain.complete("sold(drew, ?, book)")[0].probability is None


def test_a_damaged_calibration_is_an_error_of_one_line(run: Run, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    for text in ("{", "{}", '{"slope": [1]}', "[]"):
        (copy / "calibration.json").write_text(text)
        with pytest.raises(DataError, match=r"calibration\.json"):
            Run(copy).score("sold(drew, alex, book)")
