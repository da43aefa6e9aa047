"""What commands print: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "print_json", "print_table"]

_PIPE_WIDTH = 140  # without a terminal there is no width to keep to, but tables need one


def console(*, stderr: bool = False) -> Console:
    """Return the console on standard output or error; it leaves out colour where `NO_COLOR` or a pipe asks for that."""
    from rich.console import Console

    there = sys.stderr if stderr else sys.stdout
    return Console(width=None if there.isatty() else _PIPE_WIDTH, highlight=False, stderr=stderr)


def print_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[str] = ()) -> None:
    """Print a table; the columns named in `numbers` are set flush right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    right = set(numbers)
    table = Table(box=box.SIMPLE_HEAD)
    for head in heads:
        table.add_column(head, justify="right" if head in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # as Text: a name such as [red] is not a command to the console
    out = console()
    out.print(Text(title, style="bold"), soft_wrap=True)
    out.print(table)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
