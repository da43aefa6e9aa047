"""What commands print: tables and lines for people, one JSON object for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from relatum.formatting import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from relatum.inference.answer_sets import Limit

_PIPE_WIDTH = 140  # without a terminal there is no width to keep to, but tables need one
_COMFORT, _LEAST = 16, 5  # characters of a text column: down to the first before columns are dropped, then to the second
_WORD = 24  # characters of a word that is kept whole where wrapping other columns gives room for it
_LINES = 4  # of a cell
_INDENT = " " * 6  # of a note below a row


def console(*, stderr: bool = False) -> Console:
    """Return the console on standard output or error; it leaves out colour where `NO_COLOR` or a pipe asks for that."""
    from rich.console import Console

    stream, columns = sys.stderr if stderr else sys.stdout, os.environ.get("COLUMNS", "")
    is_known = stream.isatty() or (columns.isdecimal() and int(columns) > 0)  # rich looks it up
    return Console(width=None if is_known else _PIPE_WIDTH, highlight=False, stderr=stderr)


def say(text: str, *, style: str | None = None, stderr: bool = False) -> None:
    """Print lines as they are: no markup, no wrapping, and names that cannot do anything to the terminal."""
    lines = "\n".join(map(_shown, text.split("\n")))
    console(stderr=stderr).print(lines, style=style, markup=False, emoji=False, soft_wrap=True)


def print_table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Iterable[str] = (),
    drop: Iterable[str] = (),
    below: str | None = None,
) -> None:
    """Print a table that fits: text is wrapped or cut, numbers never are, and columns are dropped where there is no room.

    Columns are named by their heads: `numbers` are set flush right and never broken, those in `drop` can be dropped,
    the least important first, and `below` holds sentences, which stand below their rows where there is no room beside
    them.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out, right = console(), set(numbers)
    cells = [[_shown(cell) for cell in row] for row in rows]
    heads = [_shown(head) for head in heads]
    columns = [_Column(head, [row[position] for row in cells], number=head in right) for position, head in enumerate(heads)]
    notes = None
    if sum(column.width for column in columns) > _inner(columns, out.width):
        notes = next((column for column in columns if column.head == below), None)
    kept = _fit([column for column in columns if column is not notes], list(drop), out.width)
    table, heights = Table(box=box.SIMPLE_HEAD), []
    for column in kept:
        table.add_column(Text(column.head), justify="right" if column.number else "left", width=column.width)
    for number in range(len(cells)):
        # As Text: a name such as [red] is not a command to the console.
        fitted = [column.fitted(column.cells[number], out) for column in kept]
        table.add_row(*map(Text, fitted))
        heights.append(1 + max(cell.count("\n") for cell in fitted))
    out.print(Text(_shortened(_shown(title), _LINES * out.width), style="bold"), soft_wrap=True)
    if notes is None:
        out.print(table)
    else:
        _print_with_notes(out, table, heights, notes.cells)
    if dropped := [column.head for column in columns if column not in kept and column is not notes and column.head]:
        out.print(Text(f"not shown, for lack of room: {', '.join(dropped)}"), soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on standard output."""
    sys.stdout.write(json_text(value) + "\n")


def json_text(value: Any) -> str:
    """Return JSON for standard output: what its encoding lacks, and what does something to a terminal, is escaped."""
    return visible_json(json.dumps(value, ensure_ascii=not _shows_all()))


def _shown(text: str) -> str:
    """Return a line whose control characters do nothing, and of which everything can be encoded: so its width is known."""
    if _shows_all():
        return visible(text)
    return visible(text).encode(sys.stdout.encoding, "backslashreplace").decode(sys.stdout.encoding)


def _shows_all() -> bool:
    return (sys.stdout.encoding or "utf-8").lower().startswith("utf")


def _print_with_notes(out: Console, table: Table, heights: list[int], notes: list[str]) -> None:
    """Print a table with a note below each of its rows, which take so many lines."""
    with out.capture() as captured:
        out.print(table)
    lines = captured.get().splitlines()
    start = len(lines) - 1 - sum(heights)  # of the rows; there is an empty line below them
    parts, room = lines[:start], max(out.width - len(_INDENT), 1)
    for height, note in zip(heights, notes, strict=True):
        parts += [*lines[start : start + height], *(_INDENT + line for line in _wrapped(note, room, out))]
        start += height
    out.file.write("\n".join([*parts, *lines[start:]]) + "\n")


class _Column:
    """A column, the width that it is given, at first what it would like to have, and how far that can be taken back."""

    def __init__(self, head: str, cells: list[str], *, number: bool) -> None:
        from rich.cells import cell_len

        self.head, self.cells, self.number = head, cells, number
        widest = max(map(cell_len, cells), default=0)
        word = max(map(cell_len, head.split()), default=0)  # a head wraps at words
        self.width = max(widest, cell_len(head), 1)
        self.least = max(widest, word, 1) if number else min(self.width, _LEAST)
        self.comfort = self.least if number else min(self.width, max(_COMFORT, word))
        longest = max((cell_len(part) for cell in cells for part in cell.split(" ")), default=0)
        # A word is cut only where wrapping does not give enough room, or if it is very long.
        whole = max(longest, word, self.least) if longest <= _WORD else self.comfort
        self.limits = max(self.comfort, whole), whole, self.comfort, self.least

    def fitted(self, cell: str, out: Console) -> str:
        """Return a cell in lines of the column's width."""
        return cell if self.number else "\n".join(_wrapped(cell, self.width, out))


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
    for column in kept:
        column.width = max(column.least, min(column.width, room))
    for level in range(4):
        while sum(column.width for column in kept) > _inner(kept, room):
            if not (loose := [one for one in kept if one.width > one.limits[level]]):
                break
            max(loose, key=lambda one: one.width).width -= 1
    return kept


def _inner(columns: list[_Column], room: int) -> int:
    """Return how many characters are left for the cells: each has a space on both sides, and a line a rim."""
    return room - 3 * len(columns) - 1


def _wrapped(text: str, width: int, out: Console) -> list[str]:
    """Return a text in lines of a width: wrapped at words, and cut where a word or the whole is too long."""
    from rich.cells import cell_len
    from rich.text import Text

    if cell_len(text) <= width:
        return [text]
    words = " ".join(_shortened(word, width) for word in _shortened(text, _LINES * width).split(" "))
    lines = [line.plain.rstrip() for line in Text(words).wrap(out, width)]
    return lines if len(lines) <= _LINES else [_shortened(text, width)]


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


def say_promise(limit: Limit | None, count: int, coverage: float, shown: int) -> None:
    """Print what a set of so many answers holds, of which some are shown, and what is promised of such sets."""
    if limit is None:
        say("the given entities hold a key that a known fact has, so no answer is missing, and nothing is promised")
        return
    if not count:
        say(
            f"the set is empty: with so unlikely a best answer, the question is among the {100 * (1 - coverage):.4g} % "
            "that may be missed; a higher --coverage answers more of these"
        )
    else:
        some = f", of which {shown:,} are shown (-k {count} shows all)" if shown < count else ""
        say(f"a set of {count:,} answers{some}")
    say(str(limit))
