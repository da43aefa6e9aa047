"""`relatum train`, `evaluate`, `complete` and `score`: what people see, what programs read, what is promised and written."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from relatum import Run, fit
from relatum import Run as Trained
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


def test_the_answers_to_each_question_are_shown(run: Relatum, trained: str) -> None:
    code, out, err = run("complete", trained, "--for-each", "sold(seller, ?, book)", "-k", "2")
    assert (code, err) == (0, "")
    found = Run.load(trained).complete_each("sold(seller, ?, book)", k=2)
    lines = [line.split() for line in out.splitlines() if "%" in line]
    assert [line[:4] for line in lines] == [[*one.entities, str(one.rank), f"{one.score:.3f}"] for one in found]
    assert ["in train" if one.source else "new" for one in found] == [
        "in train" if line[-2:] == ["in", "train"] else line[-1] for line in lines
    ]
    assert "are shown" not in out
    code, out, _ = run("complete", trained, "--for-each", "sold(*, ?, *)", "-k", "2", "--new", "--all")
    assert code == 0
    assert len([line for line in out.splitlines() if "%" in line]) == 40
    assert out.endswith(
        f"20 of {len(Run.load(trained).entities) ** 2} questions are shown; write the answers to all with --to FILE_OR_URL\n"
    )


def test_json_is_one_object(run: Relatum, trained: str, tmp_path: Path) -> None:
    options = ("complete", trained, "--for-each", "sold(seller=*, buyer=?, item=*)", "-k", "3", "--json")
    code, out, err = run(*options)
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = Run.load(trained).complete_each("sold(*, ?, *)", k=3)
    assert json.loads(out) == {"question": "sold(seller=*, buyer=?, item=*)", "answers": found.to_dicts()}
    path = str(tmp_path / "out.db")
    code, out, err = run(*options, "--to", path)
    questions = len({one.entities[:2] for one in found})
    tables = [{"relation": "sold", "table": "suggested_sold", "rows": len(found)}]
    assert json.loads(out) == {"to": path, "questions": questions, "tables": tables}


def test_answers_are_written(run: Relatum, shop_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "recs.csv"
    options = ("--for-each", "sold(*, ?, web, 0.25)", "--new", "-k", "2", "--to", str(path))
    code, out, err = run("complete", str(shop_run), *options)
    assert (code, err) == (0, "")
    with path.open(newline="") as file:
        heads, *rows = list(csv.reader(file))
    assert heads == ["customer_id", "item_code", "rank", "score", "probability"]
    assert out == f"wrote {len(rows)} answers to {len(rows) // 2} questions about sold to {path}\n"
    assert [row[2] for row in rows] == ["1", "2"] * (len(rows) // 2)
    assert run("complete", str(shop_run), *options)[0] == 2
    assert run("complete", str(shop_run), *options, "--replace", "--full-names")[0] == 0
    assert path.read_text().splitlines()[1].startswith("customers:")
    out = run("complete", str(shop_run), *options[:-1], str(tmp_path / "recs.db"), "--table", "mine")[1]
    assert out.endswith(f"{tmp_path / 'recs.db'}, table mine\n")


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
