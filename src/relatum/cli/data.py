"""`relatum data`: list, describe, check and convert datasets."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Data, Json
from relatum.cli.output import print_json, print_table, say
from relatum.formatting import number, percent, share

if TYPE_CHECKING:
    from relatum.data.hypergraph import Split
    from relatum.data.leakage import Leakage
    from relatum.data.near_names import NearNames
    from relatum.data.quality import DataQuality
    from relatum.data.schema import Schema
    from relatum.datasets.text_lines import Layout

_LEAKS = 10  # that are shown

app = typer.Typer(help="List, describe, check and convert datasets.", no_args_is_help=True)


@dataclasses.dataclass(frozen=True)
class Reading:
    """How files are read: the options that all verbs have that read a dataset."""

    relation_column: Annotated[
        list[str] | None,
        typer.Option(metavar="[PART:]N", help="The column, from 0, that contains the relation; for one part, e.g. test:1."),
    ] = None
    ignore_column: Annotated[
        list[str] | None, typer.Option(metavar="[PART:]N", help="A column to ignore; can be repeated.")
    ] = None
    comments: Annotated[bool, typer.Option("--comments", help="Ignore lines that start with '#'.")] = False
    blank_lines: Annotated[bool, typer.Option("--blank-lines", help="Ignore blank lines.")] = False
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip lines that are not facts, and list them.")] = False
    statements: Annotated[
        str | None, typer.Option("--from", metavar="FORM", help="The files hold statements: wikipeople, wd50k or wikidata.")
    ] = None
    min_count: Annotated[
        int,
        typer.Option(
            "--min-count",
            metavar="N",
            help="Drop qualifiers of statements until each relation with qualifiers has N training facts; this loses them.",
        ),
    ] = 0

    def load(self, source: str) -> Split:
        """Return the dataset, so read."""
        from relatum.datasets.load import load

        layouts = _layouts(self.relation_column or [], self.ignore_column or [], self.comments, self.blank_lines)
        return load(source, layouts=layouts, skip_bad=self.skip_bad, statements=self.statements, min_count=self.min_count)


def _reading(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the fields of its argument `reading` as options after its own."""
    own = inspect.signature(verb, eval_str=True).parameters
    options = inspect.signature(Reading, eval_str=True).parameters

    @functools.wraps(verb)
    def command(**given: Any) -> None:
        verb(reading=Reading(**{name: given.pop(name) for name in options}), **given)

    listed = [*(one for name, one in own.items() if name != "reading"), *options.values()]
    command.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in listed}
    return command


