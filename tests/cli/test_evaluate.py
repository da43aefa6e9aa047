"""`relatum evaluate` by columns beside the obvious, and which facts are no test."""

from __future__ import annotations

import json
from pathlib import Path

import relatum
from relatum import Run
from support.command_line import Relatum
from support.small_tables import csv_of


def test_each_column_has_a_line_and_the_last_one_sums_up(run: Relatum, gappy_run: Path) -> None:
    code, out, err = run("evaluate", str(gappy_run), "--by", "column")
    assert (code, err) == (0, "")
    found = Run.load(gappy_run).evaluate_columns()
    assert "test cells filled right" in out
    for one in found:
        (line,) = (line.split() for line in out.splitlines() if line.split()[:1] == [f"{one.table}.{one.column}"])
        assert line[1:3] == [str(one.cells), f"{one.accuracy:.3f}"]
    judged = [one for one in found if one.cells >= 20]
    assert judged
    better, equal, worse = (sum(one.verdict == word for one in judged) for word in ("better", "equal", "worse"))
    whole = " ".join(out.split())
    assert f"{len(judged)} columns with 20 facts or more: {better} better, {equal} equal, {worse} worse" in whole


def test_json_has_every_column(run: Relatum, gappy_run: Path) -> None:
    code, out, err = run("evaluate", str(gappy_run), "--by", "column", "--split", "valid", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["part"] == "valid"
    assert found["columns"] == [one.to_dict() for one in Run.load(gappy_run).evaluate_columns("valid")]


def test_rows_that_share_a_fact_are_counted_by_facts_and_the_last_line_says_so(run: Relatum, tmp_path: Path) -> None:
    rows = [(f"b{n % 6}", f"i{n % 9}", n % 2) for n in range(900)]
    csv_of(tmp_path / "sales.csv", ("buyer", "item", "web"), rows)
    relatum.fit(relatum.read(tmp_path / "sales.csv"), tmp_path / "run", dim=20, epochs=1, progress=False)
    found = {one.column: one for one in Run.load(tmp_path / "run").evaluate_columns()}
    assert 0 < found["item"].facts <= len(set(rows)) < found["item"].cells
    assert found["item"].verdict == "too few facts"
    code, out, _ = run("evaluate", str(tmp_path / "run"), "--by", "column")
    assert code == 0
    last = " ".join(out.splitlines()[-1].split())
    assert last.startswith("rows that are alike in all columns of a fact are held out together")
    assert f"{found['item'].cells:,} cells are {found['item'].facts:,} facts" in last


QUICK = ("--set", "training.epochs=2", "--set", "model.dim=8", "--set", "training.evidence=false")


def test_training_and_evaluation_say_which_facts_are_no_test(run: Relatum, tmp_path: Path) -> None:
    facts = [f"likes\tuser{n}\titem{n % 7}\n" for n in range(30)]
    (tmp_path / "train.txt").write_text("".join(facts) + "likes\tUser1\titem1\n")
    (tmp_path / "valid.txt").write_text("likes\tuser1\titem2\nlikes\tuser2\titem4\n")
    (tmp_path / "test.txt").write_text("".join(facts[:6]) + "likes\tuser3\titem1\nlikes\tuser4\titem1\n" + facts[0])
    code, _, err = run("train", "--data", str(tmp_path), "--out", str(tmp_path / "run"), *QUICK)
    assert code == 0
    said = [line for line in err.splitlines() if line.startswith("relatum: ")]
    assert len(said) == 2
    assert "6 of 8 test facts (75.0 %) stand in train" in said[0]
    assert "2 entity names, in 1 group, differ only by case (1), such as 'User1' 'user1'" in said[1]
    code, out, err = run("evaluate", str(tmp_path / "run"))
    assert (code, err) == (0, "")
    assert "6 of 8 test facts (75.0 %) stand in train" in out
    in_train = {
        part: json.loads(run("evaluate", str(tmp_path / "run"), "--split", part, "--json")[1])["in_train"]
        for part in ("train", "valid", "test")
    }
    assert in_train["train"] is None
    assert in_train["valid"] == {"facts": 0, "total": 2, "share": 0.0}
    assert in_train["test"] == {"facts": 6, "total": 8, "share": 0.75}
    assert "stand in train" not in run("evaluate", str(tmp_path / "run"), "--split", "valid")[1]
