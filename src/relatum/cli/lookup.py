"""`relatum schema`, `find` and `similar`: what can be asked, and about which entities."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Json, RunFolder, RunOrData, is_run
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import number

if TYPE_CHECKING:
    from relatum.api import Run
    from relatum.data.hypergraph import Split

Most = Annotated[int, typer.Option("-k", min=1, help="How many entities to show.")]


def schema(source: RunOrData, json: Json = False) -> None:
    """Show every relation: its columns, number of facts, an example, and a question to paste."""
    from relatum.runs.lookup import describe_relations

    found = describe_relations(_opened(source))
    target = source if is_run(source) else "RUN"
    commands = [None if one.question is None else _command("complete", target, one.question) for one in found]
    if json:
        relations = [{**one.to_dict(), "command": command} for one, command in zip(found, commands, strict=True)]
        print_json({"source": source, "relations": relations})
        return
    rows = [
        (one.name, "; ".join(map(str, one.columns)), number(one.facts), "; ".join(one.example or ("-",))) for one in found
    ]
    print_table(f"{source}: relations", ("relation", "columns", "facts", "example"), rows, ("facts",), drop=("example",))
    if any(commands):
        say("Questions to ask" + ("" if target == source else " of a run that was trained on this data") + ":")
    for command in filter(None, commands):
        say(f"  {command}")


def find(
    source: RunOrData,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A part of a name, in any case.")],
    k: Most = 10,
    json: Json = False,
) -> None:
    """Find entities by a part of their name, and show the columns that contain them."""
    from relatum.runs.lookup import find_entities

    found = find_entities(_opened(source), text, k)
    if json:
        print_json({"source": source, "text": text, "entities": [one.to_dict() for one in found]})
        return
    if not found:
        say(f"no entity whose name contains {text!r}, and none that looks like it")
        return
    rows = []
    for one in found:
        columns = ", ".join(f"{at.relation}.{at.column} ({at.facts:,})" for at in one.columns)
        rows.append((one.name, one.match, number(one.facts), columns))
    print_table(f"{source}: {text}", ("entity", "match", "facts", "columns (facts)"), rows, ("facts",), drop=("match",))


def similar(
    run: RunFolder,
    entity: Annotated[
        str, typer.Argument(metavar="ENTITY", help="An entity of the run: items:tea, or tea if no other type has one.")
    ],
    k: Most = 10,
    json: Json = False,
) -> None:
    """Show the entities whose embeddings are most similar to that of an entity."""
    from relatum.api import Run
    from relatum.runs.lookup import similar_entities
    from relatum.runs.shown_values import beside

    found = similar_entities(Run.load(run), entity, k)
    if json:
        print_json({"run": str(run), "entity": entity, "similar": [one.to_dict() for one in found]})
        return
    typed = any(one.entity_type is not None for one in found)
    heads = ["", "entity", "similarity"] + (["entity type"] if typed else [])
    rows = []
    for rank, one in enumerate(found, start=1):
        name = beside(one.name.removeprefix(f"{one.entity_type}:"), one.interval)
        cells = (str(rank), name, f"{one.similarity:.3f}", one.entity_type or "-")
        rows.append(cells[: len(heads)])
    print_table(f"most similar to {entity}", heads, rows, ("similarity",), drop=("entity type",))


def _opened(source: str) -> Split | Run:
    """Return the run in a directory, or else the dataset of that name or path."""
    from relatum.api import Run
    from relatum.datasets.load import load

    return Run.load(source) if is_run(source) else load(source)


def _command(verb: str, *arguments: str) -> str:
    """Return a command as a shell takes it."""
    options_end = ["--"] if any(one.startswith("-") for one in arguments) else []
    return shlex.join(["relatum", verb, *options_end, *arguments])
