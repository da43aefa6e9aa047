"""`relatum run`: experiments, of which each run is trained once, several at a time where that is wanted, and collected."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import FolderOut, Json
from relatum.cli.output import print_json, print_table, say
from relatum.cli.train import carry_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relatum.runs.experiment import Experiment, Planned


def run(
    specs: Annotated[list[Path], typer.Argument(metavar="SPEC...", help="TOML files, such as experiments/fb-auto.toml.")],
    seeds: Annotated[str | None, typer.Option(help="The seeds, such as 0,1,2; by default those in the file.")] = None,
    out: FolderOut = Path("runs"),
    results: Annotated[Path | None, typer.Option(help="Write NAME.json here, with the results of all seeds.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the state of each run.")] = False,
    jobs: Annotated[int, typer.Option(help="How many runs are trained at a time.", min=1)] = 1,
    is_job: Annotated[bool, typer.Option("--job", hidden=True)] = False,
    json: Json = False,
) -> None:
    """Run experiments and collect their results: skip finished runs, resume interrupted ones, and train the rest."""
    from relatum.errors import SettingError
    from relatum.runs.experiment import read_experiments
    from relatum.workers import is_worker

    if is_worker():
        raise SettingError(
            "run-not-with-torchrun", "relatum run: not with torchrun; several runs at a time are trained with --jobs"
        )
    chosen = None if seeds is None else _numbers(seeds)
    experiments = [one for path in specs for one in read_experiments(path, chosen)]  # all are read before any is run
    if len({experiment.name for experiment in experiments}) < len(experiments):
        raise SettingError("specs-one-name", "two specs have the same name, so their results would overwrite each other")
    planned = {experiment.name: list(experiment.runs(out)) for experiment in experiments}
    if plan:
        _show_plan(planned, json=json)
        return
    runs = list({one.key: one for each in planned.values() for one in each}.values())
    if is_job:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        _train_missing(runs, wait=False)
        return
    if jobs > 1 and sum(_state(one) != "done" for one in runs) > 1:
        _train_at_once(jobs, [*map(str, specs), "--out", str(out), *(() if seeds is None else ("--seeds", seeds))])
    else:
        _train_missing(runs, wait=False)
    _train_missing(runs, wait=True)
    found: dict[str, Any] = {}
    for experiment in experiments:
        found |= _collect(experiment, planned[experiment.name], results)
    if json:
        print_json(found)
    else:
        _show(found)


def _train_at_once(jobs: int, arguments: list[str]) -> None:
    """Have processes train all runs that nobody else does: each takes the next one that is free."""
    from relatum.kernels.parallel import threads

    environment = {**os.environ, "RELATUM_THREADS": str(max(1, threads() // jobs))}
    # In sessions of their own, so that one Ctrl-C is one for each; their input ends with this process, and they with that.
    started = [
        subprocess.Popen(  # noqa: S603  # this very command
            [sys.executable, "-m", "relatum", "run", *arguments, "--job"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        for _ in range(jobs)
    ]
    with ExitStack() as opened:
        telling = [threading.Thread(target=_tell, args=each) for each in enumerate(map(opened.enter_context, started), 1)]
        for thread in telling:
            thread.start()
        try:
            codes = [one.wait() for one in started]
        except KeyboardInterrupt:
            for one in started:
                one.send_signal(signal.SIGINT)
            for one in started:
                one.wait()
            raise
        finally:
            for thread in telling:
                thread.join()
    if failed := [code for code in codes if code > 0]:
        raise typer.Exit(failed[0])


def _tell(number: int, job: subprocess.Popen[str]) -> None:
    """Pass on what a job says, with its number."""
    for line in job.stderr or ():
        say(f"job {number}: {line.rstrip()}", stderr=True)


def _end_with_parent() -> None:
    """End this process, even in the middle of a step, when the one that has started it is gone."""
    os.read(0, 1)
    os._exit(1)


def _train_missing(runs: Sequence[Planned], *, wait: bool) -> None:
    """Train the runs that are not done; those that another process trains are passed over, or waited for."""
    for planned in runs:
        if _state(planned) != "done":
            _train(planned.furthest(), wait=wait)


def _train(planned: Planned, *, wait: bool) -> None:
    from relatum import api
    from relatum.closed_folders import make_folder
    from relatum.file_locks import LockTakenError, locked
    from relatum.runs.directory import LOCK

    folder = planned.folder
    make_folder(folder)
    with ExitStack() as held:
        try:
            held.enter_context(locked(folder / LOCK, 0))
        except LockTakenError:
            if not wait:
                return
            say(f"{folder}: another process is training this run; waiting for it", stderr=True)
            held.enter_context(locked(folder / LOCK))
        if planned.state == "done":
            return
        say(f"{folder}: {planned.state}", stderr=True)
        if planned.state == "begun":
            carry_out(folder, lambda: api.resume(folder))
        else:
            carry_out(folder, lambda: api.fit(planned.spec, folder))


def _collect(experiment: Experiment, runs: Sequence[Planned], results: Path | None) -> dict[str, Any]:
    """Return the results of an experiment by name, those of its ensemble too, and write them."""
    from relatum import api
    from relatum.file_locks import locked
    from relatum.runs.directory import LOCK
    from relatum.runs.results import collect, save_results

    folders = [one.furthest().folder for one in runs]
    found = {experiment.name: collect(folders)}
    if experiment.ensemble:
        joined = experiment.ensemble_folder([one.furthest() for one in runs])
        with locked(joined.parent / LOCK):
            if not (joined / "config.json").exists():
                api.join(folders, joined)
        found[f"{experiment.name}-ensemble"] = collect([joined])
    if results is not None:
        for name, whole in found.items():
            save_results(results / f"{name}.json", whole)
    return found


def _state(planned: Planned) -> str:
    return planned.furthest().state


def _show_plan(planned: dict[str, list[Planned]], *, json: bool) -> None:
    """Show the state of each run; `running` is one that a process trains now."""
    from relatum.runs.fit import is_held

    states = {
        name: {
            str(one.folder): "running" if is_held(one.folder) else one.state for one in (each.furthest() for each in runs)
        }
        for name, runs in planned.items()
    }
    if json:
        print_json(states)
        return
    rows = [(name, folder, state) for name, found in states.items() for folder, state in found.items()]
    print_table("planned", ("experiment", "run", "state"), rows)


def _numbers(text: str) -> list[int]:
    from relatum.errors import SettingError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(
            "bad-seeds", f"whole numbers with commas between them, such as 0,1,2, not {text!r}", place="--seeds"
        ) from None


def _show(found: dict[str, Any]) -> None:
    heads = ("experiment", "seed", "MRR", "Hit@1", "Hit@3", "Hit@10", "valid MRR", "best epoch", "minutes")
    rows = []
    for name, whole in found.items():
        for one in whole["runs"]:
            test, valid = one["test"], one["valid"]
            hits = (f"{test[f'hits@{k}']:.4f}" for k in (1, 3, 10))
            valid_mrr = "-" if valid is None else f"{valid['mrr']:.4f}"
            times = (str(one["best_epoch"]), f"{one['minutes_of_training']:.1f}")
            rows.append((name, str(one["seed"]), f"{test['mrr']:.4f}", *hits, valid_mrr, *times))
        spread = whole["test_mrr"]["spread"]
        mean = f"{whole['test_mrr']['mean']:.4f}" + ("" if spread is None else f" ({spread:.4f})")
        rows.append((name, "mean", mean, "", "", "", "", "", ""))
    spare = ("best epoch", "minutes", "valid MRR", "Hit@3")
    print_table("test facts, filtered; in brackets the spread over seeds", heads, rows, heads[1:], drop=spare)
