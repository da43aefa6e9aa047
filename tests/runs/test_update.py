"""Updating a run: a new run beside the old one, whole or not there, with only the rows of new entities fitted."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from relatum import MODELS, Hypergraph, KnownAnswers, Run, Spec, fit, load, update
from relatum.inference.ranking import Metrics, rank
from relatum.kernels.parallel import set_threads
from relatum.models.store import load_model
from relatum.report import report_page
from relatum.rules import mine_rules
from relatum.runs.journal import Journal, read_history
from relatum.training.settings import TrainingSettings
from support.mistakes import mistake
from support.shop_with_gaps import add_customers, new_customers_alone, statements

NEW = "sold\tzoe\tmike\tboat\nsold\tdrew\tzoe\ttea\nbuyer\tzoe\ttea\nbuyer\tkim\tlamp\n"
MODEL_FILES = ("model.safetensors", "config.json", "entities.txt", "relations.txt", "facts.safetensors", "calibration.json")


def spec_of(model: str = "reale", **settings: Any) -> Spec:
    table = {"name": model, "dim": 20, **settings}
    return Spec.from_dict({"data": "example", "model": table, "training": {"epochs": 4, "validate_every": 2}})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run on the example, with a defined relation; to be read only."""
    run = fit(spec_of(), tmp_path_factory.mktemp("runs") / "example")
    run.define("customer", "project[1](sold)")
    return run.folder


@pytest.fixture
def new_facts(tmp_path: Path) -> Path:
    path = tmp_path / "new.txt"
    path.write_text(NEW)
    return path


