"""`relatum complete --coverage`: a set of answers, and what is promised of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from relatum import Run
from support.command_line import Relatum


@pytest.fixture(scope="module")
def asked(example_run: Path) -> tuple[str, str]:
    """Return a run, and a question about it to which an answer is known."""
    first = next(fact for fact in Run.load(example_run).split.train if fact[0] == "sold")
    return str(example_run), f"sold({first[1]}, ?, {first[3]})"


def test_people_see_the_set_and_the_promise(run: Relatum, asked: tuple[str, str]) -> None:
    folder, question = asked
    code, out, err = run("complete", folder, question, "--coverage", "0.7")
    answers = Run.load(folder).complete(question, coverage=0.7)
    assert (code, err) == (0, "")
    assert f"a set of {len(answers.new)} answers\n" in out
    assert out.endswith(f"{answers.promise}\n")
    assert f"{question}, known" in out
    code, out, _ = run("complete", folder, question, "--coverage", "0.7", "-k", "1", "--new")
    assert f"a set of {len(answers.new)} answers, of which 1 are shown (-k {len(answers.new)} shows all)\n" in out
    assert len(answers.new) > 1


def test_programs_read_all_of_it(run: Relatum, asked: tuple[str, str]) -> None:
    folder, question = asked
    code, out, _ = run("complete", folder, question, "--coverage", "0.7", "-k", "1", "--json")
    found, answers = json.loads(out), Run.load(folder).complete(question, k=1, coverage=0.7)
    assert code == 0
    assert answers.limit is not None
    assert found["coverage"] == answers.limit.to_dict()
    assert found["coverage"].keys() == {"coverage", "validation_facts", "scope", "promise"}
    assert [one["entity"] for one in found["answers"]] == [one.entity for one in answers]
    assert "coverage" not in json.loads(run("complete", folder, question, "--json")[1])


def test_an_empty_set_says_why(run: Relatum, asked: tuple[str, str], tmp_path: Path) -> None:
    """Where validation facts were all answered far better than this question can be."""
    folder = shutil.copytree(asked[0], tmp_path / "run")
    path = folder / "answer_sets.json"
    plain = json.loads(path.read_text())
    plain["conformities"] = [[[1000.0] * len(each) for each in relation] for relation in plain["conformities"]]
    path.write_text(json.dumps(plain))
    code, out, _ = run("complete", str(folder), asked[1], "--coverage", "0.7")
    assert code == 0
    assert "the set is empty: with so unlikely a best answer, the question is among the 30 % that may be missed" in out


def test_where_a_key_is_known_nothing_is_missing(run: Relatum, gappy_run: Path) -> None:
    asked = ("complete", str(gappy_run), "customers.country(1, ?)", "--coverage", "0.9")
    code, out, _ = run(*asked)
    assert code == 0
    assert "no answer is missing, and nothing is promised" in out
    assert json.loads(run(*asked, "--json")[1])["coverage"] is None
