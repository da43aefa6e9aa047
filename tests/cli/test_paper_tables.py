"""`relatum tables` and `relatum figures`: what people see, what programs read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relatum import Spec, fit
from support.command_line import Relatum
from support.made_results import write_result
from support.mistakes import code_of


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    write_result(folder, "a", "jf17k", "reale", [0.57], course=[(1, 60.0, 0.4)])
    write_result(folder, "b", "jf17k", "hype", [0.58])
    return folder


def test_tables_are_for_people_and_end_with_the_claims(run: Relatum, results: Path) -> None:
    code, out, err = run("tables", str(results))
    assert (code, err) == (0, "")
    assert "0.5700" in out
    assert "against it: HypE above ReAlE" in " ".join(out.split())
    assert "| HypE | 0.5800 |" in run("tables", str(results), "--format", "markdown")[1]
    assert "HypE & 0.5800 &" in run("tables", str(results), "--format", "latex")[1]


def test_tables_are_for_programs_with_the_claims_by_themselves(run: Relatum, results: Path) -> None:
    code, out, err = run("tables", str(results), "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    assert found.keys() == {"tables", "claims"}
    assert [row[0] for row in found["tables"][0]["rows"]] == ["HypE", "ReAlE"]
    (best,) = (claim for claim in found["claims"] if claim["claim"] == "jf17k: ReAlE is the best system")
    assert (best["verdict"], best["evidence"][:26]) == ("fails", "HypE 0.580, ReAlE 0.570; a")


def test_results_and_runs_can_be_shown_together(run: Relatum, results: Path, tmp_path: Path) -> None:
    spec = Spec.from_dict({"data": "example", "model": {"dim": 20}, "training": {"epochs": 2, "validate_every": 1}})
    fit(spec, tmp_path / "runs" / "done", progress=False)
    (tmp_path / "runs" / "begun").mkdir()
    (tmp_path / "runs" / "begun" / "spec.toml").write_text(spec.to_toml())
    code, out, err = run("tables", str(results), str(tmp_path / "runs"))
    assert (code, "HypE" in out) == (0, True)
    assert err == f"{tmp_path / 'runs' / 'begun'}: left out: its training has not ended\n"
    code, out, _ = run("figures", str(tmp_path / "runs" / "done"), "--out", str(tmp_path / "figures"), "--json")
    made = {one["name"]: one["files"] for one in json.loads(out)["figures"]}
    assert code == 0
    assert list(made) == ["example-learning", "example-parts", "example-time"]
    assert all(Path(file).exists() for files in made.values() for file in files)
    code, _, err = run("tables", str(tmp_path / "runs" / "begun"))
    assert (code, code_of(err) == "not-a-run") == (2, True)


@pytest.mark.parametrize("verb", ["tables", "figures"])
def test_mistakes_are_one_line(run: Relatum, tmp_path: Path, verb: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn.json").write_text("{")
    write_result(tmp_path / "bare", "x", "somewhere", "hype", [0.5])
    for place, mistaken in (
        ("nowhere", "no-such-file"),
        ("empty", "no-results"),
        ("torn.json", "damaged-file"),
        ("bare", "no-results"),
    ):
        code, out, err = run(verb, str(tmp_path / place))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert code_of(err) == mistaken
        assert place == "bare" or place in err
