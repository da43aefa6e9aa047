"""`relatum run`, `relatum tables` and `relatum figures`: experiments, and tables and figures of their results."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import FolderOut, Json
from relatum.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from relatum.runs.experiment import Planned
    from relatum.runs.results import Collected

__all__ = ["Results", "figures", "read", "run", "tables"]


def run(
    specs: Annotated[list[Path], typer.Argument(metavar="SPEC...", help="TOML files, such as experiments/fb-auto.toml.")],
    seeds: Annotated[str | None, typer.Option(help="The seeds, such as 0,1,2; by default those in the file.")] = None,
    out: FolderOut = Path("runs"),
    results: Annotated[Path | None, typer.Option(help="Write NAME.json here, with the results of all seeds.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only show the state of each run.")] = False,
    json: Json = False,
) -> None:
    """Run experiments and collect their results: skip finished runs, resume interrupted ones, and train the rest."""
    from relatum import api
    from relatum.errors import SettingError
    from relatum.runs.experiment import read_experiments
    from relatum.runs.results import collect, save_results

    chosen = None if seeds is None else _numbers(seeds)
    experiments = [one for path in specs for one in read_experiments(path, chosen)]  # all are read before any is run
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise SettingError("two specs have the same name, so their results would overwrite each other")
    found: dict[str, Any] = {}
    for experiment in experiments:
        runs = list(experiment.runs(out))
        if plan:
            found[experiment.name] = {str(one.folder): one.state for one in runs}
            continue
        for one in runs:
            _carry_out(one)
        found[experiment.name] = collect([one.folder for one in runs])
        if experiment.ensemble:
            folder = experiment.ensemble_folder(runs)
            if not (folder / "config.json").exists():
                api.join([one.folder for one in runs], folder)
            found[f"{experiment.name}-ensemble"] = collect([folder])
        for name in (experiment.name, f"{experiment.name}-ensemble"):
            if results is not None and name in found:
                save_results(results / f"{name}.json", found[name])
    if json:
        print_json(found)
    elif plan:
        rows = [(name, folder, state) for name, states in found.items() for folder, state in states.items()]
        print_table("planned", ("experiment", "run", "state"), rows)
    else:
        _show(found)


def _carry_out(planned: Planned) -> None:
    """Train a run, or resume it; do nothing if it is done."""
    from relatum import api
    from relatum.cli.train import carry_out

    if planned.state == "done":
        return
    say(f"{planned.folder}: {planned.state}", stderr=True)
    if planned.state == "begun":
        carry_out(planned.folder, lambda: api.resume(planned.folder))
    else:
        carry_out(planned.folder, lambda: api.fit(planned.spec, planned.folder))


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
