"""`relatum update`: what people see, what programs read, and what mistakes say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relatum.runs.journal import Journal
from support.command_line import Relatum
from support.mistakes import code_of


@pytest.fixture
def new_facts(tmp_path: Path) -> str:
    path = tmp_path / "new.txt"
    path.write_text("sold\tzoe\tmike\ttea\nbuyer\tkim\tlamp\nsold\tdrew\talex\tbook\nbuyer\tkim\tlamp\n")
    return str(path)


def test_a_table_says_what_became_of_the_facts_and_how_ranks_changed(
    run: Relatum, trained: str, new_facts: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    code, said, err = run("update", trained, new_facts, "--out", str(out))
    assert (code, err) == (0, "")
    counts = dict(line.rsplit(maxsplit=1) for line in said.splitlines() if line.strip() and line.split()[-1].isdecimal())
    assert {name.strip(): int(count) for name, count in counts.items()} == {
        "read": 4,
        "given more than once": 1,
        "known already": 1,
        "new": 2,
        "of these with new entities": 1,
        "among known entities": 1,
        "for valid and test": 0,
    }
    told = Journal(out / "journal.jsonl").read()[-1]
    for before, after in (("valid_mrr_before", "valid_mrr_after"), ("own_mrr_start", "own_mrr")):
        assert f"{told[before]:.4f}   {told[after]:.4f}" in said
    assert f"1 new entity fitted in {told['seconds']:.1f} s; all other rows are as they were" in said
    assert said.endswith(f"written to {out}; next: relatum evaluate {out}\n")


def test_json_is_one_object(run: Relatum, trained: str, new_facts: str, tmp_path: Path) -> None:
    code, said, _ = run("update", trained, new_facts, "--out", str(tmp_path / "out"), "--seed", "4", "--refit", "--json")
    found = json.loads(said)
    assert code == 0
    assert (found["run"], found["from"], found["new_entities"]) == (str(tmp_path / "out"), "example", 1)
    assert found.keys() >= {
        "seconds",
        "valid_mrr_before",
        "valid_mrr_after",
        "own_mrr",
        "own_mean_rank",
        "refitted_entities",
    }


def test_the_new_run_answers_the_other_verbs_and_cannot_be_resumed(
    run: Relatum, trained: str, new_facts: str, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    run("update", trained, new_facts, "--out", out)
    for verb in (
        ("evaluate", out),
        ("complete", out, "sold(zoe, ?, tea)"),
        ("score", out, "sold(zoe, mike, tea)"),
        ("query", out, "project[0](sold)"),
        ("rules", out),
        ("report", out, "--out", str(tmp_path / "page.html")),
        ("predict", out, "--relation", "buyer", "--top", "3"),
        ("update", out, new_facts),
    ):
        code, _, err = run(*verb)
        assert (code, verb[0]) == (2 if verb[0] == "update" else 0, verb[0]), err
    code, said, err = run("train", "--resume", out)
    assert (code, said, code_of(err)) == (2, "", "cannot-resume")
    assert out in err
