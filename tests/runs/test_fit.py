"""Runs: a directory that works by itself, can be stopped at any moment, and goes on to the same bytes."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relatum import KnownAnswers, Run, fit, load, resume, save
from relatum.inference.ranking import rank
from relatum.runs import fit as fitting
from relatum.runs.journal import Journal, read_history
from relatum.runs.spec import Spec
from relatum.training.checkpoint import load_state
from relatum.training.loop import State
from support.locks import locked_elsewhere
from support.mistakes import mistake

FILES = {
    "answer_calibration.json", "answer_sets.json", "calibration.json", "checkpoint.safetensors", "config.json",
    "entities.txt", "checkpoint-best.safetensors", "environment.json", "facts.safetensors", "journal.jsonl",
    "model.safetensors", "new_fact_calibration.json", "README.md", "relations.txt", "spec.toml",
}  # fmt: skip


def spec_of(data: str = "example", **training: Any) -> Spec:
    return Spec.from_dict({"data": data, "model": {"dim": 20}, "training": {"epochs": 4, "validate_every": 2, **training}})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a run on the example, to be read only."""
    return fit(spec_of(), tmp_path_factory.mktemp("runs") / "example").folder


def visible(folder: Path) -> set[str]:
    names = (path.name for path in folder.iterdir() if not path.name.startswith("."))
    return {"checkpoint-best.safetensors" if name.startswith("checkpoint-best-") else name for name in names}


