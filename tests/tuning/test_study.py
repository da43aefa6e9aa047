"""Trials are claimed by one process each, those of dead ones again, and the same study has the same trials."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.mistakes import mistake

pytest.importorskip("optuna")

from relatum import Spec, fit, load
from relatum.runs.journal import Journal
from relatum.tuning import study
from relatum.tuning.space import Plan, make_plan
from relatum.tuning.storage import open_storage
from relatum.tuning.study import BEST, Outcome, Study, bind, require_folder, save_best, sign_of_life, work

SPLIT = load("example", use_cache=False)
SMALL = {"data": "example", "model": {"dim": 8}, "training": {"epochs": 2, "validate_every": 1, "num_negatives": 10}}
RATES = "training.learning_rate=0.1,0.2,0.3"


def plan(*search: str, sampler: str = "tpe", pruner: str = "none", **training: Any) -> Plan:
    spec = Spec.from_dict({**SMALL, "training": {**SMALL["training"], **training}})  # type: ignore[dict-item]
    return make_plan(spec, search, sampler, pruner, SPLIT.checksums)


def study_in(folder: Path, of: Plan) -> Study:
    """Return a study as another process would open it: through a storage of its own."""
    return Study(of, open_storage(str(folder / "study.journal")))


def reached(study: Study) -> list[tuple[dict[str, Any], float | None]]:
    return [(trial.params, trial.value) for trial in study.trials() if trial.state.name in ("COMPLETE", "PRUNED")]


def dead_sign() -> dict[str, Any]:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return {**sign_of_life(), "process": child.pid}


def test_of_another_host_only_long_silence_shows_that_it_is_gone() -> None:
    elsewhere = {"host": "elsewhere", "process": 1, "time": time.time() - 840}
    silent = {**elsewhere, "time": time.time() - 960}
    signs = (None, dead_sign(), sign_of_life(), elsewhere, silent)
    assert [study._is_dead(sign) for sign in signs] == [True, True, False, False, True]


def test_claims_of_two_processes_are_disjoint_and_as_many_as_asked_for(tmp_path: Path) -> None:
    mine, yours = (study_in(tmp_path, plan(RATES)) for _ in range(2))
    claimed = [study.claim(5) for study in (mine, yours, mine, yours, mine, yours, mine)]
    assert [None if trial is None else trial.number for trial in claimed] == [0, 1, 2, 3, 4, None, None]
    assert mine.counts() == yours.counts() == {"complete": 0, "pruned": 0, "running": 5, "waiting": 0, "lost": 0}


def test_a_grid_is_gone_through_once(tmp_path: Path) -> None:
    grid = plan(RATES, "model.window=1,2", sampler="grid")
    studies = [study_in(tmp_path, grid) for _ in range(2)]
    claimed = [studies[number % 2].claim(100) for number in range(8)]
    assert claimed[6:] == [None, None]
    points = [(trial.params["training.learning_rate"], trial.params["model.window"]) for trial in claimed if trial]
    assert points == [(rate, window) for rate in (0.1, 0.2, 0.3) for window in (1, 2)]


def test_the_trial_of_a_dead_process_is_claimed_again_but_not_for_ever(tmp_path: Path) -> None:
    study = study_in(tmp_path, plan(RATES, "training.in_relation_share=0.0..1.0"))
    seen, sign = [], dead_sign()
    for _ in range(3):
        trial = study.claim(1)
        assert trial is not None
        seen.append(trial.params)
        trial.set_user_attr("worker", sign)
    assert seen[0] == seen[1] == seen[2]
    assert study.claim(1) is None
    assert study.counts() == {"complete": 0, "pruned": 1, "running": 0, "waiting": 0, "lost": 2}


def test_a_trial_that_was_given_away_changes_nothing_when_its_process_wakes(tmp_path: Path) -> None:
    study = study_in(tmp_path, plan(RATES))

    def sleep_long(event: str, *_: Any) -> None:
        if event == "epoch" and study.counts()["lost"] == 0:
            [mine] = [trial for trial in study.trials() if trial.state.name == "RUNNING"]
            study._lose(mine.number, blame=True)

    outcomes = list(work(study, SPLIT, 1, watch=sleep_long))
    assert [outcome.score is None for outcome in outcomes] == [True, False]
    assert "another process" in outcomes[0].why
    assert study.counts() == {"complete": 1, "pruned": 0, "running": 0, "waiting": 0, "lost": 1}


def test_a_study_that_is_stopped_again_and_again_has_the_same_trials(tmp_path: Path) -> None:
    of = plan("training.learning_rate=0.05..1.0 log", "model.window=1,2,4", pruner="median")
    whole = study_in(tmp_path / "whole", of)
    list(work(whole, SPLIT, 14))  # more than the ten that are drawn before TPE takes over
    steps = 0

    def stop_now_and_then(event: str, *_: Any) -> None:
        nonlocal steps
        steps += event == "validation"
        if event == "validation" and steps % 5 == 0:
            raise KeyboardInterrupt

    for _ in range(20):
        cut = study_in(tmp_path, of)
        try:
            list(work(cut, SPLIT, 14, watch=stop_now_and_then))
        except KeyboardInterrupt:
            continue
        break
    assert cut.counts()["lost"] > 2
    assert reached(cut) == reached(whole)
    assert len(reached(whole)) == 14
    assert whole.counts()["pruned"] > 0


def test_settings_that_cannot_be_or_diverge_count_as_bad(tmp_path: Path) -> None:
    study = study_in(tmp_path, plan("model.dim=9,16", "model.window=3,4"))
    outcomes = list(work(study, SPLIT, 12))
    assert {outcome.score is None for outcome in outcomes} == {True, False}
    for outcome in outcomes:
        fits = outcome.values["model.dim"] % outcome.values["model.window"] == 0  # type: ignore[operator]
        assert (outcome.score is not None) == fits
        assert ("must divide" in outcome.why) != fits
    study = study_in(tmp_path, plan("training.learning_rate=1e300,2e300"))
    outcomes = list(work(study, SPLIT, 1))
    assert study.counts()["pruned"] == 1
    assert outcomes[0].why


def test_settings_that_are_drawn_again_are_not_trained_again(tmp_path: Path) -> None:
    trained = []
    study = study_in(tmp_path, plan(RATES))
    outcomes = list(work(study, SPLIT, 8, watch=lambda event, *_: trained.append(event) if event == "end" else None))
    assert len(trained) == len({outcome.values["training.learning_rate"] for outcome in outcomes}) <= 3
    assert study.counts()["complete"] == 8
    assert len({(outcome.values["training.learning_rate"], outcome.score) for outcome in outcomes}) == len(trained)
    assert sum("the same settings as trial" in outcome.why for outcome in outcomes) == 8 - len(trained)


def test_weak_trials_are_ended_early(tmp_path: Path) -> None:
    of = plan("training.learning_rate=0.0001,0.001,0.01,0.05,0.1,0.2,0.5,1.0", pruner="halving", epochs=9)
    ended = [outcome for outcome in work(study_in(tmp_path, of), SPLIT, 12) if outcome.score is None]
    assert ended
    assert all("pruned after epoch" in outcome.why for outcome in ended)


def test_the_best_is_a_spec_that_trains_to_the_same_score(tmp_path: Path) -> None:
    study = study_in(tmp_path, plan("training.learning_rate=0.05..1.0 log", "model.window=1,2,4"))
    outcomes: list[Outcome] = []
    for outcome in work(study, SPLIT, 4):
        outcomes.append(outcome)
        (tmp_path / BEST).write_bytes(b"damaged \xff")
        save_best(tmp_path, study)
        assert f"{max(one.score or 0.0 for one in outcomes):.6f}" in (tmp_path / BEST).read_text()
    best = max(outcomes, key=lambda one: one.score or 0.0)
    spec = Spec.read(tmp_path / BEST)
    assert spec == study.spec_of(best.values)
    fit(spec, tmp_path / "run")
    scores = [event["score"] for event in Journal(tmp_path / "run" / "journal.jsonl").read() if "score" in event]
    assert max(scores) == best.score


def test_test_facts_are_not_looked_at(tmp_path: Path) -> None:
    found = []
    for name, test in (("own", SPLIT.test), ("other", SPLIT.valid)):
        study = study_in(tmp_path / name, plan(RATES))
        list(work(study, replace(SPLIT, test=test), 2))
        found.append(reached(study))
    assert found[0] == found[1]


def test_a_line_that_a_killed_process_left_half_written_is_dropped(tmp_path: Path) -> None:
    study = study_in(tmp_path, plan(RATES))
    list(work(study, SPLIT, 1))
    with (tmp_path / "study.journal").open("ab") as file:
        file.write(b'{"op_code":4,"worker_')
    list(work(study, SPLIT, 2))  # one that was there before
    with (tmp_path / "study.journal").open("ab") as file:
        file.write(b'{"op_code":4,"worker_')
    again = study_in(tmp_path, plan(RATES))  # and one that comes after
    assert again.counts()["complete"] == 2


def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for text in ("a note without an end", '{"op_code":99}\n{"op_code":98}\n'):
        (tmp_path / "study.journal").write_text(text)
        with mistake("other-study"):
            study_in(tmp_path, plan(RATES))
        assert (tmp_path / "study.journal").read_text() == text


@pytest.mark.parametrize("place", ["sqlite:///x.db", "mysql://a:secret@b/c", "redis://x", "postgresql://a:secret@b:port/c"])
def test_other_databases_are_refused_without_their_password(place: str) -> None:
    with mistake("setting-out-of-range") as refused:
        open_storage(place)
    assert "secret" not in str(refused.value)


def test_a_database_that_is_not_there_is_one_line_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with mistake("storage-failed") as failed:
        open_storage("postgresql://someone:secret@127.0.0.1:1/none")
    assert "secret" not in str(failed.value)


def test_a_folder_belongs_to_one_study(tmp_path: Path) -> None:
    shared = open_storage(str(tmp_path / "study.journal"))
    bind(tmp_path, plan(RATES), shared)
    bind(tmp_path, plan(RATES), shared)
    with mistake("other-study"):
        require_folder(tmp_path, plan(RATES, epochs=3))
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "study.json").write_text("{")
    with mistake("damaged-file"):
        require_folder(tmp_path / "torn", plan(RATES))
    (tmp_path / "torn" / "study.json").write_text("[]")
    with mistake("other-study"):
        require_folder(tmp_path / "torn", plan(RATES))
    with mistake("other-study"):
        require_folder(tmp_path, plan("training.in_relation_share=0.0,0.5"))
    (tmp_path / "full" / "of things").mkdir(parents=True)
    with mistake("other-study"):
        require_folder(tmp_path / "full", plan(RATES))
