"""The rooms of docs/architecture.md and the imports in src agree; modules make no cycle and keep their own names."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "relatum"
TESTS = ROOT / "tests"

# Tests that are about no single module.
WHOLE = {"contract", "stranger", "support"}


def rooms() -> dict[str, int]:
    drawn = re.search(r"```rooms\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), re.DOTALL)
    assert drawn, "docs/architecture.md draws the rooms in a block marked `rooms`"
    lines = (line.split() for line in drawn[1].splitlines() if line.strip())
    return {room: int(level) for level, *names in lines for room in names}


@cache
def modules() -> dict[str, Path]:
    """Return the files of all modules, by dotted name."""
    paths = {".".join(("relatum", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in PACKAGE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


@cache
def imports(path: Path) -> list[tuple[str, str | None]]:
    """Return what a module imports of relatum, wherever it does and for types alone too: the module, and the name in it."""
    known, found = modules(), list[tuple[str, str | None]]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names if alias.name.partition(".")[0] == "relatum"]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            if str(node.module).partition(".")[0] == "relatum":
                wholes = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                found += [(one, None) if one in known else (str(node.module), name) for name, one in wholes.items()]
    return found


def test_rooms_are_drawn_and_import_only_lower_ones() -> None:
    built = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert built - {"__init__", "__main__"} == set(rooms())
    level = rooms()
    wrong = []
    for name, path in modules().items():
        own = name.split(".")[1] if "." in name else ""
        for other in {found.split(".")[1] for found, _ in imports(path) if "." in found} - {own}:
            if own in level and level[other] >= level[own]:
                wrong.append(f"{name} imports {other}")
    assert not wrong


def test_modules_import_each_other_in_one_direction() -> None:
    graph = {name: {found for found, _ in imports(path)} - {name} for name, path in modules().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


def test_private_names_stay_in_their_module() -> None:
    private = re.compile(r"_[^_]")
    taken = [
        f"{name} imports {found}.{what}"
        for name, path in modules().items()
        for found, what in imports(path)
        if what and private.match(what)
    ]
    assert not taken


def test_tests_stand_where_what_they_test_stands() -> None:
    wrong = []
    for path in TESTS.rglob("test_*.py"):
        *folders, name = path.relative_to(TESTS).with_suffix("").parts
        if not folders or folders[0] in WHOLE:
            continue
        # test_ranking_scorers.py is about the scorers in ranking.py.
        words = name.removeprefix("test_").split("_")
        stems = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
        inside = PACKAGE.joinpath(*folders)
        built = {one.stem for one in inside.glob("*.py")} | {one.name for one in inside.glob("*/")} | {"main"}
        if not stems & built:
            wrong.append(str(path.relative_to(ROOT)))
    assert not wrong


def test_no_module_reads_or_writes_pickles() -> None:
    for path in modules().values():
        assert not re.search(r"import pickle|(?<!safetensors\.)torch\.load\(|allow_pickle=True", path.read_text()), path
