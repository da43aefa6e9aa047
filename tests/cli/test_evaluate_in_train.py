"""Facts of valid and test that stand in train are said where a model is trained and where it is evaluated."""

from __future__ import annotations

import json
from pathlib import Path

from support.command_line import Relatum

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
