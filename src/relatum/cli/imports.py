"""`relatum import`: make facts from tables in files and databases."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import Json, NewFolder
from relatum.cli.output import print_json, print_table, say
from relatum.errors import SettingError
from relatum.formatting import count, number

if TYPE_CHECKING:
    from relatum.tables import Imported

Many = list[str] | None

_AUTO = "auto"
_OFFERS = 8  # that are shown


def import_tables(
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="CSV, TSV, Excel, Parquet, JSON lines, SQLite or DuckDB files; a postgresql:// or mysql:// URL.",
        ),
    ],
    out: NewFolder,
    table: Annotated[Many, typer.Option(metavar="TABLE", help="Import only this table; can be repeated.")] = None,
    columns: Annotated[
        Many, typer.Option(metavar="TABLE=A,B,...", help="Import exactly these columns, in this order.")
    ] = None,
    relation: Annotated[Many, typer.Option(metavar="TABLE=NAME", help="The name of a table's relation.")] = None,
    sql: Annotated[
        Many, typer.Option(metavar="NAME=SELECT...", help="Import what a query gives as one more table; can be repeated.")
    ] = None,
    keep: Annotated[Many, typer.Option(metavar="COLUMN", help="Import a column that would be left out.")] = None,
    drop: Annotated[Many, typer.Option(metavar="COLUMN", help="Leave a column out.")] = None,
    link: Annotated[
        Many,
        typer.Option(
            metavar="COLUMN=WHAT",
            help="Whose entities a column contains: TABLE.COLUMN, TABLE, or a new name; auto: what is found.",
        ),
    ] = None,
    shape: Annotated[
        Many,
        typer.Option(metavar="TABLE=entity|fact|both", help="What the rows of a table become; by default what keys say."),
    ] = None,
    bins: Annotated[
        Many, typer.Option(metavar="[COLUMN=]N", help="Group numbers and dates with many values into N quantiles.")
    ] = None,
    null: Annotated[str, typer.Option(metavar="skip|value", help="NULL is a gap that can be filled, or a value.")] = "skip",
    null_text: Annotated[
        Many, typer.Option(metavar="TEXT,...", help="Texts that stand for NULL, such as NA; can be repeated.")
    ] = None,
    views: Annotated[bool, typer.Option("--views", help="Import the views of databases, too.")] = False,
    keep_ids: Annotated[bool, typer.Option("--keep-ids", help="Import unique columns, such as surrogate keys.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Name entities by their value alone, whatever the column.")] = False,
    relation_key: Annotated[str, typer.Option(metavar="KEY", help="The JSON key that names the relation.")] = "relation",
    no_header: Annotated[
        bool, typer.Option("--no-header", help="Files and sheets have no header: columns are column_1, column_2, ...")
    ] = False,
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="The delimiter of text files; also tab, semicolon, pipe, space.")
    ] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="The encoding of text files, such as latin-1.")] = "utf-8",
    split: Annotated[
        str, typer.Option(metavar="stratified|random", help="Hold out shares of each relation, or of all facts together.")
    ] = "stratified",
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Hold out what is latest by this column, instead of a random part.")
    ] = None,
    time_per: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --time: hold out what is latest of each entity of this column."),
    ] = None,
    valid: Annotated[float, typer.Option(metavar="SHARE", help="The share of facts for valid.")] = 0.1,
    test: Annotated[float, typer.Option(metavar="SHARE", help="The share of facts for test.")] = 0.1,
    seed: Annotated[int, typer.Option(help="The random seed that chooses the held-out facts.")] = 0,
    json: Json = False,
) -> None:
    """Make a dataset from tables: rows become facts about an entity or over several, and foreign keys link tables."""
    from relatum.files import require_empty
    from relatum.tables import read

    options: dict[str, Any] = {
        "tables": table or (),
        "columns": {name: next(csv.reader([chosen]), []) for name, chosen in _pairs("columns", columns).items()},
        "relations": _pairs("relation", relation),
        "sql": _pairs("sql", sql),
        "keep": keep or (),
        "drop": drop or (),
        "links": _pairs("link", [each for each in link or () if each != _AUTO]),
        "auto_links": _AUTO in (link or ()),
        "shapes": _pairs("shape", shape),
        "bins": {name: _whole(count) for name, count in _pairs("bins", bins, "*").items()} or None,
        "null": null,
        "null_text": [text for each in null_text or () for text in next(csv.reader([each]), [])],
        "views": views,
        "keep_ids": keep_ids,
        "plain": plain,
        "relation_key": relation_key,
        "header": not no_header,
        "delimiter": delimiter,
        "encoding": encoding,
        "split": split,
        "time": time,
        "time_per": time_per,
        "valid": valid,
        "test": test,
        "seed": seed,
    }
    require_empty(out)  # before the work, and again when it is written
    imported = read(source, **options)
    imported.save(out)
    if json:
        print_json({"out": str(out), **imported.to_json()})
    else:
        _print_tables(imported, out)


def _pairs(option: str, given: Many, alone: str | None = None) -> dict[str, str]:
    """Return what stands on both sides of the equals signs; where there is none, the left side is `alone`."""
    pairs: dict[str, str] = {}
    for text in given or ():
        # A number holds no equals sign, a name may: before a number the last one counts, else the first.
        name, equals, value = text.partition("=") if alone is None else text.rpartition("=")
        if not equals and alone is None:
            raise SettingError("bad-option-form", f"--{option} {text}: write NAME=VALUE")
        name = name if equals else alone or ""
        if name in pairs:
            raise SettingError("given-twice", f"--{option}: {name!r} is given twice")
        pairs[name] = value
    return pairs


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingError("setting-out-of-range", "must be a whole number", place=f"--bins {text}") from None


def _print_tables(imported: Imported, out: Path) -> None:
    from relatum.tables.options import full_name

    split = imported.split
    sizes = ", ".join(f"{part} {number(len(graph))}" for part, graph in split.parts.items())
    names = f"{number(len(split.entities))} entities, {number(len(split.schema))} relations"
    say(f"wrote {out}: {names}; {sizes}")
    counts = ("rows", "gaps", "repeated", "facts")
    rows = [
        (each.table, each.shape or "-", _count(each.rows), *map(number, (each.gaps, each.repeated, each.facts)), each.note)
        for each in imported.tables
    ]
    print_table("Tables", ("table", "shape", *counts, "why"), rows, counts, drop=("repeated", "gaps"))
    heads = ("table", "column", "type", "becomes", "entity type", "relation", "NULL", "distinct", "why")
    cells = [
        (
            *(each.table, each.column, each.type, each.outcome, each.kind or "-", each.relation or "-"),
            *(_count(each.nulls), _count(each.distinct), "; ".join(filter(None, (each.why, each.lost)))),
        )
        for each in imported.columns
    ]
    print_table("Columns", heads, cells, ("NULL", "distinct"), drop=("relation", "NULL", "distinct", "type", "entity type"))
    if imported.options.time is not None:
        say(f"held out is what is latest by {imported.options.time}")
    for offer in imported.offers[:_OFFERS]:
        shares = f"{full_name(offer.column)} shares {offer.share:.0%} of its values with {full_name(offer.target)}: {offer}"
        say(f"{shares}; {offer.why}" if offer.why else shares)
    if imported.offers:
        sure, offers = sum(offer.is_sure for offer in imported.offers), len(imported.offers)
        which = "them" if sure == offers else f"{number(sure)} of them, the others share too few values as they stand"
        say(f"{count(offers, 'column')} could be linked; --link auto links {which}")


def _count(value: int | None) -> str:
    return "-" if value is None else number(value)
