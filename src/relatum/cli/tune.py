"""`relatum tune`: the search for settings that do well on validation facts."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Changes, FolderOut, Json
from relatum.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from relatum.runs.spec import Spec
    from relatum.tuning.study import Outcome, Study

_SHOWN = 5  # of the best trials
_TRIALS = 20  # where there is no grid to go through


def tune(
    out: FolderOut,
    data: Annotated[str | None, typer.Option(metavar="NAME_OR_DIR", help="The data to learn from.")] = None,
    model: Annotated[str | None, typer.Option(help="The model; by default the one in the spec, or reale.")] = None,
    trials: Annotated[
        int | None, typer.Option(help="How many trials all processes run together; by default 20, or the whole grid.", min=1)
    ] = None,
    sampler: Annotated[str, typer.Option(help="tpe, or grid: every combination, by default the grid of the paper.")] = "tpe",
    pruner: Annotated[str, typer.Option(help="How to stop weak trials early: median, halving or none.")] = "median",
    search: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=VALUES",
            help="Values to search, such as 'training.learning_rate=0.05..1.0 log' or model.window=1,2,4; one per setting.",
        ),
    ] = None,
    spec: Annotated[Path | None, typer.Option(help="A TOML file with settings to start from.")] = None,
    change: Changes = None,
    epochs: Annotated[int | None, typer.Option(help="The largest number of epochs per trial.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Start no new trial after this many minutes.", min=0)] = None,
    storage: Annotated[
        str | None, typer.Option(metavar="FILE_OR_URL", help="A journal file or postgresql:// URL that machines share.")
    ] = None,
    json: Json = False,
) -> None:
    """Search for settings by validation MRR and write the best to best.toml; test facts are never used.

    Repeat the command to resume a study. Processes that run it at the same time share the trials.
    """
    from relatum.datasets.load import load
    from relatum.errors import DataError
    from relatum.tuning.space import make_plan
    from relatum.tuning.storage import open_storage, plain_errors
    from relatum.tuning.study import BEST, JOURNAL, Study, bind, require_folder, save_best, work

    given = {"data": data, "model": model, "training": None if epochs is None else {"epochs": epochs}}
    options = {name: value for name, value in given.items() if value is not None}
    base = _base(spec, change or [], options, sampler)
    split = load(base.data)
    if not len(split.train) or not len(split.valid):
        raise DataError("no-validation-facts", "tuning needs facts to train on and validation facts", place=base.data)
    plan = make_plan(base, search or [], sampler, pruner, split.checksums)
    require_folder(out, plan)
    began = time.monotonic()
    with plain_errors(), _interruptible() as interrupt:
        shared = open_storage(storage or str(out / JOURNAL))
        bind(out, plan, shared)
        study = Study(plan, shared)
        most = min(trials or study.size or _TRIALS, study.size or sys.maxsize)
        until = float("inf") if minutes is None else began + 60 * minutes
        save_best(out, study)  # it may be that other processes found it
        for outcome in work(study, split, most, until, interrupt):
            save_best(out, study)
            _say(outcome, study, most)
            interrupt()
        save_best(out, study)
        found = _summary(study, out / BEST)
    if json:
        print_json(found)
    else:
        _show(found, most)


def _base(path: Path | None, changes: list[str], options: dict[str, Any], sampler: str) -> Spec:
    """Return the spec that trials start from; a grid starts from the paper's recipe by default."""
    from relatum.runs.spec import Spec, merged
    from relatum.settings import change_of

    if path is not None:
        return Spec.read(path, changes, options)
    return Spec.from_dict(merged({"recipe": "paper"} if sampler == "grid" else {}, *map(change_of, changes), options))


@contextmanager
def _interruptible() -> Iterator[Callable[..., None]]:
    """Yield what stops where it is called after Ctrl-C, so that a trial can be given back; a second one stops at once."""
    requested = False

    def stop(*_: object) -> None:
        if requested:
            raise KeyboardInterrupt

    def request(*_: object) -> None:
        nonlocal requested
        stop()
        requested = True

    before = signal.signal(signal.SIGINT, request)
    try:
        yield stop
    except KeyboardInterrupt:
        sys.stderr.write("stopped; resume with the same command\n")
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _say(outcome: Outcome, study: Study, most: int) -> None:
    counts, best = study.counts(), study.best(1)
    done = f"{counts['complete'] + counts['pruned']} of {most}"
    score = "" if outcome.score is None else f"MRR {outcome.score:.4f}"
    reached = ", ".join(filter(None, (score, outcome.why)))
    leader = f"best {best[0].value:.4f}" if best else "no best yet"
    settings = ", ".join(f"{path} {_short(value)}" for path, value in outcome.values.items())
    sys.stderr.write(f"{done}: trial {outcome.number}: {reached} ({settings}; {outcome.seconds:.0f} s), {leader}\n")


def _summary(study: Study, best: Path) -> dict[str, Any]:
    """Return what the study has reached so far, as plain data."""
    top = [{"trial": one.number, "mrr": one.value, "settings": one.params} for one in study.best(_SHOWN)]
    return {"study": study.plan.name, "trials": study.counts(), "best": top, "spec": str(best) if top else None}


def _show(found: dict[str, Any], most: int) -> None:
    counts = found["trials"]
    done = counts["complete"] + counts["pruned"]
    line = f"{done} of {most} trials done, {counts['pruned']} of them ended early"
    if counts["running"]:
        line += f"; {counts['running']} being run by other processes"
    say(line)
    if found["best"]:
        paths = list(found["best"][0]["settings"])
        heads = ("trial", "valid MRR", *paths)
        rows = [
            (str(one["trial"]), f"{one['mrr']:.4f}", *(_short(one["settings"][path]) for path in paths))
            for one in found["best"]
        ]
        print_table("the best by validation facts", heads, rows, heads)
        say(f"train the best with: relatum train --spec {shlex.quote(found['spec'])} --out RUN")


def _short(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
