"""`relatum update`: new facts and new entities folded into a trained run."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from relatum.cli.options import Json, RunFolder, RunOut
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import count, duration, number


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
    rows = [
        ("read", entry["facts"]),
        ("given more than once", entry["repeated"]),
        ("known already", entry["known"]),
        ("new", entry["added"]),
        (
            "of these with new entities",
            entry["added"] - entry["added_valid"] - entry["added_test"] - entry["among_known_entities"],
        ),
        ("among known entities", entry["among_known_entities"]),
        ("for valid and test", entry["added_valid"] + entry["added_test"]),
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
