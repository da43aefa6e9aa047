"""`relatum synth` and `queries`: hypergraphs whose relations are derived by relational algebra, and queries, both drawn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from relatum.cli.options import Changes, Data, Json, NewFolder
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import count as counted
from relatum.formatting import number, share

if TYPE_CHECKING:
    from relatum.synth import SynthDataset


def synth(
    out: NewFolder,
    preset: Annotated[str, typer.Option(help="Settings to start from: rel-er or small (trains in seconds).")] = "rel-er",
    change: Changes = None,
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 0,
    json: Json = False,
) -> None:
    """Make a synthetic hypergraph: random relations and others derived from them, with expressions in derivations.json.

    For example, --set derived=50 or --set tuples=10000 changes a setting.
    """
    from relatum.files import require_empty
    from relatum.progress import progress
    from relatum.synth import find_preset, save_synth, synthesize

    settings = find_preset(preset).changed(change or [])
    require_empty(out)  # before the work, and again when it is written
    with progress("making relations", settings.relations + settings.derived) as advance:
        dataset = synthesize(settings, seed, advance)
    save_synth(dataset, out)
    if json:
        print_json(_as_json(dataset, out))
    else:
        _print_tables(dataset, out)


def _as_json(dataset: SynthDataset, out: Path) -> dict[str, object]:
    from relatum.data.quality import describe

    counts = _counts(dataset)
    described = describe(dataset.split).to_json()
    return {
        "out": str(out),
        "seed": dataset.seed,
        **{name: described[name] for name in ("entities", "relations", "train", "valid", "test", "arity")},
        "by_operation_and_depth": [
            {"operation": operation, "depth": depth, **{name: found[operation, depth] for name, found in counts.items()}}
            for operation, depth in counts["test"]
        ],
        "ground_truth": len(dataset.truth),
        "redrawn": dict(dataset.redrawn),
        "given_up": dict(dataset.given_up),
        "settings": dataset.settings.to_dict(),
    }


def _counts(dataset: SynthDataset) -> dict[str, dict[tuple[str, int], int]]:
    """Return how many relations there are, and tuples in each part, by operation and depth."""
    relations = Counter((derivation.operation, derivation.depth) for derivation in dataset.derivations.values())
    return {"relations": relations, **{part: dataset.counts(part) for part in dataset.split.parts}}


def _print_tables(dataset: SynthDataset, out: Path) -> None:
    from relatum.data.quality import describe

    split, counts = dataset.split, _counts(dataset)
    sizes = ", ".join(f"{part} {number(len(graph))}" for part, graph in split.parts.items())
    names = f"{number(len(split.entities))} entities, {number(len(split.schema))} relations"
    say(f"wrote {out}: {names}; {sizes}; kept of {number(len(dataset.truth))}")
    tests = counts["test"]
    operations, depths = list(dict.fromkeys(name for name, _ in tests)), sorted({depth for _, depth in tests})
    rows = [
        (name, *(number(sum(found.get((name, depth), 0) for depth in depths)) for found in counts.values()))
        for name in operations
    ]
    rows.append(("all", *(number(sum(found.values())) for found in counts.values())))
    print_table("Relations and tuples by operation", ("operation", *counts), rows, counts)
    heads = [str(depth) for depth in depths]
    rows = [
        (name, *(number(tests[name, depth]) if (name, depth) in tests else "-" for depth in depths)) for name in operations
    ]
    print_table("Test tuples by operation and depth", ("operation", *heads), rows, heads)
    arities, relations = describe(split).arity, Counter(relation.arity for relation in split.schema)
    heads = ["arity", "relations", "tuples", "share"]
    rows = [
        (str(arity), number(relations[arity]), number(tuples), share(tuples, sum(arities.values())))
        for arity, tuples in arities.items()
    ]
    print_table("Arities in all parts", heads, rows, heads)
    for label, reasons in (("drawn again", dataset.redrawn), ("given up", dataset.given_up)):
        listed = ", ".join(f"{reason} {number(times)}" for reason, times in reasons.items()) or "nothing"
        say(f"{label}: {listed}")


def queries(
    source: Data,
    out: NewFolder,
    part: Annotated[str, typer.Option(help="What is held out: valid or test; the parts before it are known.")] = "test",
    count: Annotated[int, typer.Option(min=1, help="How many queries of each shape.")] = 200,
    shape: Annotated[list[str] | None, typer.Option(help="Only queries of this shape; can be repeated.")] = None,
    most_hard: Annotated[int, typer.Option(min=1, help="Drop queries with more hard answers than this.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 0,
    json: Json = False,
) -> None:
    """Draw queries from a dataset, with exact answers: easy, hard (need a held-out fact), full-hard (need nothing else)."""
    from relatum.datasets.load import load
    from relatum.files import require_empty
    from relatum.progress import progress
    from relatum.querysets import sample_queries, save_queries
    from relatum.querysets.query_set import find_shapes

    wanted = [one.name for one in find_shapes(shape or [])]
    require_empty(out)  # before the work, and again when it is written
    split = load(source)
    with progress("drawing queries", count * len(wanted)) as advance:
        found = sample_queries(split, part, count=count, seed=seed, shapes=wanted, most_hard=most_hard, advance=advance)
    save_queries(found, out)
    if json:
        shapes = [vars(counts) for counts in found.counts()]
        plain = {"out": str(out), "data": found.data, "part": part, "seed": seed, "queries": len(found), "shapes": shapes}
        print_json(plain)
        return
    counts = found.counts()
    rows = [
        (one.shape, *map(number, (one.queries, one.with_full_hard, one.easy, one.hard, one.full_hard)))
        for one in counts
        if one.queries
    ]
    heads = ("queries", "with full-hard", "easy answers", "hard answers", "full-hard answers")
    print_table("Queries by shape", ("shape", *heads), rows, heads)
    if missing := [one.shape for one in counts if not one.queries]:
        say(f"none of shape {', '.join(missing)}: the facts give none")
    if few := [f"{one.shape} {one.queries}" for one in counts if 0 < one.queries < found.count]:
        say(f"fewer than {number(found.count)} of shape: {', '.join(few)}")
    say(f"wrote {out}: {counted(len(found), 'query', 'queries')} over {found.data}, {part} held out, seed {seed}")
