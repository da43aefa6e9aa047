"""Trackers see what the journal says, once, whatever happens in between; and training does not depend on them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run as MlflowRun
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import relatum
from relatum.errors import RelatumWarning
from relatum.runs.journal import Journal
from support.command_line import Relatum
from support.mistakes import code_of, mistake
from support.worker_group import train_options, workers, write_facts

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")  # of MLflow, about itself

SETTINGS = {"dim": 8, "epochs": 6, "validate_every": 2, "recipe": "fast", "progress": False}
Curves = dict[str, list[tuple[int, float]]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a database of MLflow, which is the one it uses by itself, too."""
    address = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    return address


def journal_of(folder: Path) -> list[dict[str, Any]]:
    return Journal(folder / "journal.jsonl").read()


def curves_of(events: list[dict[str, Any]]) -> Curves:
    """Return what a journal measures, each epoch once."""
    found: dict[str, dict[int, float]] = {"epoch/loss": {}, "validation/score": {}}
    for event in events:
        for name in found:
            kind, number = name.split("/")
            if event["event"] == kind:
                found[name].setdefault(event["epoch"], event[number])
    return {name: list(points.items()) for name, points in found.items()}


def require_same(shown: Curves, events: list[dict[str, Any]]) -> None:
    for name, points in curves_of(events).items():
        assert [epoch for epoch, _ in shown[name]] == [epoch for epoch, _ in points], name
        assert [value for _, value in shown[name]] == pytest.approx([value for _, value in points]), name


def shown_by_tensorboard(folder: Path) -> Curves:
    board = EventAccumulator(str(folder)).Reload()
    assert "spec/text_summary" in board.Tags()["tensors"]
    return {name: [(point.step, point.value) for point in board.Scalars(name)] for name in board.Tags()["scalars"]}


def require_shown(folder: Path, store: str) -> None:
    """Check that both boards show the journal of a run."""
    require_same(shown_by_tensorboard(folder / "tensorboard"), journal_of(folder))
    require_same(shown_by_mlflow(store), journal_of(folder))


def runs_of(store: str) -> list[MlflowRun]:
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("relatum")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id]))


def shown_by_mlflow(store: str) -> Curves:
    client, (run,) = MlflowClient(store), runs_of(store)
    names = run.data.metrics
    return {name: [(p.step, p.value) for p in client.get_metric_history(run.info.run_id, name)] for name in names}


def break_at(epoch: int) -> Any:
    """Return a watch that makes training fail in the middle of the epoch behind one."""

    def watch(event: str, state: Any, facts: Mapping[str, Any]) -> None:
        if event == "epoch" and state.epoch == epoch:
            raise RuntimeError("power cut")

    return watch


