"""Results are read back from files and from runs; what is none is passed over or refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relatum import Spec, fit
from relatum.runs.directory import JOURNAL, SPEC, read_environment, save_environment
from relatum.runs.journal import read_history
from relatum.runs.results import collect, read_results, series
from support.made_results import write_result
from support.mistakes import mistake


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three runs on the example, two of them alike but for the seed, and of one that has only begun."""
    folder = tmp_path_factory.mktemp("runs")
    spec = Spec.from_dict({"data": "example", "model": {"dim": 20}, "training": {"epochs": 4, "validate_every": 2}})
    for seed in (0, 1):
        fit(replace(spec, seed=seed), folder / f"two-{seed}")
    fit(replace(spec, settings=replace(spec.settings, window=4)), folder / "four")
    (folder / "begun").mkdir()
    (folder / "begun" / SPEC).write_text(spec.to_toml())
    return folder


def test_runs_alike_but_for_their_seed_are_one_result(runs: Path) -> None:
    collected = read_results(runs)
    assert {one.name: [run["seed"] for run in one.runs] for one in collected.results} == {"four": [0], "two-0": [0, 1]}
    assert collected.unfinished == (runs / "begun",)
    assert [len(one.runs) for one in read_results(runs / "two-1", runs / "two-0", runs / "two-1").results] == [2]


def test_results_say_how_training_went_and_how_well_small_relations_do(runs: Path) -> None:
    whole = collect([runs / "two-0", runs / "two-1"])
    for run, folder in zip(whole["runs"], ("two-0", "two-1"), strict=True):
        course = read_history(runs / folder / JOURNAL)
        told = [(moment["epoch"], moment["valid_mrr"]) for moment in run["course"]]
        assert told == [(moment.epoch, moment.value) for moment in course.scores] != []
        assert max(score for _, score in told) == run["valid"]["mrr"]
        assert run["course"][-1]["seconds"] == pytest.approx(course.scores[-1].seconds, abs=0.051)
        sizes = run["test"]["by_relation_size"]
        assert list(sizes) == ["1-9", "10-99"]
        assert sum(part["questions"] for part in sizes.values()) == run["test"]["questions"]


def test_results_tell_the_mrr_beside_the_metric_that_decided(runs: Path, tmp_path: Path) -> None:
    spec = Spec.of_run(runs / "two-0" / SPEC)
    training = replace(spec.training, validation_metric="corrected-mrr")
    fit(replace(spec, training=training), tmp_path / "run")
    told = collect([tmp_path / "run"])["runs"][0]
    plain = collect([runs / "two-0"])["runs"][0]
    assert [moment["valid_mrr"] for moment in told["course"]] == [moment["valid_mrr"] for moment in plain["course"]]
    assert told["valid"]["corrected_mrr"] == max(moment["valid_corrected_mrr"] for moment in told["course"])
    assert told["valid"]["mrr"] in [moment["valid_mrr"] for moment in told["course"]]


def test_results_say_on_what_runs_were_trained_not_collected(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("two-0", "two-1")]
    for folder in folders:
        shutil.copytree(runs / folder.name, folder)
    monkeypatch.setenv("RELATUM_THREADS", "7")
    trained = read_environment(folders[0])
    assert collect(folders)["trained_on"] == f"{trained['machine']}, threads: {trained['threads']}"
    assert trained["threads"] != 7
    save_environment(folders[1], {**trained, "threads": trained["threads"] + 1})
    assert collect(folders)["trained_on"] == ""
    save_environment(folders[1], {name: value for name, value in trained.items() if name != "threads"})
    assert collect(folders)["trained_on"] == ""


def test_files_and_runs_give_the_same_result(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps(collect([runs / "two-0", runs / "two-1"])))
    (file,), (run,) = read_results(tmp_path).results, read_results(runs / "two-0", runs / "two-1").results
    for name in ("spec", "checksums", "trained_on", "histories"):
        assert getattr(file, name) == getattr(run, name), name
    assert file.mean("mrr") == run.mean("mrr")


def test_results_without_a_course_are_read(tmp_path: Path) -> None:
    write_result(tmp_path, "old", "jf17k", "hype", [0.5, 0.6])
    (old,) = read_results(tmp_path).results
    assert old.histories == [[], []]
    assert old.mean("by_relation_size", "1-9", "mrr") is None
    assert (old.mean("mrr"), old.spread("hits@1")) == (pytest.approx(0.55), 0.0)


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"rules": []}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "notes.txt").write_text("{")
    assert read_results(tmp_path).results == ()
    with mistake("no-such-file"):
        read_results(tmp_path / "nowhere")
    (tmp_path / "torn.json").write_text('{"spec": ')
    with mistake("damaged-file"):
        read_results(tmp_path)


RUN = {"seed": 0, "minutes_of_training": 1.0, "valid": None, "test": {"mrr": 0.5}}
SPEC_ = {"data": "jf17k", "model": {"name": "hype"}}


@pytest.mark.parametrize(
    "whole",
    [
        {"spec": SPEC_, "runs": []},
        {"spec": SPEC_, "runs": [3]},
        {"spec": SPEC_, "runs": [{}]},
        {"spec": "jf17k", "runs": [RUN]},
        {"spec": {"data": "jf17k", "model": ["hype"]}, "runs": [RUN]},
        {"spec": SPEC_, "runs": [{**RUN, "test": {}}]},
        {"spec": SPEC_, "runs": [{**RUN, "test": {"mrr": float("nan")}}]},
        {"spec": SPEC_, "runs": [{**RUN, "seed": "0"}]},
        {"spec": SPEC_, "runs": [{**RUN, "minutes_of_training": "long"}]},
        {"spec": SPEC_, "runs": [{**RUN, "course": [{"epoch": 1}]}]},
        {"spec": SPEC_, "runs": [{**RUN, "course": 3}]},
        {"spec": SPEC_, "runs": [RUN], "provenance": []},
        {"format": "relatum-datasets", "datasets": {"jf17k": {"entities": "many"}}},
        {"format": "relatum-datasets"},
    ],
)
def test_damaged_results_are_refused_with_their_file(tmp_path: Path, whole: dict[str, Any]) -> None:
    (tmp_path / "odd.json").write_text(json.dumps(whole))
    with mistake("other-format", place=tmp_path / "odd.json"):
        read_results(tmp_path)


def test_a_series_differs_in_one_setting_alone(tmp_path: Path) -> None:
    for window, dim in ((8, 200), (1, 200), (2, 200), (2, 400), (4, 400)):
        write_result(tmp_path, f"{window}-{dim}", "jf17k", "reale", [0.5], settings={"window": window, "dim": dim})
    write_result(tmp_path, "again", "jf17k", "reale", [0.6], valid=0.6, settings={"window": 2, "dim": 200})
    write_result(tmp_path, "other", "fb-auto", "reale", [0.5], settings={"window": 5, "dim": 200})
    results = read_results(tmp_path).results
    assert {window: one.name for window, one in series(results, "jf17k", "reale", "model.window").items()} == {
        1: "1-200", 2: "again", 8: "8-200",
    }  # fmt: skip
    assert series(results, "fb-auto", "reale", "model.window") == {}
    assert list(series(results, "jf17k", "reale", "model.dim")) == [200, 400]


def test_results_on_other_bytes_are_no_part_of_a_series(tmp_path: Path) -> None:
    for window in (1, 2):
        write_result(tmp_path, str(window), "jf17k", "reale", [0.5], settings={"window": window})
        path = tmp_path / f"{window}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"provenance": {"checksums": {"train": str(window)}}}))
    assert series(read_results(tmp_path).results, "jf17k", "reale", "model.window") == {}
