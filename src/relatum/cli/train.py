"""`relatum train`, `update` and `join`: from facts to a run directory, more facts into one, and several runs to one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Changes, Json, RunFolder, RunOut
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import count, duration, number
from relatum.time_limit import now

if TYPE_CHECKING:
    from collections.abc import Callable


def train(
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_DIR",
            help="The data: the name of a dataset, a directory or file of facts, a database or a file of tables.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model; by default the one in the spec, or reale.")] = None,
    recipe: Annotated[
        str | None, typer.Option(help="Settings to start from: auto (by the facts; the default), fast or paper.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Train as well as so many minutes allow; chooses size and epochs.")
    ] = None,
    spec: Annotated[Path | None, typer.Option(help="A TOML file with settings.")] = None,
    change: Changes = None,
    seed: Annotated[int | None, typer.Option(help="The random seed.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="RUN", help="The run directory to create.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Resume a run that was stopped.")] = None,
    tracker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=WHERE]", help="Log training to tensorboard (a directory) or mlflow (an address) as it goes."
        ),
    ] = None,
) -> None:
    """Train a model into a run directory; stop it with Ctrl-C, and resume it with --resume."""
    began = now()  # before what takes long to import

    from relatum.workers import is_first_worker

    if not is_first_worker():
        _follow(resume or out)
        return
    from relatum.api import fit
    from relatum.api import resume as resume_run
    from relatum.errors import SettingError
    from relatum.runs.spec import RECIPES, Spec, merged
    from relatum.settings import change_of

    given = {"data": data, "model": model, "recipe": recipe, "seed": seed}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if minutes is not None:
        options["training"] = {"minutes": minutes}
    if resume is not None and (options or change or spec or out):
        raise SettingError("contradictory-options", "--resume cannot be combined with other options")
    folder, trackers, changes = resume or out, tracker or [], change or []
    if folder is None:
        raise SettingError("missing-option", "missing option --out RUN")
    if resume is not None:
        carry_out(folder, lambda: resume_run(folder, trackers=trackers))
    elif spec is not None:
        wanted = Spec.read(spec, changes, options)
        carry_out(folder, lambda: fit(wanted, folder, trackers=trackers, began=began))
    else:
        plain = merged(*map(change_of, changes), options)
        Spec.from_dict({**plain, "recipe": recipe if recipe in RECIPES else None})  # refuses as it would in a file
        carry_out(folder, lambda: fit(plain.pop("data"), folder, trackers=trackers, began=began, **plain))
    typer.echo(f"trained into {folder}; ask it with: relatum evaluate {shlex.quote(str(folder))}")


def _follow(folder: Path | None) -> None:
    """Train as another worker than the first, which checks the options, begins the run and shows how it goes."""
    from relatum.runs.worker_fit import follow
    from relatum.workers.group import start_group

    group = start_group()
    if group is not None and folder is not None:
        follow(group, folder)


def carry_out(folder: Path, work: Callable[[], object]) -> None:
    """Train, and when Ctrl-C stops that, say how to resume it."""
    from relatum.runs.directory import SPEC

    try:
        work()
    except KeyboardInterrupt:
        if (folder / SPEC).exists():
            sys.stderr.write(f"stopped; resume with: relatum train --resume {shlex.quote(str(folder))}\n")
        raise


def join(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Runs that differ in their seed.")],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run directory to create.")],
    json: Json = False,
) -> None:
    """Join runs into one whose score is the sum of theirs: usually better than each, and asked like any other run."""
    from relatum import api

    joined = api.join(list(runs), out)
    if json:
        print_json({"run": str(joined.folder), "model": joined.model.name, "ensemble": joined.environment["ensemble"]})
        return
    say(f"joined {len(runs)} runs into {out}; next: relatum evaluate {shlex.quote(str(out))}")


def update(
    run: RunFolder,
    new_facts: Annotated[
        str, typer.Argument(metavar="NEWFACTS", help="A file or folder of facts; the run must know their relations.")
    ],
    out: RunOut = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Also fit known entities that occur in more new facts than old ones.")
    ] = False,
    json: Json = False,
) -> None:
    """Add new facts to a trained run in seconds: fit only the rows of new entities.

    The updated run goes to RUN-updated by default, next to RUN.
    """
    from relatum import api

    updated = api.update(run, new_facts, out, seed=seed, refit=refit)
    entry = updated.events[-1]
    if json:
        kept = {name: value for name, value in entry.items() if name not in ("event", "time")}
        print_json({"run": str(updated.folder), **kept})
        return
    print_table(f"{new_facts} folded into {run}", ("", "facts"), _facts(entry), ("facts",))
    heads = ("", "questions of", "before", "after")
    print_table("filtered by train and valid", heads, _ranks(entry), heads[2:])
    fitted = count(entry["new_entities"], "new entity", "new entities")
    if entry["refitted_entities"]:
        fitted += f" and {count(entry['refitted_entities'], 'known entity', 'known entities')}"
    say(f"{fitted} fitted in {duration(entry['seconds'])}; all other rows are as they were")
    say(f"written to {updated.folder}; next: relatum evaluate {shlex.quote(str(updated.folder))}")


def _facts(entry: dict[str, Any]) -> list[tuple[str, str]]:
    held_out = entry["added_valid"] + entry["added_test"]
    rows = [
        ("read", entry["facts"]),
        ("given more than once", entry["repeated"]),
        ("known already", entry["known"]),
        ("new", entry["added"]),
        ("of these with new entities", entry["added"] - held_out - entry["among_known_entities"]),
        ("among known entities", entry["among_known_entities"]),
        ("for valid and test", held_out),
    ]
    return [(name, number(value)) for name, value in rows]


def _ranks(entry: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return how old facts fare among more entities, and new ones before and after the fit."""
    rows = []
    if entry["valid_mrr_after"] is not None:
        questions = f"{number(entry['valid_facts'])} valid facts, after among more entities"
        rows.append(("MRR", questions, "valid_mrr_before", "valid_mrr_after"))
    if entry["own_questions"]:
        rows.append(("MRR", "new facts, before at the rows where the fit began", "own_mrr_start", "own_mrr"))
        rows.append(("mean rank", "", "own_mean_rank_start", "own_mean_rank"))
    return [(name, of, _shown(name, entry[before]), _shown(name, entry[after])) for name, of, before, after in rows]


def _shown(name: str, value: float) -> str:
    return f"{value:.4f}" if name == "MRR" else f"{value:.1f}"
