"""The page on troubleshooting names messages that are in the source, and misses few of those that are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from relatum import errors

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
GAP = "\0"  # where a message holds what differs
OWN = {name for name in errors.__all__ if name.endswith("Error")}


def families() -> list[str]:
    """Return the messages of the page, as they are written in its tables."""
    tables = PAGE.split("\n## ")[1:-1]
    cells = [row.split(" | ")[0] for table in tables for row in re.findall(r"^\| (`.*)$", table, re.MULTILINE)]
    return [family for cell in cells for family in re.findall(r"`([^`]+)`", cell)]


def belongs(text: str, family: str) -> bool:
    """Return whether a message has the words of a family, in order, with anything wherever the family has an ellipsis."""
    start = 0
    for words in family.split("…"):
        start = text.find(words, start) + len(words)
        if start < len(words):
            return False
    return True


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a piece of source, those of f-strings with a gap wherever a value stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(one.value if isinstance(one, ast.Constant) else GAP for one in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def source() -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "src" / "relatum").rglob("*.py"))]


def raised() -> Iterator[str]:
    """Yield the messages that the source raises as errors of relatum, where they stand in the raise itself."""
    for tree in source():
        for node in ast.walk(tree):
            match node:
                case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=arguments)) if name in OWN and arguments:
                    if name == "UnknownNameError":
                        yield f"unknown {GAP} '{GAP}'"
                    elif isinstance(arguments[-1], ast.JoinedStr | ast.Constant):
                        yield next(texts(arguments[-1]))


def test_every_message_of_the_page_is_in_the_source() -> None:
    told = families()
    # A value within a message is written with quotes by the source, or by the value itself.
    known = {text.replace(f"{GAP}", "…") for tree in source() for text in texts(tree)}
    known.add("unknown … '…'…")
    missing = [one for one in told if not any(belongs(text, one) for text in known)]
    assert len(told) > 150
    assert not missing


def test_most_messages_of_the_source_are_on_the_page() -> None:
    told, messages = families(), list(raised())
    missing = [text for text in messages if not any(belongs(text, family) for family in told)]
    assert len(messages) > 400
    assert len(missing) < 0.1 * len(messages), "\n".join(missing)


def test_remedies_name_options_that_there_are() -> None:
    known = {text for tree in source() for text in texts(tree) if text.startswith("--")}
    known |= {f"--{name.replace('_', '-')}" for tree in source() for name in re.findall(r"(\w+): ", ast.unparse(tree))}
    assert not set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - known


def test_every_class_of_error_is_on_the_page() -> None:
    assert not [name for name in OWN if f"`{name}`" not in PAGE]
