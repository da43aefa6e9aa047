"""`relatum fill`: what the empty cells of tables most probably hold; shown, written to a table, or put into the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relatum.cli.options import EscapeFormulas, Json, Replace
from relatum.cli.output import print_json, print_table, say
from relatum.errors import DataError, SettingError
from relatum.formatting import count, percent

if TYPE_CHECKING:
    from relatum.runs.fills import Fill, Fills
    from relatum.tables.table import Table
    from relatum.tables.targets import Target

Many = list[str] | None

_SHOWN = 30
_TABLE = "filled_cells"


def fill(
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="A run directory; --undo and --log do without it.")
    ] = None,
    table: Annotated[Many, typer.Option(metavar="TABLE", help="Fill only this table; can be repeated.")] = None,
    column: Annotated[Many, typer.Option(metavar="COLUMN", help="Fill only this column; can be repeated.")] = None,
    source: Annotated[
        Many,
        typer.Option(
            "--from", metavar="SOURCE", help="Fill the rows that are there now: files or a database; can be repeated."
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="FILE_OR_URL", help="Write what was found to a file or a table of a database.")
    ] = None,
    copy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a copy of the --from database with the cells filled.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Fill the cells of the --from database itself, with a log of every change.")
    ] = False,
    undo: Annotated[
        str | None, typer.Option(metavar="DATABASE", help="Empty the cells again that --apply filled last, or --batch.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Which --apply is undone, by the number that --log shows.")
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="DATABASE", help="List what --apply filled a database with, and what is undone.")
    ] = None,
    min_probability: Annotated[
        float | None, typer.Option(help="Leave cells empty that are less sure; by default 0.9 in a database, else 0.")
    ] = None,
    skip_refused: Annotated[
        bool,
        typer.Option("--skip-refused", help="Leave columns empty whose values the database refuses; else none is filled."),
    ] = False,
    replace: Replace = False,
    escape_formulas: EscapeFormulas = False,
    json: Json = False,
) -> None:
    """Fill the empty cells of tables: the most probable value of each, its probability, and why."""
    if undo is not None or log is not None or batch is not None:
        _look_back(undo, log, batch, json=json)
        return
    if run is None:
        raise SettingError("option-needs-option", "name the run whose model fills cells: relatum fill RUN ...")
    if (apply or copy is not None) and (source is None or len(source) != 1):
        raise SettingError("source-needed", "--apply and --copy need --from DATABASE")
    if skip_refused and not apply and copy is None:
        raise SettingError("option-needs-option", "--skip-refused needs --apply or --copy")
    if sum((apply, copy is not None, to is not None)) > 1:
        raise SettingError("contradictory-options", "--to, --copy and --apply: choose one of them")
    from relatum.api import Run
    from relatum.runs.fills import SURE, Fills
    from relatum.tables.targets import target_of

    least = min_probability if min_probability is not None else SURE if apply or copy is not None else 0.0
    if not 0 <= least <= 1:
        raise SettingError("setting-out-of-range", f"--min-probability {least}: must be from 0 to 1")
    target = None
    if to is not None:
        target = target_of(to, replace=replace, escape_formulas=escape_formulas)
        target.check([_table(Fills([]))])  # before the work, and again when it is written
    found = Run.load(run).fill(source, tables=table or (), columns=column or (), min_probability=least)
    if apply or copy is not None:
        _change(str((source or [""])[0]), copy, found, {"min_probability": least, "skip_refused": skip_refused}, json=json)
    elif target is not None:
        _write(found, target, json=json)
    elif json:
        print_json({"cells": [_plain(one) for one in found]})
    else:
        _show(found)


def _plain(one: Fill) -> dict[str, object]:
    interval = None if one.interval is None else list(one.interval)
    return {**one.to_dict(), "row": dict(one.row), "value": one.value, "interval": interval}


def _show(found: Fills) -> None:
    if not len(found):
        say("no empty cell was found that could be filled")
        return
    rows = [
        (
            f"{one.table}.{one.column}",
            ", ".join(str(value) for value in one.row.values()) if one.is_key else f"row {one.row['row']}",
            _value(one),
            percent(one.probability),
            one.reason,
        )
        for one in sorted(found, key=lambda one: -one.probability)[:_SHOWN]
    ]
    heads = ("column", "row", "value", "probability", "why")
    print_table("empty cells, the surest first", heads, rows, ("probability",), below="why")
    if len(found) > _SHOWN:
        say(f"{_SHOWN} of {count(len(found), 'cell')} are shown; write all of them with --to FILE_OR_URL")


def _value(one: Fill) -> str:
    if one.is_group and one.interval is not None:
        return f"{one.value} ({' to '.join(one.interval)})"
    return str(one.value) if one.label is None else f"{one.label} ({one.value})"


def _table(found: Fills) -> Table:
    """Return cells as a plain table to write."""
    from relatum.tables.table import Column, Table

    plain = [one.to_dict() for one in found]
    forms = {name: "number" if kind is float else "text" for name, kind in found.columns.items()}
    return Table(_TABLE, tuple(Column(name, form, [one[name] for one in plain]) for name, form in forms.items()), _TABLE)


def _write(found: Fills, target: Target, *, json: bool) -> None:
    target.write([_table(found)])
    if json:
        print_json({"to": target.location, "table": _TABLE if target.is_database else None, "cells": len(found)})
    else:
        where = f"{target.location}, table {_TABLE}" if target.is_database else target.location
        say(f"wrote {count(len(found), 'cell')} to {where}")


def _change(database: str, copy: Path | None, found: Fills, options: dict[str, Any], *, json: bool) -> None:
    applied = found.apply(database, **options) if copy is None else found.copy(database, copy, **options)
    target = database if copy is None else str(copy)
    if json:
        print_json({**applied.to_dict(), "database": _shown(target)})
        return
    say(f"filled {count(applied.applied, 'cell')} of {_shown(target)}")
    left = {
        "were filled since": applied.filled,
        "have no row any more": applied.missing,
        "match several rows": applied.ambiguous,
        "are in tables without a key; write these with --to": applied.without_key,
        "are known only as a group of numbers or dates; write these with --to": applied.groups,
    }
    for why, many in left.items():
        if many:
            say(f"{count(many, 'cell')} {why}")
    for column, reason in applied.refused.items():
        say(f"{column} is left as it is, for the database refuses its values: {reason}")
    if copy is None and applied.applied:
        say(f"each change is in table relatum_changes; relatum fill --undo {_shown(target)} takes them back")


def _shown(database: str) -> str:
    """Return a database as messages call it."""
    from relatum.datasets.file_types import is_server
    from relatum.tables.servers import without_password

    return without_password(database) if is_server(database) else database


def _look_back(undo: str | None, log: str | None, batch: int | None, *, json: bool) -> None:
    if undo is not None and log is not None:
        raise SettingError("contradictory-options", "--undo and --log: choose one of them")
    from relatum.datasets.file_types import is_server
    from relatum.runs.directory import close_run_around

    for option, database in (("--undo", undo), ("--log", log)):
        if database is not None and not database.strip():
            raise DataError("option-needs-option", f"{option} needs the database")
        elif database is not None and not is_server(database):
            close_run_around(Path(database))
    if undo is not None:
        _undo(undo, batch, json=json)
    elif batch is not None or log is None:
        raise SettingError(
            "option-needs-option", "--batch says which --apply is undone", remedy="give --undo DATABASE as well"
        )
    else:
        _list(log, json=json)


def _undo(database: str, batch: int | None, *, json: bool) -> None:
    from relatum.runs.fills import list_fills
    from relatum.tables.changes import undo_changes

    undone = undo_changes(database, batch=batch)
    if json:
        print_json({name: getattr(undone, name) for name in ("batch", "restored", "changed", "missing")})
        return
    say(f"emptied {count(undone.restored, 'cell')} of {_shown(database)} again, which batch {undone.batch} had filled")
    if undone.changed:
        say(f"left as they are, for they changed since: {count(undone.changed, 'cell')}")
    if undone.missing:
        say(f"not found any more: the rows of {count(undone.missing, 'cell')}")
    if others := [each.batch for each in list_fills(database) if not each.undone and each.batch != undone.batch]:
        numbers = f"batch {others[0]} is" if len(others) == 1 else f"batches {', '.join(map(str, others))} are"
        say(f"{numbers} not undone; relatum fill --undo {_shown(database)} --batch {others[-1]} takes that back too")


def _list(database: str, *, json: bool) -> None:
    from relatum.runs.fills import list_fills

    found = list_fills(database)
    if json:
        print_json({"database": _shown(database), "batches": [one.to_dict() for one in found]})
        return
    if not found:
        say(f"{_shown(database)} was not filled: no changes are logged there")
        return
    rows = [
        (
            str(one.batch),
            one.changed_at,
            one.source,
            ", ".join(one.tables),
            f"{one.cells:,}",
            f"{one.undone:,} at {one.undone_at}" if one.undone else "no",
        )
        for one in found
    ]
    heads = ("batch", "filled at", "run", "tables", "cells", "undone")
    print_table(f"what {_shown(database)} was filled with", heads, rows, ("batch", "cells"), drop=())
