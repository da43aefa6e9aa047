"""`relatum synth`: make a hypergraph whose relations are derived by relational algebra."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Changes, Json, NewFolder
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import number, share

if TYPE_CHECKING:
    from relatum.synth import SynthDataset

__all__ = ["synth"]


def synth(
    out: NewFolder,
    preset: Annotated[str, typer.Option(help="Settings to begin from: rel-er or small (trains in seconds).")] = "rel-er",
    change: Changes = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 0,
    json: Json = False,
) -> None:
    """Make a synthetic hypergraph: random relations and others derived from them, with expressions in derivations.json.

    Settings for --set are such as derived=50 or tuples=10000.
    """
    from relatum.files import require_empty
    from relatum.progress import progress
    from relatum.synth import find_preset, save_synth, synthesize

    settings = find_preset(preset).changed(change or [])
    require_empty(out)  # before the work, and again when it is written
    with progress("making relations", settings.relations + settings.derived) as advance:
        made = synthesize(settings, seed, advance)
    save_synth(made, out)
    if json:
        print_json(_as_json(made, out))
    else:
        _print_tables(made, out)


def _as_json(made: SynthDataset, out: Path) -> dict[str, object]:
    from relatum.data.quality import describe

    cells = {part: made.counts(part) for part in made.split.parts}
    relations = Counter((origin.operation, origin.depth) for origin in made.derivations.values())
    described = describe(made.split).to_json()
    return {
        "out": str(out),
        "seed": made.seed,
        **{name: described[name] for name in ("entities", "relations", "train", "valid", "test", "arity")},
        "by_operation_and_depth": [
            {
                "operation": operation,
                "depth": depth,
                "relations": relations[operation, depth],
                **{part: counts[operation, depth] for part, counts in cells.items()},
            }
            for operation, depth in cells["test"]
        ],
        "ground_truth": len(made.truth),
        "redrawn": dict(made.redrawn),
        "given_up": dict(made.given_up),
        "settings": made.settings.to_dict(),
    }


def _print_tables(made: SynthDataset, out: Path) -> None:
    split = made.split
    sizes = ", ".join(f"{part} {number(len(graph))}" for part, graph in split.parts.items())
    names = f"{number(len(split.entities))} entities, {number(len(split.schema))} relations"
    say(f"wrote {out}: {names}; {sizes}; kept of {number(len(made.truth))}")
    _print_operations(made)
    _print_depths(made)
    _print_arities(made)
    for label, counts in (("drawn again", made.redrawn), ("given up", made.given_up)):
        reasons = ", ".join(f"{reason} {number(count)}" for reason, count in counts.items()) or "nothing"
        say(f"{label}: {reasons}")


def _print_operations(made: SynthDataset) -> None:
    """Print relations and tuples by operation; the last row is all of them."""
    relations = Counter(origin.operation for origin in made.derivations.values())
    tuples = {part: _by_operation(made, part) for part in made.split.parts}
    rows = [
        (operation, number(relations[operation]), *(number(counts[operation]) for counts in tuples.values()))
        for operation in tuples["test"]
    ]
    totals = (number(relations.total()), *(number(counts.total()) for counts in tuples.values()))
    heads = ("relations", *tuples)
    print_table("Relations and tuples by operation", ("operation", *heads), [*rows, ("all", *totals)], heads)


def _by_operation(made: SynthDataset, part: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for (operation, _), count in made.counts(part).items():
        found[operation] += count
    return found


def _print_depths(made: SynthDataset) -> None:
    cells = made.counts("test")
    depths = sorted({depth for _, depth in cells})
    heads = [str(depth) for depth in depths]
    rows = [
        (operation, *(number(cells[operation, depth]) if (operation, depth) in cells else "-" for depth in depths))
        for operation in dict.fromkeys(operation for operation, _ in cells)
    ]
    print_table("Test tuples by operation and depth", ("operation", *heads), rows, heads)


def _print_arities(made: SynthDataset) -> None:
    from relatum.data.quality import describe

    counts = describe(made.split).arity
    total = sum(counts.values())
    relations = Counter(relation.arity for relation in made.split.schema)
    rows = [(str(arity), number(relations[arity]), number(count), share(count, total)) for arity, count in counts.items()]
    heads = ("arity", "relations", "tuples", "share")
    print_table("Arities in all parts", heads, rows, heads)
