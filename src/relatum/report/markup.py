"""HTML and SVG that is well formed by construction: text is escaped unless it is `Markup`, and what is opened is closed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from relatum.formatting import visible

__all__ = ["Markup", "entity", "join", "shortened", "table", "tag"]

_VOID = {"meta", "wbr"}
_LONGEST = 96  # characters of a name that are shown; the whole name is in its title
_SHORT = 16  # rows of a table that is printed on one page


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *children: str | None, **attributes: str | float | None) -> Markup:
    """Return an element; `None` is left out, a `_` in an attribute is a `-`, and the last one is dropped: `class_`."""
    given = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{_escaped(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(_safe(child) for child in children if child is not None)
    return Markup(f"<{name}{given}>" if name in _VOID else f"<{name}{given}>{inside}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Return parts one after the other."""
    return Markup(_safe(between).join(map(_safe, parts)))


def entity(name: str, class_: str | None = None, longest: int = _LONGEST) -> Markup:
    """Return a name from the data: its direction of writing stays its own, and a very long one is shortened.

    A line may break behind the signs that join the words of a name.
    """
    short = shortened(name, longest)
    words = join(re.split(r"(?<=[_./|(])(?=[^_./|(])", short), tag("wbr"))
    return tag("bdi", words, class_=class_, title=None if short == name else name)


def shortened(name: str, longest: int = _LONGEST) -> str:
    """Return a name, without its middle if it is longer than so many characters."""
    half = (longest - 1) // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: Sequence[int] = (0,),
    picture: int | None = None,
) -> Markup:
    """Return a table with a caption, whose first column heads its rows.

    Args:
        caption: what is in it.
        heads: of the columns.
        rows: a text or markup for each column.
        words: the columns that hold words; others hold numbers.
        picture: the column of small pictures, which a narrow screen leaves out.
    """
    style = ["picture" if place == picture else "words" if place in words else "number" for place in range(len(heads))]
    head = tag("tr", *(tag("th", text, scope="col", class_=kind) for text, kind in zip(heads, style, strict=True)))
    body = []
    for first, *rest in rows:
        cells = (tag("td", text, class_=kind) for text, kind in zip(rest, style[1:], strict=True))
        body.append(tag("tr", tag("th", first, scope="row", class_=style[0]), *cells))
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", join(body, "\n")))
    return tag("div", whole, class_="table short" if len(body) <= _SHORT else "table")


def _attribute(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _safe(part: str) -> str:
    return part if isinstance(part, Markup) else _escaped(part)


def _escaped(text: str) -> str:
    return visible(escape(text))