@app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the registered datasets."""
    from relatum.datasets.registry import DATASETS

    if json:
        print_json({name: _registered(name) for name in DATASETS})
        return
    rows = [(name, *map(number, dataset.counts), dataset.about, dataset.licence) for name, dataset in DATASETS.items()]
    counts = ("entities", "relations", "train", "valid", "test")
    print_table(
        "Registered datasets", ("name", *counts, "about", "licence"), rows, counts, drop=("licence", "valid", "test")
    )


@app.command()
@_reading
def info(source: Data, reading: Reading, json: Json = False) -> None:
    """Show the size of a dataset."""
    from relatum.data.quality import RARE, describe

    split = reading.load(source)
    description = describe(split)
    if json:
        found = {"checksums": dict(split.checksums), **_statement_facts(split), **_registered(split.source)}
        print_json({**description.to_json(), **found})
        return
    title = f"{split.source}: {number(description.entities)} entities, {number(description.relations)} relations"
    heads = ("arity", "relations", "train", "valid", "test", "all")
    print_table(title, heads, _arity_rows(split), heads)
    rare = f"{number(description.rare_relations)} of {number(description.relations)}"
    say(f"rare relations, with fewer than {RARE} training facts: {rare}")
    if properties := _main_properties(split.schema):
        say(f"relations of statements: {number(len(properties))}, of {number(len(set(properties)))} main properties")
    _print_statement_counts(split.statement_counts)
    for label, value in _registered(split.source).items():
        for line in value if isinstance(value, list) else [value]:
            say(f"{label}: {line}")
    _print_skipped(split.skipped)


@app.command()
@_reading
def check(source: Data, reading: Reading, json: Json = False) -> None:
    """Check for problems that spoil training or results: duplicates, overlaps, unseen names, near names, leakage."""
    from relatum.data.quality import check_quality

    split = reading.load(source)
    quality = check_quality(split)
    if json:
        print_json({"origin": split.source, **quality.to_json()})
        return
    heads = ("finding", "where", "count", "share")
    print_table(f"Data quality of {split.source}", heads, _quality_rows(split, quality), heads[2:])
    close = sum(count for count, _ in quality.close.values())
    rows = [
        (str(arity), number(count), number(total), share(count, total)) for arity, (count, total) in quality.close.items()
    ]
    rows.append(("all", number(close), number(len(split.test)), share(close, len(split.test))))
    heads = ("arity", "close", "test", "share")
    print_table("Test facts that differ from one of train or valid in a single position", heads, rows, heads)
    _print_near_names(quality.near_names)
    _print_leakage(quality.leakage)
    _print_skipped(quality.skipped)


@app.command()
@_reading
def convert(
    source: Data,
    reading: Reading,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory to create; it must not exist yet.")],
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress the files.")] = False,
    as_statements: Annotated[
        bool, typer.Option("--statements", help="Write the statements that facts came from, as WikiPeople has them.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a dataset as plain files: relation first, tab-separated, sorted; every line is kept. Or as statements."""
    from relatum.datasets.load import save

    split = reading.load(source)
    save(split, out, compress=gzip, statements=as_statements)
    if json:
        counts = {part: len(graph) for part, graph in split.parts.items()}
        written = {"out": str(out), "relations": len(split.schema), **counts, **_statement_facts(split)}
        print_json({**written, "skipped": list(split.skipped)})
        return
    sizes = ", ".join(f"{part} {number(len(graph))}" for part, graph in split.parts.items())
    say(f"wrote {out}: {sizes}")
    _print_statement_counts(split.statement_counts)
    _print_skipped(split.skipped)


def _layouts(relation: list[str], ignore: list[str], comments: bool, blank_lines: bool) -> dict[str, Layout] | None:
    """Return the layout of each part, or None if no option describes it."""
    from relatum.datasets.registry import PARTS
    from relatum.datasets.text_lines import Layout

    if not (relation or ignore or comments or blank_lines):
        return None
    layouts = {part: Layout(comments=comments, blank_lines=blank_lines) for part in PARTS}
    # Ignored columns first, and the relation's column set with them: a layout is checked whenever it is made.
    ignored: dict[str, tuple[int, ...]] = dict.fromkeys(PARTS, ())
    for part, column in _columns("--ignore-column", ignore):
        ignored[part] += (column,)
    chosen = dict.fromkeys(PARTS, 0)
    chosen.update(_columns("--relation-column", relation))
    return {
        part: dataclasses.replace(layout, relation_column=chosen[part], ignored_columns=ignored[part])
        for part, layout in layouts.items()
    }


def _columns(option: str, values: list[str]) -> Iterator[tuple[str, int]]:
    """Yield (part, column) for each of `N`, which speaks of every part, and `PART:N`."""
    from relatum.datasets.registry import PARTS

    for value in values:
        part, _, column = value.rpartition(":")
        if not column.isdecimal() or part not in ("", *PARTS):
            raise typer.BadParameter(f"{option} {value!r}: give a column such as 1, or one of a part such as test:1")
        for one in (part,) if part else PARTS:
            yield one, int(column)


def _registered(source: str) -> dict[str, str | list[str]]:
    from relatum.datasets.registry import DATASETS

    dataset = DATASETS.get(source)
    if dataset is None:
        return {}
    return {"licence": dataset.licence, "cite": dataset.cite, "home": dataset.home, "quirks": list(dataset.quirks)}


def _main_properties(schema: Schema) -> list[str]:
    """Return the main property of each relation that came from statements."""
    from relatum.statements.statement import main_property

    found = (main_property(relation.name, relation.roles) for relation in schema)
    return [name for name in found if name is not None]