@pytest.fixture(scope="module")
def updated(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of that run with new facts, to be read only."""
    folder = tmp_path_factory.mktemp("updated")
    (folder / "new.txt").write_text(NEW)
    before = files(trained)
    update(trained, folder / "new.txt", folder / "out")
    assert files(trained) == before
    return folder / "out"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def told(folder: Path) -> dict[str, Any]:
    return Journal(folder / "journal.jsonl").read()[-1]


def row(run: Run, name: str) -> torch.Tensor:
    return run.parameters["entities"][run.model.graph.entities.id(name)]


def test_a_new_run_is_made_with_the_rows_of_the_old_one(trained: Path, updated: Path) -> None:
    left = {".lock", "answer_sets.json"}  # sets of answers go by what the new run knows
    kept = {name for name in files(trained) if not name.startswith("checkpoint")} - left
    assert set(files(updated)) == {*kept, "journal.jsonl"}
    run, old = Run.load(updated), Run.load(trained)
    assert [name for name in run.model.graph.entities if name not in old.model.graph.entities] == ["boat", "zoe"]
    assert list(run.model.graph.entities) == sorted(run.model.graph.entities)
    assert all(torch.equal(row(run, name), row(old, name)) for name in old.model.graph.entities)
    assert all(torch.equal(run.parameters[name], old.parameters[name]) for name in ("relations", "bias"))


def test_facts_become_known_training_facts(updated: Path) -> None:
    run, old = Run.load(updated), load("example")
    lines = [tuple(line.split("\t")) for line in NEW.splitlines()]
    assert sorted(run.split.train) == sorted([*old.train, *lines])
    assert sorted(run.split.valid) == sorted(old.valid)
    assert sorted(run.split.test) == sorted(old.test)
    assert (run.split.source, run.split.checksums) == ("example", old.checksums)
    assert run.score("sold(zoe, mike, boat)").source == "train"


def test_everything_that_a_run_is_asked_can_be_asked_of_the_new_one(trained: Path, updated: Path) -> None:
    again = Run.load(updated)
    assert len(again.evaluate("test").ranks) == len(Run.load(trained).evaluate("test").ranks)
    assert {answer.entity for answer in again.complete("sold(drew, ?, tea)", k=100)} >= {"zoe", "boat"}
    assert 0 <= (again.score("sold(zoe, mike, boat)").probability or -1) <= 1
    assert again.calibration is not None
    assert again.query("project[1](sold)(zoe)").answers
    assert "zoe" in {answer.entity for answer in again.complete("customer(?)", k=100)}
    assert {fact[1] for fact in again.facts if fact[0] == "customer"} >= {"zoe", "mike"}
    assert mine_rules(again.facts) is not None
    assert "Of these facts, 4 came after training, in 1 update: the rows of 2 new entities were fitted" in report_page(again)


def test_the_journal_and_the_card_tell_of_it_and_the_course_of_training_does_not(trained: Path, updated: Path) -> None:
    events = Journal(updated / "journal.jsonl").read()
    assert events[:-1] == Journal(trained / "journal.jsonl").read()
    last = events[-1]
    counts = {"facts": 4, "repeated": 0, "known": 0, "added": 4, "among_known_entities": 1, "new_entities": 2}
    assert {name: last[name] for name in counts} == counts
    assert (last["event"], last["from"]) == ("update", "example")
    assert last["own_questions"] == 8
    assert last["own_mrr"] > last["own_mrr_start"]
    assert 0 < last["valid_mrr_after"] <= 1
    assert last["valid_mrr_before"] == max(event["score"] for event in events if event["event"] == "validation")
    assert read_history(updated / "journal.jsonl") == read_history(trained / "journal.jsonl")
    card = (updated / "README.md").read_text()
    assert f"| validation MRR | {last['valid_mrr_after']:.4f}, before the update {last['valid_mrr_before']:.4f} |" in card
    assert "| updated | 4 facts folded into example; 2 new entities |" in card


def test_it_says_where_it_came_from(trained: Path, new_facts: Path, tmp_path: Path) -> None:
    first = update(trained, new_facts, tmp_path / "out", seed=3)
    (tmp_path / "more.txt").write_text("sold\tzoe\tyan\tbook\n")
    second = update(first.folder, tmp_path / "more.txt")
    assert second.folder == tmp_path / "out-updated"
    old = json.loads((trained / "environment.json").read_text())
    found = json.loads((second.folder / "environment.json").read_text())
    steps = found.pop("updates")
    assert found.pop("facts") != old.pop("facts")  # their checksum: there are more of them
    assert "calibration.json" in found.pop("files")
    assert "calibration.json" in old.pop("files")
    assert found == old
    assert [(step["from"], step["seed"], step["added"]) for step in steps] == [("example", 3, 4), ("out", 0, 1)]
    assert steps[0]["checksums"]["train"] == hashlib.sha256(NEW.encode()).hexdigest()
    assert all(torch.equal(row(second, name), row(first, name)) for name in first.model.graph.entities)
    assert "yan" in second.model.graph.entities


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads(
    trained: Path, updated: Path, new_facts: Path, tmp_path: Path
) -> None:
    for threads in (1, 2):
        out = tmp_path / f"with{threads}"
        set_threads(threads)
        torch.set_num_threads(threads)
        update(trained, new_facts, out)
        for name in (*MODEL_FILES, "environment.json", "README.md"):
            assert (out / name).read_bytes() == (updated / name).read_bytes(), name
    other = update(trained, new_facts, tmp_path / "other", seed=1).folder
    assert (other / "model.safetensors").read_bytes() != (updated / "model.safetensors").read_bytes()


def test_what_is_known_or_given_twice_is_counted_and_changes_nothing(
    trained: Path, updated: Path, new_facts: Path, tmp_path: Path
) -> None:
    split = load("example")
    held_out = "\t".join(next(iter(split.test)))
    known = "\t".join(next(iter(split.train)))
    new_facts.write_text(f"{known}\n{held_out}\n{NEW}{NEW.splitlines()[0]}\n")
    run = update(trained, new_facts, tmp_path / "out")
    assert (told(run.folder)["known"], told(run.folder)["repeated"], told(run.folder)["added"]) == (2, 1, 4)
    assert sorted(run.split.test) == sorted(split.test)
    assert all((run.folder / name).read_bytes() == (updated / name).read_bytes() for name in MODEL_FILES)


def test_a_folder_brings_its_parts_and_nothing_is_fitted_to_those_held_out(
    trained: Path, updated: Path, tmp_path: Path
) -> None:
    plain = Run.load(updated)
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.txt").write_text(NEW)
    (folder / "valid.txt").write_text("sold\tzoe\tkim\ttea\n")
    (folder / "test.txt").write_text("sold\tzoe\tkim\tboat\nbuyer\tunseen\tboat\n")
    run = update(trained, folder, tmp_path / "out")
    assert ("sold", "zoe", "kim", "tea") in list(run.split.valid)
    assert len(run.split.test) == len(plain.split.test) + 2
    assert (told(run.folder)["added_valid"], told(run.folder)["added_test"], told(run.folder)["new_entities"]) == (1, 2, 3)
    assert told(run.folder)["valid_mrr_before"] == told(plain.folder)["valid_mrr_before"]
    others = [row(plain, name) for name in plain.model.graph.entities if name not in ("zoe", "boat")]
    middle = torch.stack(others).mean(0)
    assert torch.allclose(row(run, "unseen"), middle, atol=0.6 * float(torch.stack(others).std()))
    assert len(run.evaluate("test").ranks.unseen) > 0


def test_an_entity_that_was_named_but_never_trained_is_new(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    chance = np.random.default_rng(0)
    lines = [f"r\te{a}\te{b}" for a, b in chance.integers(0, 12, (60, 2))]
    (data / "train.txt").write_text("\n".join(lines) + "\n")
    (data / "test.txt").write_text("r\tghost\te1\n")
    spec = Spec.from_dict({"data": str(data), "model": {"dim": 20}, "training": {"epochs": 4}})
    run = fit(spec, tmp_path / "run")
    (tmp_path / "new.txt").write_text("r\tghost\te2\nr\te3\tghost\n")
    made = update(run.folder, tmp_path / "new.txt")
    assert told(made.folder)["new_entities"] == 1
    assert told(made.folder)["valid_mrr_after"] is None
    assert not torch.equal(row(made, "ghost"), row(run, "ghost"))
    assert all(torch.equal(row(made, name), row(run, name)) for name in run.model.graph.entities if name != "ghost")
    assert list(made.split.test) == [("r", "ghost", "e1")]


def test_refitting_moves_known_entities_that_are_mostly_new_and_no_others(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("".join(f"sold\tjoe\tnew{n}\ttv\n" for n in range(9)))
    old = Run.load(trained)
    run = update(trained, tmp_path / "new.txt", tmp_path / "out", refit=True)
    moved = {name for name in old.model.graph.entities if not torch.equal(row(run, name), row(old, name))}
    before, now = load("example").train.degrees(), {}
    for name in old.model.graph.entities:
        now[name] = 9 * (name in ("joe", "tv"))
    expected = {name for name in now if now[name] > before[load("example").entities.id(name)] > 0}
    assert moved == expected
    assert "tv" in moved
    assert told(run.folder)["refitted_entities"] == len(moved)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_updated(name: str, new_facts: Path, tmp_path: Path) -> None:
    small = {"num_filters": 3} if name == "nalp" else {"rank": 3} if name == "getd" else {}
    run = fit(spec_of(name, **small), tmp_path / "run")
    made = update(run.folder, new_facts)
    assert all(torch.equal(row(made, entity), row(run, entity)) for entity in run.model.graph.entities)
    assert {"zoe", "boat"} <= {answer.entity for answer in made.complete("sold(drew, ?, tea)", k=100)}
    model, parameters = load_model(made.folder)
    assert torch.equal(parameters["entities"], made.parameters["entities"])
    assert (len(model.graph) > 0) == model.reads_facts
    assert told(made.folder)["own_mrr"] > 0


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("sodl\tzoe\tmike\ttea\n", "unknown-name", ""),
        ("sold\tzoe\tmike\n", "known-arity", "{}"),
        ("customer\tzoe\n", "defined-relation", "{}"),
        ("", "unusable-new-facts", "{}"),
        ("sold\tdrew\talex\tbook\n", "nothing-new", "{}"),
        ("sold\tdrew\n\n", "blank-line", "{}:2"),
    ],
)
def test_what_cannot_be_folded_in_is_refused_and_nothing_is_written(
    trained: Path, tmp_path: Path, text: str, code: str, place: str
) -> None:
    path = tmp_path / "new.txt"
    path.write_text(text)
    with mistake(code, place=place.format(path)):
        update(trained, path, tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["new.txt"]


def test_a_place_that_is_taken_is_refused_and_an_empty_one_is_not(trained: Path, new_facts: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert update(trained, new_facts, tmp_path / "out").folder == tmp_path / "out"
    before = files(tmp_path / "out")
    with mistake("directory-not-empty"):
        update(trained, new_facts, tmp_path / "out")
    assert files(tmp_path / "out") == before


def test_the_default_place_is_beside_the_run(
    trained: Path, new_facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained, tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    assert update(".", new_facts).folder == tmp_path / "mine-updated"


def test_folding_in_is_far_above_chance_and_near_retraining(tmp_path: Path, count: Callable[[int, int], int]) -> None:
    """Communities of people who meet at their own two places; twelve people come later."""
    chance = np.random.default_rng(0)
    people = np.arange(96)
    lines = [
        f"meets\tp{a:02}\tp{b:02}\tplace{a % 8}{place}"
        for a in people
        for b, place in zip(chance.choice(people[people % 8 == a % 8], 8), chance.integers(0, 2, 8), strict=True)
        if a != b
    ]
    later = {f"p{a:02}" for a in chance.choice(people, 12, replace=False)}
    held_out = chance.random(len(lines)) < 0.25
    train = [line for line, out in zip(lines, held_out, strict=True) if not out]
    test = [line for line, out in zip(lines, held_out, strict=True) if out]
    old, new = ([line for line in train if bool(later & set(line.split("\t"))) is wanted] for wanted in (False, True))
    training = TrainingSettings(epochs=count(25, 60), learning_rate=0.3, batch_size=64, batches_per_step=2)
    runs = {}
    for name, facts in (("old", old), ("all", train)):
        (tmp_path / f"{name}.txt").write_text("\n".join(facts) + "\n")
        settings = MODELS["reale"].settings_type(dim=40)
        runs[name] = fit(Spec(str(tmp_path / f"{name}.txt"), "reale", settings, training), tmp_path / name)
    (tmp_path / "new.txt").write_text("\n".join(new) + "\n")
    made = update(tmp_path / "old", tmp_path / "new.txt")
    asked = [line for line in test if later & set(line.split("\t"))]

    def mrr(run: Run) -> float:
        def over(lines: list[str]) -> Hypergraph:
            names = run.model.graph.entities
            columns = np.stack([names.ids(line.split("\t")[1:]) for line in lines], 1)
            return Hypergraph.sort(names, run.model.schema, [(np.zeros(len(lines), np.int32), columns)])

        return Metrics.of(rank(run.model, run.parameters, over(asked), KnownAnswers(over(lines)))).mrr

    retrained, folded = mrr(runs["all"]), mrr(made)
    assert len(asked) > 20
    assert folded > 4 * np.sum(1 / np.arange(1, 113)) / 112  # chance
    assert folded > 0.8 * retrained


@pytest.fixture
def today(today: Path) -> Path:
    add_customers(today)
    return today


def test_from_a_database_new_rows_are_learned_filled_and_called_by_their_labels(
    gappy_run: Path, today: Path, tmp_path: Path
) -> None:
    old = Run.load(gappy_run)
    made = update(gappy_run, today, tmp_path / "out")
    found = Run.load(made.folder)
    assert set(found.split.train) - set(old.split.train) == {
        ("customers.city", "customers:201", "customers.city:Paris"),
        ("customers.city", "customers:202", "customers.city:Oslo"),
        ("customers.segment", "customers:201", "customers.segment:home"),
    }
    assert [sorted(found.split.parts[part]) for part in ("valid", "test")] == [
        sorted(old.split.parts[part]) for part in ("valid", "test")
    ]
    filled = {(one.column, one.row["id"]): one.value for one in found.fill(tables=["customers"])}
    assert (filled["country", 201], filled["country", 202]) == ("France", "Norway")
    assert found.complete("customers.country", "Zoe", None)[0].entity == "customers.country:France"
    assert found.labels.of("customers:10") == "customer 10"
    assert len(found.evaluate_columns()) > 0


def test_new_rows_alone_leave_those_of_the_run_and_their_labels(gappy_run: Path, tmp_path: Path) -> None:
    only = new_customers_alone(tmp_path / "only.db")
    made = update(gappy_run, only, tmp_path / "out")
    assert made.split.rows is not None
    assert len(made.split.rows["customers"]) == 122
    assert (made.labels.of("customers:10"), made.labels.of("customers:202")) == ("customer 10", "Yan")
    assert {one.row["id"] for one in made.fill(columns=["country"])} >= {3, 10, 201, 202}


def test_a_database_after_facts_of_entities_that_no_row_has(gappy_run: Path, today: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("customers.city\tcustomers:900\tcustomers.city:Bern\n")
    first = update(gappy_run, tmp_path / "new.txt", tmp_path / "first")
    second = update(first.folder, today, tmp_path / "second")
    assert {"customers:900", "customers:201"} <= set(second.entities)
    assert second.fill(columns=["country"])


def test_a_database_without_anything_new_or_of_other_tables_is_refused(
    gappy_run: Path, gappy_shop: Path, tmp_path: Path
) -> None:
    with mistake("nothing-new"):
        update(gappy_run, gappy_shop, tmp_path / "out")
    statements(tmp_path / "other.db", "CREATE TABLE other (a, b)", "INSERT INTO other VALUES (1, 2)")
    with mistake("other-tables"):
        update(gappy_run, tmp_path / "other.db", tmp_path / "out")
    assert not (tmp_path / "out").exists()
