"""`relatum update`: new facts and new entities folded into a trained run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from relatum.cli.ask import Json, RunFolder
from relatum.cli.output import console, print_json, print_table
from relatum.formatting import count, duration, number

__all__ = ["update"]


def update(
    run: RunFolder,
    new_facts: Annotated[
        str, typer.Argument(metavar="NEWFACTS", help="A file or folder of facts; the run must know their relations.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The run directory to make; by default RUN-updated, beside RUN.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything that is drawn.")] = 0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit also known entities that stand in more new facts than old ones.")
    ] = False,
    json: Json = False,
) -> None:
    """Fold new facts into a trained run: rows of new entities are fitted in seconds, all others stay as they are."""
    from relatum import api

    made = api.update(run, new_facts, out, seed=seed, refit=refit)
    told = made.events[-1]
    if json:
        kept = {name: value for name, value in told.items() if name not in ("event", "time")}
        print_json({"run": str(made.folder), **kept})
        return
    print_table(f"{new_facts} folded into {run}", ("", "facts"), _facts(told), ("facts",))
    heads = ("", "questions of", "before", "after")
    print_table("filtered by train and valid", heads, _ranks(told), heads[2:])
    fitted = count(told["new_entities"], "new entity", "new entities")
    if told["refitted_entities"]:
        fitted += f" and {count(told['refitted_entities'], 'known entity', 'known entities')}"
    console().print(f"{fitted} fitted in {duration(told['seconds'])}; all other rows are as they were", soft_wrap=True)
    console().print(f"written to {made.folder}; ask it with: relatum evaluate {made.folder}", markup=False, soft_wrap=True)


def _facts(told: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("read", told["facts"]),
        ("given more than once", told["repeated"]),
        ("known already", told["known"]),
        ("new", told["added"]),
        (
            "of these with new entities",
            told["added"] - told["added_valid"] - told["added_test"] - told["among_known_entities"],
        ),
        ("among known entities", told["among_known_entities"]),
        ("for valid and test", told["added_valid"] + told["added_test"]),
    ]
    return [(name, number(value)) for name, value in rows]


def _ranks(told: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return how old facts fare among more entities, and new ones before and after the fit."""
    rows = []
    if told["valid_mrr_after"] is not None:
        asked = f"{number(told['valid_facts'])} valid facts, after among more entities"
        rows.append(("MRR", asked, "valid_mrr_before", "valid_mrr_after"))
    if told["own_questions"]:
        rows.append(("MRR", "new facts, before at the rows where the fit began", "own_mrr_start", "own_mrr"))
        rows.append(("mean rank", "", "own_mean_rank_start", "own_mean_rank"))
    return [(name, of, _shown(name, told[before]), _shown(name, told[after])) for name, of, before, after in rows]


def _shown(name: str, value: float) -> str:
    return f"{value:.4f}" if name == "MRR" else f"{value:.1f}"
