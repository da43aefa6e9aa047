"""`relatum run`, `relatum tables` and `relatum figures`: experiments, and tables and figures of their results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import FolderOut, Json
from relatum.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from relatum.cli.experiment_tasks import ExperimentTasks
    from relatum.runs.results import Collected
    from relatum.runs.run_claims import Claims, Holder

__all__ = ["Results", "figures", "read", "run", "tables"]


def run(
    specs: Annotated[list[Path], typer.Argument(metavar="SPEC...", help="TOML files, such as experiments/fb-auto.toml.")],
    seeds: Annotated[str | None, typer.Option(help="The seeds, such as 0,1,2; by default those in the file.")] = None,
    out: FolderOut = Path("runs"),
    results: Annotated[Path | None, typer.Option(help="Write NAME.json here, with the results of all seeds.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the state of each run.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return while other processes are still training.")] = False,
    json: Json = False,
) -> None:
    """Run experiments and collect their results: skip finished runs, resume interrupted ones, and train the rest.

    Processes that run the same command at the same time share the runs, on one machine or on several that share directories.
    """
    from relatum.cli.experiment_tasks import ExperimentTasks
    from relatum.errors import SettingError
    from relatum.runs.experiment import read_experiments
    from relatum.runs.run_claims import CLAIMS, Claims
    from relatum.runs.run_list import work_through
    from relatum.workers.environment import is_worker

    if is_worker():
        raise SettingError("relatum run: not with torchrun; start it in each process by itself, and they share the runs")
    chosen = None if seeds is None else _numbers(seeds)
    experiments = [one for path in specs for one in read_experiments(path, chosen)]  # all are read before any is run
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise SettingError("two specs have the same name, so their results would overwrite each other")
    lists = [ExperimentTasks(experiment, out, results) for experiment in experiments]
    claims = Claims(out / CLAIMS)
    if plan:
        _show_plan(lists, claims, json=json)
        return
    tasks = [task for one in lists for task in one.tasks()]
    all_done = work_through(tasks, claims, lambda line: say(line, stderr=True), wait=not no_wait)
    found = {name: whole for one in lists for name, whole in one.found.items()}
    if json:
        running = {one.experiment.name: {"running": _plain(one.holders(claims))} for one in lists if not one.found}
        print_json({**found, **running})
    elif found:
        _show(found)
    if not all_done:
        waiting = ", ".join(one.experiment.name for one in lists if not one.found)
        say(f"not finished: {waiting}; other processes have the rest: repeat the command to collect it", stderr=True)


def _show_plan(lists: list[ExperimentTasks], claims: Claims, *, json: bool) -> None:
    """Show the state of each run, and which process is at it."""
    if json:
        print_json({one.experiment.name: one.states(claims) for one in lists})
        return
    rows = []
    for one in lists:
        holders = one.holders(claims)
        for folder, state in one.states(claims).items():
            rows.append((one.experiment.name, folder, f"{state}, by {holders[folder]}" if folder in holders else state))
    print_table("planned", ("experiment", "run", "state"), rows)


def _plain(holders: dict[str, Holder]) -> dict[str, Any]:
    return {folder: holder.to_json() for folder, holder in holders.items()}


def _numbers(text: str) -> list[int]:
    from relatum.errors import SettingError

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise SettingError(f"--seeds: whole numbers with commas between them, such as 0,1,2, not {text!r}") from None


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


Results = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RESULTS]...",
        help="Folders of results that `relatum run --results` has written, or run directories; by default `results`.",
    ),
]


class Format(StrEnum):
    """How tables are printed."""

    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"


def tables(
    results: Results = None,
    form: Annotated[
        Format, typer.Option("--format", help="Print for a terminal, or as Markdown or LaTeX.")
    ] = Format.terminal,
    fill: Annotated[Path | None, typer.Option(help="Put the tables into this Markdown page, between its marks.")] = None,
    json: Json = False,
) -> None:
    """Print the paper's tables with our values beside them, seeds, ties and time, and check the paper's claims."""
    from relatum.errors import DataError
    from relatum.paper.claims import check_claims, claims_table
    from relatum.paper.tables import fill_page, paper_tables

    collected = read(results)
    found, claims = paper_tables(collected), check_claims(collected.results)
    if not found:
        raise DataError("no results for any of the paper's tables; make some with: relatum run SPEC --results results")
    whole = [*found, claims_table(claims)]
    if fill is not None:
        fill_page(fill, whole)
    if json:
        print_json({"tables": [table.to_json() for table in found], "claims": [claim.to_json() for claim in claims]})
    elif fill is not None:
        say(f"{len(whole)} tables written into {fill}")
    else:
        for table in whole:
            if form is Format.terminal:
                print_table(table.title, table.heads, table.rows, table.numbers)
            else:
                text = table.markdown() if form is Format.markdown else table.latex()
                say(text)


def read(results: list[Path] | None) -> Collected:
    """Return what is in folders of results; runs that have not ended are named, and nothing at all is an error."""
    from relatum.errors import DataError
    from relatum.runs.results import read_results

    folders = results or [Path("results")]
    collected = read_results(*folders)
    for folder in collected.unfinished:
        say(f"{folder}: left out: its training has not ended", stderr=True)
    if not collected.results and not collected.datasets:
        there = ", ".join(map(str, folders))
        raise DataError(f"{there}: no results; make some with: relatum run SPEC --results {folders[0]}")
    return collected


def figures(
    results: Results = None,
    out: FolderOut = Path("figures"),
    json: Json = False,
) -> None:
    """Draw MRR by window size, learning curves, MRR by arity and relation size, and time to quality, for each dataset."""
    from relatum.errors import DataError
    from relatum.paper.figures import make_figures

    drawn = make_figures(read(results).results, out)
    if not any(one.files for one in drawn):
        why = "; ".join(reason for one in drawn for reason in one.left_out) or "there are no results"
        raise DataError(f"no figure can be drawn: {why}")
    if json:
        print_json({"figures": [one.to_json() for one in drawn]})
        return
    for one in drawn:
        reasons = ", ".join(one.left_out)
        if one.files:
            suffixes = " and ".join(file.suffix for file in one.files)
            line = f"{out / one.name}{suffixes}" + (f"; left out: {reasons}" if reasons else "")
        else:
            line = f"not made: {one.name} ({reasons})"
        say(line)
