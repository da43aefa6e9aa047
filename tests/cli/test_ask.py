"""`relatum train`, `evaluate`, `complete` and `score`: what people see and what programs read."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from relatum import Run as Trained
from relatum import fit
from relatum.inference.evaluation import breakdown, macro_mrr
from relatum.runs.spec import Spec
from support.command_line import Relatum
from support.mistakes import code_of

METRICS = {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "questions", "ties", "mrr_pessimistic", "mrr_optimistic"}
SMALL = ("--set", "model.dim=20", "--set", "training.epochs=2")


def test_train_makes_a_run_and_says_how_to_ask_it(run: Relatum, tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, said, err = run("train", "--data", "example", *SMALL, "--seed", "7", "--out", str(out))
    assert code == 0
    assert said == f"trained into {out}; ask it with: relatum evaluate {out}\n"
    assert "epoch 2: loss " in err
    assert "best validation MRR 0." in err
    spec = Spec.read(out / "spec.toml")
    assert (spec.data, spec.model, spec.seed, spec.settings.dim, spec.training.epochs) == ("example", "reale", 7, 20, 2)


def test_options_come_before_changes_and_changes_before_the_file(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "spec.toml").write_text(
        'data = "x"\nseed = 1\n[model]\nname = "hype"\n[training]\nepochs = 9\nbatch_size = 9\n'
    )
    out = tmp_path / "run"
    options = ("--spec", str(tmp_path / "spec.toml"), "--model", "m-distmult", "--data", "example", "--seed", "3")
    code, _, _ = run("train", *options, *SMALL, "--set", "seed=2", "--out", str(out))
    assert code == 0
    spec = Spec.read(out / "spec.toml")
    assert (spec.data, spec.model, spec.seed, spec.settings.dim) == ("example", "m-distmult", 3, 20)
    assert (spec.training.epochs, spec.training.batch_size) == (2, 9)


@pytest.mark.parametrize("split", ["train", "valid", "test"])
@pytest.mark.parametrize("raw", [False, True])
def test_evaluate_is_one_json_object_for_programs(run: Relatum, trained: str, split: str, raw: bool) -> None:
    code, out, err = run("evaluate", trained, "--split", split, *["--raw"] * raw, "--json")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    found = json.loads(out)
    loaded = Trained.load(trained)
    ranks = loaded.evaluate(split, raw=raw).ranks
    assert found.keys() == METRICS | {"mrr_interval", "mrr_macro", "by", "calibration", "in_train"}
    assert {key: found[key] for key in METRICS} == ranks.metrics.to_json()
    low, high = found["mrr_interval"]
    assert low <= found["mrr"] <= high
    for key in ("arity", "relation"):
        assert found["mrr_macro"][key] == macro_mrr(breakdown(ranks, key, loaded.model.schema))
    assert list(found["by"]) == ["arity"]
    assert list(found["by"]["arity"]) == ["2", "3"]


def test_evaluate_breaks_down_by_what_is_asked(run: Relatum, trained: str) -> None:
    found = json.loads(run("evaluate", trained, "--by", "relation,position,seen,size", "--json")[1])
    assert {key: list(parts) for key, parts in found["by"].items()} == {
        "relation": ["bought", "buyer", "sold"],
        "position": ["0", "1", "2"],
        "seen": ["seen"],
        "size": ["1-9", "10-99"],
    }
    for parts in found["by"].values():
        assert sum(part["questions"] for part in parts.values()) == found["questions"] == 13
        assert all(part.keys() == METRICS for part in parts.values())


def test_evaluate_is_tables_for_people(run: Relatum, trained: str) -> None:
    code, out, err = run("evaluate", trained, "--by", "arity,relation")
    assert (code, err) == (0, "")
    for text in ("by arity", "by relation", "bought", "test, filtered", "questions", "MRR", "Hit@10", "95 %"):
        assert text in out
    assert f"{Trained.load(trained).evaluate().metrics.mrr:.4f}" in out
    assert "valid, raw" in run("evaluate", trained, "--split", "valid", "--raw")[1]


def test_complete_lists_the_best_answers(run: Relatum, trained: str) -> None:
    question = "sold(drew, buyer=?, item=book)"
    code, out, err = run("complete", trained, question, "-k", "3", "--json")
    assert (code, err) == (0, "")
    expected = Trained.load(trained).complete(question, k=3)
    fields = ("entity", "score", "probability", "known", "source")
    answers = [
        {**{name: getattr(one, name) for name in fields}, "entities": [*one.entities], "labels": [None]} for one in expected
    ]
    assert json.loads(out) == {"question": question, "answers": answers}
    assert [answer["known"] for answer in answers] == [True, False, False, False]
    code, out, err = run("complete", trained, question, "-k", "3")
    assert (code, err) == (0, "")
    known, new = out.split(f"{question}, new")
    assert f"{question}, known" in known
    for block, shown in ((known, expected[:1]), (new, expected[1:])):
        assert all(answer.entity in block and f"{answer.score:.3f}" in block for answer in shown)


def test_score_scores_facts_in_their_order(run: Relatum, trained: str) -> None:
    facts = ["sold(drew, alex, book)", "buyer(item=tv, person=sam)"]
    code, out, err = run("score", trained, *facts, "--json")
    assert (code, err) == (0, "")
    scores = [Trained.load(trained).score(fact) for fact in facts]
    expected = [{"fact": fact, **asdict(score)} for fact, score in zip(facts, scores, strict=True)]
    assert json.loads(out) == {"scores": expected}
    out = run("score", trained, *facts)[1]
    assert all(fact in out and f"{score.score:.3f}" in out for fact, score in zip(facts, scores, strict=True))


def test_a_run_that_is_not_done_says_how_to_go_on(run: Relatum, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    spec = Spec.from_dict({"data": "example", "model": {"dim": 20}, "training": {"epochs": 2}})
    with pytest.raises(KeyboardInterrupt):
        fit(spec, tmp_path / "run", watch=stop)
    out = str(tmp_path / "run")
    code, _, err = run("evaluate", out)
    assert code == 2
    assert err.startswith(f"relatum: {out}: ")
    assert "relatum.resume" in err
    assert code_of(err) == "not-a-run"
    assert run("train", "--resume", out)[0] == 0
    assert run("evaluate", out)[0] == 0


def test_rules_shows_soft_rules_of_data_and_of_runs(run: Relatum, trained: str) -> None:
    for source in ("example", trained):
        code, out, err = run("rules", source, "--soft", "2", "--json")
        assert code == 0, err
        found = json.loads(out)["soft_rules"]
        assert len(found) == 2
        assert " <- " in found[0]["rule"]
        assert found[0]["rule"] in " ".join(run("rules", source, "--soft", "2")[1].split())
    code, out, err = run("rules", "example", "--soft", "2", "--examples")
    assert code == 0, err
    assert all(title in out for title in ("  for  ", "  against  "))
