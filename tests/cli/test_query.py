"""`relatum query`, `define` and `rules`: what people see, what programs read, and what is said of mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from relatum import Run
from support.command_line import Relatum


@pytest.fixture
def trained(example_run: Path, tmp_path: Path) -> str:
    return str(shutil.copytree(example_run, tmp_path / "run"))


def test_query_shows_answers_with_both_readings_and_the_promise(run: Relatum, trained: str) -> None:
    code, out, _ = run("query", trained, "project[0](select[2 = coffee](sold))", "-k", "3", "--explain")
    assert code == 0
    for word in (
        "seller",
        "probability",
        "degree",
        "closed",
        "slack",
        "known",
        "ranked by exact values",
        "never below the exact degree",
    ):
        assert word in out
    assert out.count("project: the best is with") == out.count("known") + out.count("predicted")
    assert "window" in out


def test_query_as_json(run: Relatum, trained: str) -> None:
    code, out, _ = run("query", trained, "(union(sold, bought))(drew, ?, ?)", "-k", "4", "--json", "--explain", "--new")
    assert code == 0
    found = json.loads(out)
    assert found.keys() == {"query", "mode", "bound", "proven", "stopped", "answers"}
    assert (found["query"], found["mode"], found["bound"]) == ("(union(sold, bought))(drew, ?, ?)", "exact", "at least")
    assert found["proven"] is True
    assert len(found["answers"]) == 4
    for answer in found["answers"]:
        assert answer.keys() == {"entities", "probability", "degree", "closed", "slack", "known", "proven", "explanation"}
        assert len(answer["entities"]) == 2
        assert answer["known"] is False
        assert answer["explanation"]["text"].startswith("union")


def test_query_that_is_stopped_says_so(run: Relatum, trained: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relatum.time_limit._LEAST_GRACE", 0.0)
    code, _, err = run("query", trained, "project[0](sold)", "-k", "3", "--seconds", "0.000001", "--json")
    assert (code, json.loads(err.splitlines()[-1])["error"]["code"]) == (2, "time-over")
    monkeypatch.setattr("relatum.time_limit._LEAST_GRACE", 1e9)
    code, out, _ = run("query", trained, "project[0](sold)", "-k", "3", "--seconds", "0.000001")
    assert code == 0
    assert "known" in out
    assert "stopped after 1e-06 s: the answers marked * are the best found so far" in out
    code, out, _ = run("query", trained, "project[0](sold)", "-k", "3", "--seconds", "0")
    assert code == 0
    assert "stopped" not in out


def test_define_then_ask_by_name(run: Relatum, trained: str) -> None:
    code, out, _ = run("define", trained, "got", "permute[buyer, seller, item](sold)")
    assert (code, out) == (0, "got(buyer, seller, item) is now permute[buyer, seller, item](sold)\n")
    code, out, _ = run("complete", trained, "got(buyer=alex, seller=?, item=book)", "-k", "2")
    assert code == 0
    assert "seller" in out
    code, out, _ = run("score", trained, "got(alex, drew, book)")
    assert code == 0
    assert "known, derived" in out
    code, out, _ = run("query", trained, "project[item](got)", "--mode", "closed")
    assert code == 0
    assert "ranked by the closed form" in out


def test_rules_of_a_dataset_come_from_tuples_alone(run: Relatum) -> None:
    code, out, _ = run("rules", "example", "--examples")
    assert code == 0
    assert "bought = permute[buyer, seller, item](sold)" in out
    assert "buyer = project[0, 2](bought)" in out
    assert "both       alex, drew, book" in out
    assert "2 rules, from tuples alone; > 99 % of the true facts are known (estimated, 93 % to 100 %)" in out


def test_rules_say_what_is_assumed_where_the_facts_do_not_tell_how_many_are_known(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("likes\ta\tb\nlikes\tb\tc\nknows\ta\tc\n")
    code, out, _ = run("rules", str(tmp_path))
    assert code == 0
    assert "0 rules, from tuples alone; the facts do not tell how many of the true ones are known: 98 % is assumed" in out
    found = json.loads(run("rules", str(tmp_path), "--json")[1])
    assert (found["observed"], found["estimate"]) == (0.98, {"value": None, "low": 0, "high": 1, "rules_used": 0})


def test_rules_of_a_run_have_the_model_s_evidence_and_a_graph(run: Relatum, trained: str, tmp_path: Path) -> None:
    drawn = tmp_path / "rules.mmd"
    code, out, _ = run("rules", trained, "--draw", str(drawn))
    assert code == 0
    assert "model differs" in out
    assert 'n0 -->|"permute[1, 0, 2]"| n1' in drawn.read_text()
    code, out, _ = run("rules", trained, "--relation", "buyer", "--observed", "0.9", "--json")
    found = json.loads(out)
    assert (code, found["observed"], found["estimate"], found["evidence"]) == (0, 0.9, None, ["tuples", "model"])
    (rule,) = found["rules"]
    assert (rule["head"], rule["kind"], rule["body"]) == ("buyer", "equal", "project[0, 2](bought)")
    assert rule["model"].keys() == {"facts", "negatives", "on_facts", "on_negatives", "correlation"}
    assert rule["examples"]["both"]


def test_keys_references_and_dependencies_of_tables_are_lines(run: Relatum, gappy_run: Path) -> None:
    code, out, err = run("rules", str(gappy_run))
    assert (code, err) == (0, "")
    for line in (
        "customers: id is the key",
        "items: shelf_code is another key",
        "stock: store, item_id is the key",
        "seats: store, seat is the key",
        "seats: store, customer_id is another key",
        "sales: customer_id refers to customers.id",
        "sales: item_id refers to items.id",
        "customers: city determines country, always",
    ):
        assert line in out.splitlines(), line
    assert not any(line.startswith("ratings:") and line.endswith("key") for line in out.splitlines())


def test_json_has_the_same_of_every_table(run: Relatum, gappy_run: Path, example_run: Path) -> None:
    code, out, _ = run("rules", str(gappy_run), "--json")
    rows = Run.load(gappy_run).split.rows
    assert code == 0
    assert rows is not None
    tables = {one["name"]: one for one in json.loads(out)["tables"]}
    assert set(tables) == set(rows.tables)
    assert tables["seats"]["keys"] == [["store", "seat"], ["store", "customer_id"]]
    found = [
        one for one in tables["customers"]["dependencies"] if (one["columns"], one["determines"]) == (["city"], "country")
    ]
    assert [one["share"] for one in found] == [1.0]
    code, out, _ = run("rules", str(example_run), "--json")
    assert (code, json.loads(out)["tables"]) == (0, [])