def _statement_facts(split: Split) -> dict[str, object]:
    """Return what is known of the statements that facts came from, as plain data; nothing where there were none."""
    properties = _main_properties(split.schema)
    if not properties:
        return {}
    sizes = {"statement_relations": len(properties), "main_properties": len(set(properties))}
    return {**sizes, **({"statements": dict(split.statement_counts)} if split.statement_counts else {})}


def _print_statement_counts(counts: Mapping[str, int]) -> None:
    if not counts:
        return
    say(f"statements: {number(counts['statements'])}, each a fact; {number(counts['repeated'])} repeat another and are kept")
    if counts["deprecated"]:
        say(f"left out: {number(counts['deprecated'])} deprecated statements")
    if counts["folded"]:
        lost = number(counts["dropped_qualifiers"])
        say(f"folded: {number(counts['folded'])} statements into more frequent relations, without {lost} qualifiers")


def _arity_rows(split: Split) -> list[list[str]]:
    parts = split.parts.values()
    rows = []
    for arity in sorted(split.schema.arities):
        relations = sum(relation.arity == arity for relation in split.schema)
        counts = [len(graph.blocks.get(arity, ())) for graph in parts]
        rows.append([str(arity), *map(number, (relations, *counts, sum(counts)))])
    totals = [len(graph) for graph in parts]
    return [*rows, ["all", *map(number, (len(split.schema), *totals, sum(totals)))]]


def _quality_rows(split: Split, quality: DataQuality) -> Iterator[tuple[str, str, str, str]]:
    sizes = {part: len(graph) for part, graph in split.parts.items()}
    entities, relations = dict.fromkeys(sizes, len(split.entities)), dict.fromkeys(sizes, len(split.schema))
    for finding, counts, wholes in (
        ("repeated facts", quality.duplicates, sizes),
        ("facts in both", quality.overlap, sizes),
        ("entities not in train", quality.unseen_entities, entities),
        ("relations not in train", quality.unseen_relations, relations),
        ("facts with a name not in train", quality.unseen_facts, sizes),
        ("entities that occur once", {"train": quality.degree_one}, entities),
    ):
        for part, count in counts.items():
            yield finding, part, number(count), share(count, wholes[part.split("/")[-1]])


def _print_near_names(near_names: Mapping[str, NearNames]) -> None:
    """Print how many groups of names differ only in what people overlook, by kind of difference, with examples."""
    from relatum.data.near_names import shown_together

    rows = []
    for what, near in near_names.items():
        for kind, groups in near.examples.items():
            counts = [what, kind, number(near.kinds[kind])]
            rows += [(*(counts if not at else ("", "", "")), shown_together(group)) for at, group in enumerate(groups)]
    if rows:
        heads = ("names", "differ by", "groups", "such as")
        print_table("Names that differ only in what is easily overlooked", heads, rows, ("groups",))
    else:
        say("no two names differ only by case, spaces, normal form, look-alike or invisible characters, or leading zeros")


def _print_leakage(found: Leakage) -> None:
    title = "Test facts that follow from training facts by permuting or dropping columns"
    title += f": {number(found.facts)} of {number(found.test)}, {share(found.facts, found.test)}"
    rows = [
        (one.relation.name, one.body, *map(number, (one.found, one.test)), share(one.found, one.test), percent(one.expected))
        for one in found.leaks[:_LEAKS]
    ]
    numbers = ("found", "test", "share", "by chance")
    print_table(title, ("relation", "follows from", *numbers), rows, numbers, drop=("test", "found"))
    if len(found.leaks) > _LEAKS:
        say(f"... and {number(len(found.leaks) - _LEAKS)} more; --json lists all")
    if not found.complete:
        say("not every choice of columns was tried: there are too many")


def _print_skipped(skipped: tuple[str, ...]) -> None:
    for line in skipped[:20]:
        say(f"skipped {line}")
    if len(skipped) > 20:
        say(f"... and {number(len(skipped) - 20)} more lines")
