"""Probabilities of a run: they follow the scores, add up where one answer is right, and tell known from new."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum import Hypergraph, Run, Split
from relatum.runs.probabilities import fact_probabilities
from support.mistakes import mistake
from support.strategies import restrict


def made() -> Split:
    """Return people who have one home each, in which one of three languages is spoken, and what they speak."""
    rng = np.random.default_rng(0)
    rows = []
    for person in range(240):
        home = rng.integers(0, 12)
        rows += [("lives", f"p{person}", f"c{home}"), ("speaks", f"p{person}", f"l{home % 3}")]
    graph = Hypergraph.of(rows)
    held = [fact for number, fact in enumerate(rows) if number % 2 and number % 12 < 4]
    train = [fact for fact in rows if fact not in set(held)]
    return Split(*(restrict(graph, part) for part in (train, held[::2], held[1::2])), source="made")


SPLIT = made()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("made") / "run"
    return relatum.fit(SPLIT, folder, dim=20, epochs=25, evidence=True, progress=False)


def test_answers_are_ordered_alike_by_score_and_by_probability(run: Run) -> None:
    for question in ("lives(?, c3)", "speaks(p3, ?)", "lives(p5, ?)"):
        new = run.complete(question, k=50, new_only=True)
        for name in ("score", "probability"):
            values = [answer[name] for answer in new]
            assert values == sorted(values, reverse=True)
        assert all(0 <= answer.probability <= 1 for answer in new)


def test_where_one_answer_is_right_and_none_is_known_they_add_up_to_one(run: Run) -> None:
    unknown = Run(
        run.model,
        run.parameters,
        spec=run.spec,
        split=Split(SPLIT.train, *(Hypergraph(SPLIT.entities, SPLIT.schema, ()),) * 2, source="made"),
        validated=run.validated,
    )
    sums, right = [], []
    for _, person, language in SPLIT.test:
        answers = unknown.complete(f"speaks({person}, ?)", k=len(SPLIT.entities))
        sums.append(sum(answer.probability for answer in answers))
        right.append(answers[0].entity == language)
    assert np.mean(right) > 0.8
    assert np.mean(sums) == pytest.approx(1, abs=0.2)


def test_a_known_answer_is_judged_as_if_it_were_not_known(run: Run) -> None:
    known = run.complete("lives(p3, ?)", k=1)[0]
    assert known.known
    new = run.complete("lives(p3, ?)", k=1, new_only=True)[0]
    assert new.probability < known.probability  # people have one home
    assert run.score("lives", "p3", known.entity).probability > run.score("lives", "p3", new.entity).probability


def test_a_question_that_nothing_known_answers_is_taken_to_have_an_answer(run: Run) -> None:
    """The same fact is likelier as an answer to it than as one of all facts that there could be."""
    empty = Hypergraph(SPLIT.entities, SPLIT.schema, ())
    nothing_known = Split(SPLIT.train, empty, empty, source="made")
    bare = Run(run.model, run.parameters, spec=run.spec, split=nothing_known, validated=run.validated)
    (best,) = bare.complete("speaks(?, ?)", k=1, new_only=True)
    assert best.probability == pytest.approx(bare.score("speaks", *best.entities).probability)  # others are known
    relation = SPLIT.schema.id("speaks")
    facts = np.array([[SPLIT.entities.id(one)] for one in best.entities], np.int32)
    scorer, scores = bare.scorer("speaks"), np.zeros(1, np.float32)
    assert scorer.relation == relation
    usual, expected = (fact_probabilities(bare, scorer, facts, scores, expected=each) for each in (False, True))
    assert usual is not None
    assert expected is not None
    assert expected > usual


def test_how_far_they_can_be_trusted_is_told_of_each_part(run: Run) -> None:
    for part in ("train", "valid", "test"):
        found = run.reliability(part)
        assert found is not None
        assert part == "train" or found.error < 0.15


def test_they_are_kept_with_the_run_and_damage_is_told_in_one_line(run: Run, tmp_path: Path) -> None:
    assert run.folder is not None
    again = Run.load(run.folder)
    assert again.complete("speaks(p3, ?)") == run.complete("speaks(p3, ?)")
    saved = run.save(tmp_path / "saved")
    assert saved.complete("speaks(p3, ?)") == run.complete("speaks(p3, ?)")
    (tmp_path / "saved" / "answer_calibration.json").write_text(json.dumps({"version": 1}))
    with mistake("damaged-file"):
        Run.load(tmp_path / "saved").complete("speaks(p3, ?)")


def test_where_answers_were_not_calibrated_a_run_goes_by_its_calibration_of_facts(run: Run) -> None:
    assert run.folder is not None
    plain = Run.load(run.folder)
    plain.answer_calibration = None
    found = plain.complete("speaks(p3, ?)", k=50, new_only=True)
    assert plain.calibration is not None
    chances = [answer.probability for answer in found]
    assert chances == sorted(chances, reverse=True)
    assert plain.reliability("test") is not None