def test_a_function_gets_the_events_of_the_journal_as_they_are_written(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []

    def follow(event: Mapping[str, Any]) -> None:
        assert journal_of(tmp_path / "run")[-1] == event
        seen.append(event)

    relatum.fit("example", tmp_path / "run", trackers=[follow], **SETTINGS)
    assert seen == journal_of(tmp_path / "run")
    in_memory: list[Mapping[str, Any]] = []
    run = relatum.fit("example", trackers=in_memory.append, **SETTINGS)
    assert in_memory == run.events
    assert [{**event, "time": 0} for event in in_memory] == [{**event, "time": 0} for event in seen]


def test_boards_show_the_curves_of_the_journal_and_the_settings(tmp_path: Path, store: str) -> None:
    folder = tmp_path / "shop's run"
    relatum.fit("example", folder, trackers=["tensorboard", "mlflow"], **SETTINGS)
    require_shown(folder, store)
    (run,) = runs_of(store)
    assert (run.info.run_name, run.info.status) == (folder.name, "FINISHED")
    assert {"data": "example", "model.dim": "8", "training.epochs": "6", "seed": "0"}.items() <= run.data.params.items()
    relatum.fit("example", trackers=[f"tensorboard={tmp_path / 'logs'}", f"mlflow={store}"], **SETTINGS)
    require_same(shown_by_tensorboard(tmp_path / "logs"), journal_of(folder))
    assert [run.info.run_name for run in runs_of(store)] == ["memory", folder.name]


def test_after_a_break_nothing_is_missing_and_nothing_there_twice(tmp_path: Path, store: str) -> None:
    folder, seen = tmp_path / "run", list[Mapping[str, Any]]()
    trackers = ["tensorboard", "mlflow", seen.append]
    with pytest.raises(RuntimeError, match="power cut"):
        relatum.fit("example", folder, watch=break_at(3), trackers=trackers, **SETTINGS)
    assert runs_of(store)[0].info.status == "FAILED"
    relatum.resume(folder, progress=False, trackers=trackers)
    events = journal_of(folder)
    assert [event["epoch"] for event in events if event["event"] == "epoch"] == [1, 2, 3, 3, 4, 5, 6]  # the third was lost
    require_shown(folder, store)
    assert runs_of(store)[0].info.status == "FINISHED"
    assert [event["epoch"] for event in seen if event["event"] == "epoch"] == [1, 2, 3, 4, 5, 6]
    relatum.resume(folder, progress=False, trackers=trackers)  # a run that is done
    require_shown(folder, store)


def test_a_board_that_comes_late_is_given_what_was_before(tmp_path: Path, store: str) -> None:
    folder = tmp_path / "run"
    with pytest.raises(RuntimeError, match="power cut"):
        relatum.fit("example", folder, watch=break_at(5), **SETTINGS)
    relatum.resume(folder, progress=False, trackers=["tensorboard", "mlflow"])
    require_shown(folder, store)


def test_a_tracker_that_fails_is_left_out_with_one_warning_and_changes_nothing(tmp_path: Path) -> None:
    calls: list[str] = []

    def fails(event: Mapping[str, Any]) -> None:
        calls.append(event["event"])
        if event["event"] == "validation":
            raise ValueError("full\ndisk")

    (tmp_path / "taken").write_text("a file, where TensorBoard wants a directory")
    relatum.fit("example", tmp_path / "plain", **SETTINGS)
    trackers = [fails, f"tensorboard={tmp_path / 'taken'}", "mlflow=nothing://"]
    with pytest.warns(RelatumWarning) as warned:
        relatum.fit("example", tmp_path / "run", trackers=trackers, **SETTINGS)
    texts = sorted(str(one.message) for one in warned)
    assert [text.split()[:3] for text in texts] == [
        ["tracker", "fails", "(0)"],
        ["tracker", "mlflow=nothing://", "failed"],
        ["tracker", f"tensorboard={tmp_path / 'taken'}", "failed"],
    ]
    assert texts[0].endswith("failed and gets no more events; training goes on (ValueError: full)")
    assert calls == ["start", "epoch", "epoch", "validation"]
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == (tmp_path / "plain" / "model.safetensors").read_bytes()


def test_what_cannot_be_followed_is_refused_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mistake("unknown-name"):
        relatum.fit("example", tmp_path / "run", trackers=["tensorbord"], **SETTINGS)
    with mistake("bad-tracker"):
        relatum.fit("example", trackers=["tensorboard"], **SETTINGS)
    with mistake("bad-tracker"):
        relatum.fit("example", trackers=[3], **SETTINGS)  # type: ignore[list-item]
    for library, name in (("tensorboard", "tensorboard"), ("mlflow", "mlflow")):
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
        with mistake("missing-extra"):
            relatum.fit("example", tmp_path / "run", trackers=[name], **SETTINGS)
    assert not (tmp_path / "run").exists()


def test_the_command_line_names_trackers_when_a_run_begins_and_when_it_goes_on(tmp_path: Path, run: Relatum) -> None:
    folder, settings = tmp_path / "run", ("--set", "model.dim=8", "--set", "training.epochs=3")
    code, _, err = run("train", "--data", "example", "--out", str(folder), "--tracker", "none", *settings)
    assert (code, code_of(err)) == (2, "unknown-name")
    assert run("train", "--data", "example", "--out", str(folder), "--tracker", "tensorboard", *settings)[0] == 0
    require_same(shown_by_tensorboard(folder / "tensorboard"), journal_of(folder))
    assert run("train", "--resume", str(folder), "--tracker", f"tensorboard={tmp_path / 'logs'}")[0] == 0
    require_same(shown_by_tensorboard(tmp_path / "logs"), journal_of(folder))


@pytest.mark.skipif(sys.platform != "linux", reason="finds workers in /proc")
def test_of_several_workers_the_first_one_logs(tmp_path: Path) -> None:
    folder, data = tmp_path / "run", write_facts(tmp_path / "data")
    with workers(2, [*train_options(data, folder), "--tracker", "tensorboard"]) as started:
        code, _, err = started.end()
    assert code == 0, err
    shown = shown_by_tensorboard(folder / "tensorboard")
    require_same(shown, journal_of(folder))
    assert shown["end/workers"] == [(8, 2.0)]
    assert len(list((folder / "tensorboard").iterdir())) == 1
