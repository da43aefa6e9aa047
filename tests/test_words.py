"""Retired words stay retired: in names, in messages and in help texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "relatum"


def retired_words() -> dict[str, set[str]]:
    """Return the retired words of the glossary, each with the rooms that still have it."""
    section = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("## Retired words")[1]
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|$", section, re.MULTILINE)
    return {word: set(rooms.replace(",", " ").split()) for word, rooms in rows}


def words_of(name: str) -> list[str]:
    """Return the words of a name: `_BestOfAll` and `best_of_all` have the same three; of a text, those it holds."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def names_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the names of functions, classes, arguments, attributes and variables, and texts of errors and of help."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name), value=value):
                yield value.lineno, name
                if name == "help":
                    yield from texts_of(value)
            case ast.Raise(exc=ast.Call() as call):
                yield from texts_of(call)


def texts_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_a_name_falls_into_its_words() -> None:
    assert words_of("_BestOfAll") == words_of("best_of_all") == ["best", "of", "all"]
    source = "class Place:\n  def told(self, asked): self.made = raise_(said=1)\ndef f():\n  raise E(f'{x} bent')\n"
    found = {word for _, name in names_of(ast.parse(source)) for word in words_of(name)}
    assert {"place", "told", "asked", "made", "said", "bent"} <= found


def test_the_glossary_lists_retired_words_with_rooms_that_exist() -> None:
    retired = retired_words()
    rooms = {path.stem for path in SOURCE.iterdir()}
    assert len(retired) >= 30
    assert all(listed <= rooms for listed in retired.values())


@pytest.mark.parametrize(
    "room", sorted(path for path in SOURCE.iterdir() if path.name != "__pycache__"), ids=lambda p: p.stem
)
def test_no_retired_word_is_used(room: Path) -> None:
    retired = {word for word, rooms in retired_words().items() if room.stem not in rooms}
    found = []
    for path in [room] if room.is_file() else sorted(room.rglob("*.py")):
        for line, name in names_of(ast.parse(path.read_text(encoding="utf-8"))):
            if used := retired.intersection(words_of(name)):
                found.append(f"{path.relative_to(ROOT)}:{line}: {', '.join(sorted(used))} in {name!r}")
    assert not found, "\n".join(found)
