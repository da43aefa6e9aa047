"""`relatum run`: experiments, from their TOML files to their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.ask import Json
from relatum.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from relatum.runs.experiment import Planned

__all__ = ["run"]


def run(
    specs: Annotated[list[Path], typer.Argument(metavar="SPEC...", help="TOML files, such as experiments/fb-auto.toml.")],
    seeds: Annotated[str | None, typer.Option(help="Which seeds, such as 0,1,2; by default those of the file.")] = None,
    out: Annotated[Path, typer.Option(help="Where run directories are kept.")] = Path("runs"),
    results: Annotated[Path | None, typer.Option(help="Write NAME.json here, with the results of all seeds.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what there is to do.")] = False,
    json: Json = False,
) -> None:
    """Run what is missing of experiments, skip what is done, go on with what was cut short, and collect the results."""
    from relatum.errors import SettingError
    from relatum.runs.experiment import read_experiments
    from relatum.runs.results import collect, save_results

    chosen = None if seeds is None else _numbers(seeds)
    experiments = [one for path in specs for one in read_experiments(path, chosen)]  # all are read before any is run
    names = [experiment.name for experiment in experiments]
    if len(set(names)) < len(names):
        raise SettingError("two specs have one name, and so would their results")
    found: dict[str, Any] = {}
    for experiment in experiments:
        runs = list(experiment.runs(out))
        if plan:
            found[experiment.name] = {str(one.folder): one.state for one in runs}
            continue
        for one in runs:
            _carry_out(one)
        found[experiment.name] = collect([one.folder for one in runs])
        if results is not None:
            save_results(results / f"{experiment.name}.json", found[experiment.name])
    if json:
        print_json(found)
    elif plan:
        rows = [(name, folder, state) for name, states in found.items() for folder, state in states.items()]
        print_table("planned", ("experiment", "run", "state"), rows)
    else:
        _show(found)


def _carry_out(planned: Planned) -> None:
    """Train a run, or go on with it; nothing if it is done."""
    from relatum.cli.train import carry_out
    from relatum.runs import fit

    if planned.state == "done":
        return
    console(stderr=True).print(f"{planned.folder}: {planned.state}", markup=False, soft_wrap=True)
    if planned.state == "begun":
        carry_out(planned.folder, lambda watch: fit.resume(planned.folder, watch))
    else:
        carry_out(planned.folder, lambda watch: fit.fit(planned.spec, planned.folder, watch))


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
            said = "-" if valid is None else f"{valid['mrr']:.4f}"
            times = (str(one["best_epoch"]), f"{one['minutes_of_training']:.1f}")
            rows.append((name, str(one["seed"]), f"{test['mrr']:.4f}", *hits, said, *times))
        spread = whole["test_mrr"]["spread"]
        mean = f"{whole['test_mrr']['mean']:.4f}" + ("" if spread is None else f" ({spread:.4f})")
        rows.append((name, "mean", mean, "", "", "", "", "", ""))
    print_table("test facts, filtered; in brackets the spread over seeds", heads, rows, heads[1:])
