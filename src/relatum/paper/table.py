"""A table of texts, and its forms: Markdown, LaTeX, plain data, and a part of a page that is filled anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relatum.errors import DataError
from relatum.files import atomic_file

__all__ = ["Table", "fill_page"]

_BEGIN, _END = "<!-- tables -->\n", "<!-- /tables -->"
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%_#${}"},
    **{sign: f"${sign}$" for sign in "<>"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Table:
    """A table of texts; all columns but the first and those of words hold numbers."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: frozenset[str] = frozenset()

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return tuple(head for head in self.heads[1:] if head not in self.words)

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rules = ("---:" if head in self.numbers else "---" for head in self.heads)
        lines = [self.heads, tuple(rules), *self.rows]
        return f"**{self.title}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def latex(self) -> str:
        """Return the table in LaTeX; columns of words break their lines."""
        lines = [*(" & ".join(map(_latex, row)) + r" \\" for row in self.rows)]
        heads = " & ".join(map(_latex, self.heads)) + r" \\"
        width = f"p{{{0.8 / len(self.words):.2g}\\linewidth}}" if self.words else ""
        columns = "".join("r" if head in self.numbers else width if head in self.words else "l" for head in self.heads)
        body = "\n".join([heads, r"\hline", *lines])
        return f"% {self.title}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n"

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {"title": self.title, "columns": list(self.heads), "rows": [list(row) for row in self.rows]}


def fill_page(path: Path, tables: Iterable[Table]) -> None:
    """Put tables between the marks of a Markdown page, for what stood there; all else stays as it is."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise DataError(f"{path}: has no lines {_BEGIN.strip()} and {_END}, between which tables could stand")
    whole = before + begin + "\n".join(table.markdown() for table in tables) + end + after
    with atomic_file(path) as file:
        file.write(whole.encode())


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)
