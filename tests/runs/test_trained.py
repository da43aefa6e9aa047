"""A trained run answers questions with several gaps, and says how sure it is."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relatum import Run, Spec, fit, load
from relatum.datasets.load import save
from relatum.runs.directory import FITTED
from support.mistakes import mistake


def test_several_gaps_are_filled_by_the_best_of_all_facts(example: Run) -> None:
    names = list(example.model.graph.entities)
    judged = {(a, b): example.score(f"sold({a}, {b}, book)") for a, b in itertools.product(names, names)}
    known, new = (
        sorted(-one.score for one in judged.values() if (one.source is None) is is_new) for is_new in (False, True)
    )
    assert len(known) > 1
    for k in (1, 12):
        answers = example.complete("sold(?, ?, book)", k=k)
        scores = [sorted(-one.score for one in answers if one.known is is_known) for is_known in (True, False)]
        assert scores[0] + scores[1] == pytest.approx(known[:k] + new[:k], rel=1e-5)
        assert [answer.source for answer in answers] == [judged[answer.entities].source for answer in answers]
    best = example.complete("sold(?, ?, ?)", k=1)
    assert [answer.known for answer in best] == [True, False]
    assert best[0].score >= -known[0] * (1 - 1e-6)
    assert best[1].score >= -new[0] * (1 - 1e-6)


def test_new_facts_alone_can_be_asked_for(example: Run) -> None:
    new = example.complete("sold(?, ?, ?)", k=200, new_only=True)
    assert not any(answer.known for answer in new)
    everything = example.complete("sold(?, ?, ?)", k=200)
    assert {("sold", *answer.entities): answer.source for answer in everything if answer.known} == {
        fact: part for part, graph in reversed(load("example").parts.items()) for fact in graph if fact[0] == "sold"
    }
    assert [answer for answer in everything if not answer.known] == new == everything[-200:]


@pytest.mark.parametrize("wrong", [0, -1, 1.0, "3", True, None])
def test_a_number_that_cannot_be_is_refused(example: Run, wrong: Any) -> None:
    for question in ("sold(drew, ?, book)", "sold(?, ?, ?)"):
        with mistake("setting-out-of-range"):
            example.complete(question, k=wrong)
        if wrong is not None:
            with mistake("setting-out-of-range"):
                example.complete(question, beam=wrong)
    with mistake("setting-out-of-range"):
        example.predict("sold", top=wrong)
    with mistake("setting-out-of-range"):
        example.query("sold(drew, ?, book)", k=wrong)
    with mistake("setting-out-of-range"):
        example.complete_each("sold(*, ?, *)", k=wrong)


def test_more_answers_than_entities_are_all_there_are(example: Run) -> None:
    every = example.complete("sold(drew, ?, book)", k=10**12)
    assert len(every) == len(example.model.graph.entities)
    assert every == example.complete("sold(drew, ?, book)", k=np.int64(15))  # type: ignore[arg-type]


def test_without_validation_facts_there_are_no_probabilities(tmp_path: Path) -> None:
    split = load("example")
    save(split, tmp_path / "data")
    (tmp_path / "data" / "valid.txt").write_text("")
    plain = fit(Spec.from_dict({"data": str(tmp_path / "data"), "training": {"epochs": 1}}), tmp_path / "run")
    assert plain.calibration is None
    assert plain.reliability() is None
    assert plain.score("sold(drew, alex, book)").probability is None
    assert plain.complete("sold(drew, ?, book)")[0].probability is None
    assert {one.probability for one in plain.predict("sold")} == {None}
    with mistake("no-probabilities"):
        plain.predict("sold", min_probability=0.5)


def test_what_is_noted_as_a_part_of_the_run_must_be_there(example: Run, tmp_path: Path) -> None:
    assert example.folder is not None
    for name in FITTED:
        if (example.folder / name).exists():
            copy = Path(shutil.copytree(example.folder, tmp_path / name))
            (copy / name).unlink()
            with mistake("missing-part"):
                _ = Run.load(copy).validated
    assert len(list(tmp_path.iterdir())) >= 3
