"""What commands print: tables and lines for people, one JSON object for programs."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from relatum.formatting import visible

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "print_json", "print_table", "say"]

_PIPE_WIDTH = 140  # without a terminal there is no width to keep to, but tables need one
_COMFORT, _LEAST = 16, 5  # characters of a text column: down to the first before columns are dropped, then to the second
_LINES = 4  # of a cell


def console(*, stderr: bool = False) -> Console:
    """Return the console on standard output or error; it leaves out colour where `NO_COLOR` or a pipe asks for that."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(width=None if stream.isatty() else _width_of_pipe(), highlight=False, stderr=stderr)


def say(text: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print lines as they are: no markup, no wrapping, and names that cannot do anything to the terminal."""
    lines = "\n".join(map(visible, text.split("\n")))
    console(stderr=stderr).print(lines, style=style, markup=False, emoji=False, soft_wrap=True)


def print_table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Iterable[str] = (),
    drop: Iterable[str] = (),
) -> None:
    """Print a table that fits: text is wrapped or cut, numbers never are, and columns are dropped where there is no room.

    Args:
        title: a line above the table.
        heads: the heads of the columns.
        rows: the cells, as many in each row as there are heads.
        numbers: the heads of columns that are set flush right and never broken.
        drop: the heads of columns that can be dropped, the least important first.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out, right = console(), set(numbers)
    cells = [[visible(cell) for cell in row] for row in rows]
    heads = [visible(head) for head in heads]
    columns = [
        _Column(position, head, [row[position] for row in cells], number=head in right)
        for position, head in enumerate(heads)
    ]
    kept = _fit(columns, list(drop), out.width)
    table = Table(box=box.SIMPLE_HEAD)
    for column in kept:
        table.add_column(Text(column.head), justify="right" if column.number else "left", width=column.width)
    for row in cells:
        # As Text: a name such as [red] is not a command to the console.
        table.add_row(*(Text(column.fitted(row[column.position])) for column in kept))
    out.print(Text(_shortened(visible(title), _LINES * out.width), style="bold"), soft_wrap=True)
    out.print(table)
    if dropped := [column.head for column in columns if column not in kept and column.head]:
        out.print(Text(f"not shown, for lack of room: {', '.join(dropped)}"), soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


class _Column:
    """A column and the width that it is given: at first what it would like to have."""

    def __init__(self, position: int, head: str, cells: list[str], *, number: bool) -> None:
        from rich.cells import cell_len

        self.position, self.head, self.number = position, head, number
        widest = max(map(cell_len, cells), default=0)
        word = max(map(cell_len, head.split()), default=0)  # a head wraps at words
        self.width = max(widest, cell_len(head), 1)
        self.least = max(widest, word, 1) if number else min(self.width, _LEAST)
        self.comfort = self.least if number else min(self.width, max(_COMFORT, word))

    def fitted(self, cell: str) -> str:
        """Return a cell in lines of the column's width: wrapped at words, and cut where a word or the whole is too long."""
        from rich.cells import cell_len

        if self.number or cell_len(cell) <= self.width:
            return cell
        words = " ".join(_shortened(word, self.width) for word in _shortened(cell, _LINES * self.width).split(" "))
        lines = textwrap.wrap(words, self.width, break_long_words=False, break_on_hyphens=False)
        if max(map(cell_len, lines)) > self.width or len(lines) > _LINES:  # wide characters, or many breaks
            return _shortened(cell, self.width)
        return "\n".join(lines)


def _fit(columns: list[_Column], drop: list[str], room: int) -> list[_Column]:
    """Return the columns that are shown, narrowed so that they fit: comfortably if possible, then with columns dropped."""
    kept = list(columns)
    while sum(column.comfort for column in kept) > _inner(kept, room):
        victim = next((one for head in drop for one in kept[1:] if one.head == head), None)
        if victim is None:
            break
        kept.remove(victim)
    while len(kept) > 1 and sum(column.least for column in kept) > _inner(kept, room):
        kept.pop()  # nothing else is left to give
    for limit in ("comfort", "least"):
        _narrow(kept, _inner(kept, room), limit)
    return kept


def _narrow(columns: list[_Column], room: int, limit: str) -> None:
    """Take width from the widest columns, one character after the other, down to the limit of each."""
    excess = sum(column.width for column in columns) - room
    while excess > 0 and (loose := [one for one in columns if one.width > getattr(one, limit)]):
        widest = max(loose, key=lambda one: one.width)
        second = max((one.width for one in loose if one is not widest), default=0)
        step = min(excess, widest.width - max(getattr(widest, limit), min(second, widest.width - 1)))
        widest.width -= step
        excess -= step


def _inner(columns: list[_Column], room: int) -> int:
    """Return how many characters are left for the cells: each has a space on both sides, and a line a rim."""
    return room - 3 * len(columns) - 1


def _shortened(text: str, width: int) -> str:
    """Return a text of at most so many characters on a terminal: its beginning and its end where it is longer."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= width:
        return text
    end = (width - 1) // 2
    tail = text[len(text) - end :]
    while cell_len(tail) > end:
        tail = tail[1:]
    return set_cell_size(text, max(width - 1 - cell_len(tail), 0)).rstrip() + "\u2026" + tail.lstrip()


def _width_of_pipe() -> int:
    """Return the width that `COLUMNS` asks for where there is no terminal, or enough for most tables."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else _PIPE_WIDTH
