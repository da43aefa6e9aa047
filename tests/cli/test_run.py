"""`relatum run`: it skips finished runs, resumes interrupted ones and trains the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relatum import Spec
from relatum.runs.experiment import read_experiments
from support.command_line import Relatum
from support.mistakes import code_of

SPEC = """
data = "example"
seeds = [0, 1]

[model]
dim = 20

[training]
epochs = 4
validate_every = 2
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SPEC)
    return path


def options(tmp_path: Path) -> tuple[str, ...]:
    return ("--out", str(tmp_path / "runs"), "--results", str(tmp_path / "results"))


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}


def test_every_seed_is_run_once_and_collected(run: Relatum, spec: Path, tmp_path: Path) -> None:
    code, out, _ = run("run", str(spec), *options(tmp_path))
    assert code == 0
    assert "mean" in out
    results = json.loads((tmp_path / "results" / "small.json").read_text())
    assert [one["seed"] for one in results["runs"]] == [0, 1]
    assert results["test_mrr"]["mean"] == pytest.approx(sum(one["test"]["mrr"] for one in results["runs"]) / 2)
    before = files(tmp_path / "runs")
    code, _, _ = run("run", str(spec), *options(tmp_path))
    assert code == 0
    assert files(tmp_path / "runs") == before


def test_a_change_of_anything_is_another_run(run: Relatum, spec: Path, tmp_path: Path) -> None:
    def folders() -> set[Path]:
        return {planned.folder for one in read_experiments(spec) for planned in one.runs(tmp_path)}

    first = folders()
    assert len(first) == 2
    assert folders() == first
    spec.write_text(SPEC.replace("epochs = 4", "epochs = 5"))
    assert not folders() & first
    spec.write_text(SPEC.replace("seeds = [0, 1]", "seeds = [1, 2]"))
    assert len(folders() & first) == 1


def test_what_two_experiments_have_in_common_is_run_once(run: Relatum, spec: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(SPEC.replace("[0, 1]", "[1, 2]"))
    assert run("run", str(spec), str(other), *options(tmp_path))[0] == 0
    assert len(list((tmp_path / "runs").glob("*-*"))) == 3
    first, second = (json.loads((tmp_path / "results" / f"{name}.json").read_text())["runs"] for name in ("small", "other"))
    assert [one["seed"] for one in second] == [1, 2]
    assert second[0]["test"] == first[1]["test"]
    (begun,) = (tmp_path / "runs").glob("other-2-*")
    (begun / "config.json").unlink()
    spec.write_text(SPEC.replace("[0, 1]", "[2]"))
    plan = json.loads(run("run", str(spec), "--plan", "--json", *options(tmp_path))[1])
    assert plan == {"small": {str(begun): "begun"}}


def test_a_spec_with_seeds_and_an_ensemble_can_be_trained_alone(spec: Path) -> None:
    spec.write_text("ensemble = true\n" + spec.read_text())
    assert Spec.read(spec).seed == 0


def test_a_bad_spec_is_refused_before_any_is_run(run: Relatum, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('data = "example"\n[model]\nname = "realle"\n')
    for others in (("bad.toml",), ("nowhere.toml",), ("small.toml",)):
        code, _, err = run("run", str(spec), *(str(tmp_path / other) for other in others), *options(tmp_path))
        assert (code, err.count("\n")) == (2, 1)
        assert not (tmp_path / "runs").exists()
    assert run("run", str(spec), "--seeds", "a,b")[0] == 2


SERIES = SPEC.replace("seeds = [0, 1]", "[vary]\nmodel.window = [1, 4]")


def test_a_series_is_run_point_by_point_and_each_has_results_of_its_own(run: Relatum, tmp_path: Path) -> None:
    spec = tmp_path / "windows.toml"
    spec.write_text(SERIES)
    assert run("run", str(spec), *options(tmp_path))[0] == 0
    for window in (1, 4):
        results = json.loads((tmp_path / "results" / f"windows-{window}.json").read_text())
        assert (results["spec"]["model"]["window"], results["spec"]["model"]["dim"]) == (window, 20)
        assert [one["seed"] for one in results["runs"]] == [0]
    before = files(tmp_path / "runs")
    spec.write_text(SERIES.replace("[1, 4]", "[1, 2, 4]"))  # what is there already is not run again
    assert "missing" in run("run", str(spec), "--plan", *options(tmp_path))[1]
    plan = json.loads(run("run", str(spec), "--plan", "--json", *options(tmp_path))[1])
    assert {name: list(states.values()) for name, states in plan.items()} == {
        "windows-1": ["done"], "windows-2": ["missing"], "windows-4": ["done"],
    }  # fmt: skip
    assert files(tmp_path / "runs") == before


def test_a_series_can_have_seeds_and_vary_any_one_setting(tmp_path: Path) -> None:
    spec = tmp_path / "x.toml"
    for vary in ('"model.window" = [2, 4]', "training.learning_rate = [0.1, 5e-3]", 'data = ["example", "../my data"]'):
        spec.write_text(SPEC.replace("[model]", f"[vary]\n{vary}\n[model]"))
        found = read_experiments(spec)
        assert [one.seeds for one in found] == [(0, 1), (0, 1)]
        assert len({json.dumps(one.spec.to_dict()) for one in found}) == 2
    assert [one.name for one in found] == ["x-example", "x-my_data"]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        *((f"seeds = {seeds}", "setting-out-of-range") for seeds in ("[]", "3", "[-1]", "[true]")),
        ("seeds = [1, 1]", "bad-seeds"),
        ("model.window = []", "setting-out-of-range"),
        ("model.window = [[1]]", "setting-out-of-range"),
        ("model.window = [1, 1]", "bad-series"),
        ("model.windw = [1, 2]", "unknown-setting"),
        ("model.window = [1]\ntraining.batch = [1]", "one-setting-varies"),
        ("", "one-setting-varies"),
        ("seed = [0, 1]", "bad-series"),
    ],
)
def test_what_cannot_be_run_is_refused_before_any_is_run(run: Relatum, tmp_path: Path, vary: str, message: str) -> None:
    spec = tmp_path / "windows.toml"
    series = SPEC.replace("[model]", f"[vary]\n{vary}\n[model]")
    spec.write_text(SPEC.replace("seeds = [0, 1]", vary) if vary.startswith("seeds") else series)
    code, out, err = run("run", str(spec), *options(tmp_path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert code_of(err) == message
    assert "windows.toml: " in err
    assert not (tmp_path / "runs").exists()


def test_a_series_is_no_spec_to_train(run: Relatum, tmp_path: Path) -> None:
    spec = tmp_path / "windows.toml"
    spec.write_text(SERIES)
    code, _, err = run("train", "--spec", str(spec), "--out", str(tmp_path / "run"))
    assert (code, code_of(err) == "series-not-one") == (2, True)


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[2] / "experiments").glob("*.toml")), ids=lambda path: path.stem
)
def test_every_committed_experiment_can_be_read(path: Path) -> None:
    assert read_experiments(path)
