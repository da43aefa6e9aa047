"""A run is served whole: as its directory was, or as it is once it has been replaced, and never a mixture."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest

import relatum
from relatum.serving import app
from relatum.serving.errors import RequestError
from relatum.serving.hosted import HostedRun, HostedRuns, prepare
from relatum.serving.security import ServerSettings
from relatum.time_limit import Deadline, check_time
from support.mistakes import mistake
from support.served import served


@pytest.fixture
def folder(example_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(example_run, tmp_path / "run"))


def replace(folder: Path, by: Path) -> None:
    """Put another run in a directory's stead, as `mv` does."""
    fresh, old = folder.with_name("fresh"), folder.with_name("old")
    shutil.copytree(by, fresh)
    folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old)


def test_runs_are_called_as_their_directories_are(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("shop", "a/shop", "my run (2)", "..json", "x.json", "-")]
    assert list(HostedRuns(folders)) == ["shop", "shop-2", "my-run-2", "json", "x", "run"]
    with mistake("no-run-to-serve"):
        HostedRuns([])
    runs = HostedRuns(folders[:1])
    assert "shop" in runs
    assert "shoop" not in runs
    with mistake("unknown-name", nearest=("shop",)):
        runs["shoop"]


def test_a_replaced_directory_is_picked_up_once_it_lies_still(folder: Path, shop_run: Path) -> None:
    hosted = HostedRun("run", folder)
    before = hosted.run()
    assert not hosted.refresh()
    assert not hosted.refresh()
    replace(folder, shop_run)
    assert not hosted.refresh()  # it has just changed
    assert hosted.run() is before
    assert hosted.refresh()
    after = hosted.run()
    assert after is not before
    assert (hosted.version, hosted.problem) == (2, None)
    # What was not looked at before the replacement is still that of the old run.
    assert {one.name for one in before.split.schema} == {one.name for one in before.model.schema}
    assert {one.name for one in before.schema} != {one.name for one in after.schema}
    assert before.complete("sold(drew, ?, book)")


@pytest.mark.parametrize("damage", ["cut", "foreign facts", "no model"])
def test_a_damaged_directory_leaves_the_old_run(folder: Path, shop_run: Path, damage: str) -> None:
    hosted = HostedRun("run", folder)
    before = hosted.run()
    if damage == "cut":
        content = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    elif damage == "foreign facts":
        for name in ("facts.safetensors", "environment.json", "spec.toml"):
            shutil.copy(shop_run / name, folder / name)
    else:
        (folder / "config.json").unlink()
    for _ in range(3):
        assert not hosted.refresh()
    assert hosted.run() is before
    assert (damage == "no model") == (hosted.problem is None)
    replace(folder, shop_run)
    hosted.refresh()
    assert hosted.refresh()  # what is whole again is taken
    assert hosted.problem is None


def test_a_run_without_a_model_is_refused_until_it_has_one(folder: Path, example_run: Path) -> None:
    (folder / "config.json").unlink()
    hosted = HostedRun("run", folder)
    with pytest.raises(RequestError) as caught:
        hosted.run()
    assert caught.value.status == 409
    shutil.copy(example_run / "config.json", folder / "config.json")
    assert hosted.run().schema


def test_writing_the_journal_is_no_replacement(folder: Path) -> None:
    hosted = HostedRun("run", folder)
    hosted.run()
    with (folder / "journal.jsonl").open("a") as file:
        file.write("\n")
    (folder / "report.html").write_text("x")
    assert not hosted.refresh()
    assert not hosted.refresh()


def test_clients_see_one_run_or_the_other_while_directories_are_swapped(
    folder: Path, example_run: Path, shop_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_RELOAD_SECONDS", 0.05)
    schemas = [{one.name for one in relatum.open(path).schema} for path in (example_run, shop_run)]
    stop, failures, seen = threading.Event(), [], set()
    with served([folder], ServerSettings(seconds=60.0)) as client:
        client.get("/run.json")

        def look() -> None:
            while not stop.is_set():
                got = client.get("/run/schema.json")
                found = {one["name"] for one in got.json.get("relations", ())}
                if got.status != 200 or found not in schemas:
                    failures.append(got)
                else:
                    seen.add(schemas.index(found))

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for by in (shop_run, example_run, shop_run):
            loads = client.get("/-/health.json").json["runs"][0]["loads"]
            replace(folder, by)
            while client.get("/-/health.json").json["runs"][0]["loads"] == loads:
                pass
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert seen == {0, 1}


def test_the_indexes_are_there_before_the_first_question(example_run: Path) -> None:
    run = relatum.open(example_run)
    prepare(run)
    assert all(map(run.remembers, ("fact index", "name index", "relations", "tables of SQL")))
    assert not run.remembers("quality")


def test_what_no_request_has_time_for_is_worked_out_beside_them(folder: Path) -> None:
    runs, times = HostedRuns([folder]), list[float]()

    def work_out() -> int:
        began = time.monotonic()
        while time.monotonic() < began + 0.3:
            check_time()
        times.append(time.monotonic())
        return 7

    run = runs["run"].run()
    with mistake("time-over"), Deadline(0.05):
        run.remembered("costly", work_out)
    with Deadline(60):
        assert run.remembered("costly", work_out) == 7
    assert len(times) == 1
    runs.later.close()


def test_a_run_is_loaded_whatever_time_the_first_request_has(folder: Path) -> None:
    runs = HostedRuns([folder])
    with Deadline(1e-9):
        assert runs["run"].run().schema
    assert runs["run"].problem is None
    runs.later.close()
