"""The rooms of docs/architecture.md and the imports in src agree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "relatum"


def rooms() -> dict[str, int]:
    drawn = re.search(r"```rooms\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), re.DOTALL)
    assert drawn, "docs/architecture.md draws the rooms in a block marked `rooms`"
    lines = (line.split() for line in drawn[1].splitlines() if line.strip())
    return {room: int(level) for level, *names in lines for room in names}


def imported_rooms(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are written in full"
            names = [f"{node.module}.{alias.name}" if node.module == "relatum" else str(node.module) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("relatum."))


def test_every_room_is_drawn_and_every_drawn_room_exists() -> None:
    built = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert built - {"__init__", "__main__"} == set(rooms())


def test_rooms_import_only_lower_rooms() -> None:
    level = rooms()
    wrong = []
    for module in PACKAGE.rglob("*.py"):
        room = module.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in level:
            others = {other for other in imported_rooms(module) if other in level and other != room}
            wrong += [f"{module.relative_to(ROOT)} imports {other}" for other in others if level[other] >= level[room]]
    assert not wrong


def test_no_module_reads_or_writes_pickles() -> None:
    for module in PACKAGE.rglob("*.py"):
        assert not re.search(r"import pickle|(?<!safetensors\.)torch\.load\(|allow_pickle=True", module.read_text()), module
