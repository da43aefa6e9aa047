"""Names that mean harm to a terminal, a page or a spreadsheet: they are shown, but do nothing."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser

from torture.areas import Area
from torture.cases import SMALL
from torture.workbench import Workbench

NAMES = "names that mean harm"
_HARMFUL = (
    *(
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "a\x08b",
        "bell\x07",
        "c\x9bc",
        "\u202eevil\u202c",
        "\u2066x\u2069",
        "\u061c",
    ),
    *(
        "<script>alert(1)</script>",
        "</title><img src=x onerror=y>",
        '"><svg onload=x>',
        "&amp;",
        "]]>",
        "=1+2",
        "+cmd|x",
        "@SUM(A1)",
    ),
    *("-2+3", "日本語", "é", "😀", "\u2028line", "a\x7fb", "{{7*7}}", "[bold]x[/bold]", "\\[", "%s%n", "zero\u200bwidth"),
)
_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("complete", "odd", '"\x1b[31mrel"(?, ?, ?)', "-k", "20"),
    ("complete", "odd", '"\x1b[31mrel"(?, ?, ?)', "-k", "20", "--json"),
    ("schema", "odd"),
    ("schema", "odd", "--json"),
    ("predict", "odd", "--top", "20"),
    ("predict", "odd", "--top", "20", "--json"),
    ("rules", "odd", "--draw", "drawn.mmd"),
    ("report", "odd", "--out", "page.html"),
    ("predict", "odd", "--top", "20", "--to", "new.csv"),
    ("find", "odd", "\x1b"),
    ("similar", "odd", _HARMFUL[0]),
    ("evaluate", "odd", "--by", "relation"),
    ("doubt", "odd"),
    ("data", "info", "odd.txt"),
    ("data", "check", "odd.txt"),
    ("complete", "odd", '"\x1b[31mnot there"(?)'),
    ("explain", "odd", f'"\x1b[31mrel"("{_HARMFUL[0]}", "{_HARMFUL[1]}", "é")'),
)
_VOID = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def prepare_names(bench: Workbench) -> None:
    """Add a run on facts with such names to what is prepared."""
    area = Area(bench.commands, bench.prepared)
    if (area.folder / "odd").exists():
        return
    facts = [
        (relation, *(_HARMFUL[(number * step + start) % len(_HARMFUL)] for step, start in ((1, 0), (3, 1), (5, 2))))
        for number in range(2 * len(_HARMFUL))
        for relation in ("\x1b[31mrel", "<b>\u202ebold")
    ]
    (area.folder / "odd.txt").write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8", newline="\n")
    area.run_here("train", "--data", "odd.txt", *SMALL, "--out", "odd")


def names_fault(bench: Workbench, number: int) -> str | None:
    """Return what a command does with these names that it should not."""
    command = _COMMANDS[number % len(_COMMANDS)]
    area = bench.area(("odd", "odd.txt"))
    try:
        ended = area.start(*command).wait(60.0)
        fault = ended.fault or _raw(ended.out) or _raw(ended.err)
        if fault is None and ended.code == 0:
            fault = _written_fault(area, command, ended.out)
        return fault and f"relatum {' '.join(map(ascii, command))}: {fault}"
    finally:
        area.remove()


def _raw(text: str) -> str | None:
    found = _VOID.search(text)
    return found and f"{unicodedata.name(found[0], ascii(found[0]))} as it is in {text[max(found.start() - 40, 0) :][:80]!r}"


def _written_fault(area: Area, command: tuple[str, ...], out: str) -> str | None:
    """Return what is wrong with what was written: JSON, a drawing, a page, a table."""
    if "--json" in command:
        json.loads(out)
    if "drawn.mmd" in command and (area.folder / "drawn.mmd").exists():
        return _raw((area.folder / "drawn.mmd").read_text(encoding="utf-8"))
    if "page.html" in command:
        page = (area.folder / "page.html").read_text(encoding="utf-8")
        return _raw(page) or _Tags.fault_of(page)
    if "new.csv" in command:
        rows = list(csv.reader(io.StringIO((area.folder / "new.csv").read_text(encoding="utf-8"), newline="")))
        return None if len({len(row) for row in rows}) == 1 else "rows of different lengths"
    return None


class _Tags(HTMLParser):
    """Looks for what a page of relatum never has."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note scripts, images, and attributes that run something."""
        if tag in ("script", "img", "iframe", "object", "base") or any(name.startswith("on") for name, _ in attrs):
            self.fault = f"the page has <{tag} {dict(attrs)}>"

    @classmethod
    def fault_of(cls, page: str) -> str | None:
        """Return what a page has that it should not."""
        parser = cls()
        parser.feed(page)
        return parser.fault