def model_bytes(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def events(folder: Path) -> list[str]:
    return [record["event"] for record in Journal(folder / "journal.jsonl").read()]


def history(folder: Path) -> list[tuple[int, float]]:
    """Return what the journal tells of the course of training, with what was trained twice told once."""
    course = read_history(folder / "journal.jsonl")
    return [(moment.epoch, moment.value) for moment in course.losses + course.scores]


def test_a_run_leaves_its_files_and_says_what_happened_and_where_it_came_from(trained: Path) -> None:
    assert visible(trained) == FILES
    assert not list(trained.glob(".*.tmp"))
    assert Spec.read(trained / "spec.toml") == spec_of()
    provenance = json.loads((trained / "environment.json").read_text())
    assert provenance["data"] == "example"
    assert provenance["checksums"] == dict(load("example").checksums)
    assert {"relatum", "torch", "numpy"} <= provenance["versions"].keys()
    assert events(trained) == ["start", "epoch", "epoch", "validation", "epoch", "epoch", "validation", "end"]
    records = Journal(trained / "journal.jsonl").read()
    assert [record["epoch"] for record in records] == [0, 1, 2, 2, 3, 4, 4, 4]
    assert all(record["loss"] > 0 for record in records if record["event"] == "epoch")
    assert all(0 < record["score"] <= 1 for record in records if record["event"] == "validation")


def test_the_same_spec_gives_the_same_bytes_and_another_seed_others(trained: Path, tmp_path: Path) -> None:
    assert model_bytes(fit(spec_of(), tmp_path / "again").folder) == model_bytes(trained)
    other = Spec.from_dict({**spec_of().to_dict(), "seed": 1})
    assert model_bytes(fit(other, tmp_path / "other").folder) != model_bytes(trained)


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_evaluation_ranks_a_part_filtered_by_all_that_is_known_or_raw(trained: Path, part: str) -> None:
    run, split = Run.load(trained), load("example")
    facts = split.parts[part]
    for raw in (False, True):
        found = run.evaluate(part, raw=raw).ranks
        known = None if raw else KnownAnswers(split.train, split.valid, split.test)
        expected = rank(run.model, run.parameters, facts, known, split.train)
        assert len(found) == sum(len(fact) - 1 for fact in facts)
        for name in ("better", "equal", "relation", "position", "unseen"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_completing_gives_every_entity_by_its_score_and_what_is_known_first(trained: Path) -> None:
    run, split = Run.load(trained), load("example")
    known = {fact: part for part, graph in split.parts.items() for fact in graph}
    for question in ("sold({}, alex, book)", "sold(drew, {}, book)", "bought({}, ana, coffee)", "buyer(alex, {})"):
        answers = run.complete(question.format("?"), k=100)
        assert {answer.entity for answer in answers} == set(split.entities)
        assert answers == sorted(answers, key=lambda answer: (not answer.known, -answer.score))
        for answer in answers:
            fact = question.format(answer.entity)
            assert answer.score == pytest.approx(run.score(fact).score, rel=1e-5)
            relation, _, rest = fact.rstrip(")").partition("(")
            assert answer.source == known.get((relation, *rest.split(", ")))
            assert answer.known == (answer.source is not None)
        old, new = ([answer for answer in answers if answer.known is wanted] for wanted in (True, False))
        assert run.complete(question.format("?"), k=3) == old[:3] + new[:3]
        assert old
        assert run.complete(question.format("?"), k=100, new_only=True) == new


def asked(run: Run) -> tuple[object, ...]:
    best = run.complete("sold(drew, ?, book)", k=4)
    return run.evaluate().metrics, run.evaluate("valid", raw=True).metrics, best, run.score("buyer(sam, tv)")


def test_a_stopped_run_goes_on_after_it_has_moved_and_without_its_data(trained: Path, tmp_path: Path, cache: Path) -> None:
    save(load("example"), tmp_path / "data")
    with pytest.raises(KeyboardInterrupt):
        fit(spec_of(str(tmp_path / "data")), tmp_path / "run", watch=stopping_at(4))
    shutil.rmtree(tmp_path / "data")
    shutil.rmtree(cache)
    shutil.move(tmp_path / "run", tmp_path / "moved")
    assert model_bytes(resume(tmp_path / "moved").folder) == model_bytes(trained)
    assert asked(Run.load(tmp_path / "moved")) == asked(Run.load(trained))


def test_data_of_training_facts_alone_can_be_learned_but_not_tested_on(tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text("is\tdrew\nsold\tdrew\talex\tbook\n")
    run = fit(spec_of(str(tmp_path / "facts.txt")), tmp_path / "run")
    assert "validation" not in events(run.folder)
    assert run.complete("is(?)", k=1, new_only=True)[0].entity in ("alex", "book")
    with mistake("empty-part"):
        run.evaluate()


def test_test_facts_decide_nothing(tmp_path: Path) -> None:
    chance = random.Random(0)
    facts = [f"r\te{chance.randrange(30)}\te{chance.randrange(8)}\n" for _ in range(400)]
    every = "".join(f"every\te{number}\n" for number in range(30))
    runs = []
    for name, test in (("one", facts[100:250]), ("other", facts[250:])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.txt").write_text(every + "".join(facts[:50]))
        (tmp_path / name / "valid.txt").write_text("".join(facts[50:100]))
        (tmp_path / name / "test.txt").write_text("".join(test))
        runs.append(fit(spec_of(str(tmp_path / name)), tmp_path / f"{name} run"))
    assert model_bytes(runs[0].folder) == model_bytes(runs[1].folder)
    run, split = runs[0], runs[0].split
    state = load_state(run.folder / "checkpoint.safetensors")
    assert state is not None
    honest, leaking = (
        rank(run.model, run.parameters, split.valid, known).metrics.mrr
        for known in (KnownAnswers(split.train, split.valid), run.known)
    )
    assert state.best_score == honest != leaking


def test_resuming_a_finished_run_trains_no_more(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    told: list[str] = []
    run = resume(tmp_path / "run", watch=lambda event, *_: told.append(event))
    assert not {"step", "epoch", "validation"} & set(told)
    assert events(tmp_path / "run").count("epoch") == 4
    assert asked(run) == asked(Run.load(trained))
    for path in trained.iterdir():
        assert path.name == "journal.jsonl" or (tmp_path / "run" / path.name).read_bytes() == path.read_bytes(), path.name


def test_what_cannot_be_resumed_is_refused_in_one_sentence(trained: Path, tmp_path: Path) -> None:
    with mistake("not-a-run"):
        resume(tmp_path / "nothing")
    shutil.copytree(trained, tmp_path / "run")
    facts = (tmp_path / "run" / "facts.safetensors").read_bytes()
    (tmp_path / "run" / "facts.safetensors").write_bytes(facts[:-1])
    with mistake("missing-part"):
        resume(tmp_path / "run")
    with mistake("missing-part"):
        Run.load(tmp_path / "run").evaluate()


def test_the_facts_of_another_run_are_refused(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "facts.txt").write_text("sold\tdrew\talex\tbook\n")
    other = fit(spec_of(str(tmp_path / "facts.txt"), epochs=1), tmp_path / "other").folder
    shutil.copytree(trained, tmp_path / "run")
    shutil.copy(other / "facts.safetensors", tmp_path / "run")
    with mistake("other-facts"):
        Run.load(tmp_path / "run").evaluate()
    with mistake("other-facts"):
        resume(tmp_path / "run")


def test_two_processes_do_not_train_one_run(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    with locked_elsewhere(tmp_path / "run" / ".lock"), mistake("run-in-use"):
        resume(tmp_path / "run")
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_without_a_whole_checkpoint_a_run_starts_anew_and_ends_the_same(trained: Path, tmp_path: Path, damage: str) -> None:
    shutil.copytree(trained, tmp_path / "run")
    checkpoint = tmp_path / "run" / "checkpoint.safetensors"
    content = checkpoint.read_bytes()
    checkpoint.unlink()
    if damage == "cut":
        checkpoint.write_bytes(content[: len(content) // 2])
    (tmp_path / "run" / "model.safetensors").unlink()
    assert model_bytes(resume(tmp_path / "run").folder) == model_bytes(trained)


def stopping_at(number: int) -> Callable[[str, State, dict[str, Any]], None]:
    """Return a watcher that raises KeyboardInterrupt at an event."""
    left = iter(range(number, -1, -1))

    def watch(*_: object) -> None:
        if next(left) == 0:
            raise KeyboardInterrupt

    return watch


def test_a_run_interrupted_at_any_event_ends_in_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    told: list[str] = []
    fit(spec_of(), tmp_path / "straight", watch=lambda event, *_: told.append(event))
    for number in range(len(told)):
        folder = tmp_path / str(number)
        with pytest.raises(KeyboardInterrupt):
            fit(spec_of(), folder, watch=stopping_at(number))
        state = load_state(folder / "checkpoint.safetensors")
        assert state is not None
        with mistake("not-a-run"):
            Run.load(folder)
        assert model_bytes(resume(folder).folder) == model_bytes(trained), told[number]
        assert visible(folder) == FILES
        assert events(folder).count("resume") == 1
        assert history(folder) == history(trained), told[number]


@pytest.mark.everything
def test_the_history_has_no_hole_when_stopped_twice(trained: Path, tmp_path: Path) -> None:
    told: list[str] = []
    fit(spec_of(), tmp_path / "straight", watch=lambda event, *_: told.append(event))
    for number in (place for place, event in enumerate(told) if event in ("epoch", "validation")):
        for later in range(3):
            folder = tmp_path / f"{number} {later}"
            with pytest.raises(KeyboardInterrupt):
                fit(spec_of(), folder, watch=stopping_at(number))
            with contextlib.suppress(KeyboardInterrupt):  # the last one ends before it is stopped
                resume(folder, watch=stopping_at(later))
            resume(folder)
            assert history(folder) == history(trained), (told[number], later)


@pytest.mark.everything
@pytest.mark.parametrize("place", ["write", "save_state"])
def test_the_history_has_no_hole_whatever_is_being_written(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Ctrl-C comes right before and right after each record of the journal, and each checkpoint."""
    owner: Any = Journal if place == "write" else fitting
    real = getattr(owner, place)
    for late in (False, True):
        for number in itertools.count():
            folder, left = tmp_path / f"{late} {number}", iter(range(number, -1, -1))

            def interrupted(*arguments: Any, left: Iterator[int] = left, late: bool = late, **named: Any) -> None:
                now = next(left, None) == 0
                if late or not now:
                    real(*arguments, **named)
                if now:
                    raise KeyboardInterrupt

            monkeypatch.setattr(owner, place, interrupted)
            try:
                fit(spec_of(), folder)
                break  # there was nothing more to interrupt
            except KeyboardInterrupt:
                monkeypatch.setattr(owner, place, real)
            assert model_bytes(resume(folder).folder) == model_bytes(trained)
            assert history(folder) == history(trained), (late, number)
        assert number >= 3


def was_validated(run: Run) -> bool:
    """Return whether the parameters of a run are those of its best validation."""
    validated = [event["score"] for event in run.events if event["event"] == "validation"]
    split = load("example")
    ranks = rank(run.model, run.parameters, split.valid, KnownAnswers(split.train, split.valid))
    return max(validated) == ranks.metrics.mrr


def test_what_is_kept_in_half_the_memory_is_what_was_validated(tmp_path: Path) -> None:
    spec = spec_of(entity_storage="bfloat16")
    run = fit(spec, tmp_path / "half")
    entities = run.parameters["entities"]
    assert entities.equal(entities.bfloat16().float())
    whole = fit(spec_of(), tmp_path / "whole").parameters["entities"]
    assert not whole.equal(whole.bfloat16().float())
    stored = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "whole")]
    assert stored[0] < stored[1]
    assert was_validated(run)
