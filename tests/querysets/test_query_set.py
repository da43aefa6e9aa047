"""Shapes hold together; what is written of queries is read back, and what was damaged is refused with its line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from querysets.test_sampling import random_split
from relatum.algebra import parse
from relatum.querysets import SHAPES, QuerySet, load_queries, sample_queries, save_queries
from relatum.querysets.query_set import find_shapes
from support.mistakes import mistake


@pytest.fixture(scope="module")
def queries() -> QuerySet:
    return sample_queries(random_split(3), count=3, shapes=["1p", "2p-n", "2d", "2f-n"])


def test_what_is_written_is_read_back(queries: QuerySet, tmp_path: Path) -> None:
    save_queries(queries, tmp_path / "queries")
    assert load_queries(tmp_path / "queries") == queries
    assert len(queries) == 12
    assert sorted(path.name for path in (tmp_path / "queries").iterdir()) == ["manifest.json", "queries.jsonl"]


def test_lines_hold_what_others_need(queries: QuerySet, tmp_path: Path) -> None:
    save_queries(queries, tmp_path / "queries")
    lines = (tmp_path / "queries" / "queries.jsonl").read_text().splitlines()
    for query, line in zip(queries, lines, strict=True):
        found = json.loads(line)
        assert found.keys() == {"shape", "expression", "datalog", "constants", "easy", "hard", "full_hard"}
        assert parse(found["expression"], queries.relations) == query.expression
        assert [tuple(row) for row in found["hard"]] == list(query.hard)
    manifest = json.loads((tmp_path / "queries" / "manifest.json").read_text())
    assert manifest["data"] == "random-3"
    assert manifest["queries_sha256"] == hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    assert [one["queries"] for one in manifest["shapes"]] == [3, 3, 3, 3]


def rewritten(folder: Path, change: dict[str, Any]) -> None:
    """Change the first query, and the checksum with it, as somebody could who knows the format."""
    path = folder / "queries.jsonl"
    first, *rest = path.read_text().splitlines()
    query = {**json.loads(first), **change}
    lines = [json.dumps({name: value for name, value in query.items() if value is not ...}), *rest]
    path.write_text("".join(f"{line}\n" for line in lines))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["queries_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shape": "9p"}, "shape '9p'"),
        ({"shape": ...}, "no 'shape'"),
        ({"expression": "project[0](nothing)"}, "unknown relation 'nothing'"),
        ({"easy": [["e1", "e2"]]}, "an answer in easy that has not 1 entities"),
        ({"easy": [["e1"], ["e1"]]}, "stands twice in easy"),
        ({"easy": [["e1"]], "hard": [["e1"]], "full_hard": []}, "easy and hard"),
        ({"easy": [], "hard": [], "full_hard": [["e1"]]}, "a full-hard answer that is not hard"),
        ({"constants": [1]}, "1 where a text should be"),
    ],
)
def test_a_damaged_query_is_refused_with_its_line(
    queries: QuerySet, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    folder = tmp_path / "queries"
    save_queries(queries, folder)
    rewritten(folder, change)
    with mistake("damaged-file") as caught:
        load_queries(folder)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"), [('"seed": 0', '"seed": "0"'), ('"part": "test"', '"part": 1'), ('"relations": [', '"relation": [')]
)
def test_a_damaged_manifest_is_refused(queries: QuerySet, tmp_path: Path, old: str, new: str) -> None:
    save_queries(queries, tmp_path / "queries")
    manifest = tmp_path / "queries" / "manifest.json"
    assert old in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(old, new, 1))
    with mistake("damaged-file"):
        load_queries(tmp_path / "queries")


def test_a_changed_file_and_no_file_are_refused(queries: QuerySet, tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    with mistake("no-queries"):
        load_queries(folder)
    save_queries(queries, folder)
    with (folder / "queries.jsonl").open("a") as file:
        file.write("\n")
    with mistake("damaged-file"):
        load_queries(folder)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_can_be_walked_and_its_head_is_safe(name: str) -> None:
    shape = SHAPES[name]
    used = {number for rule in shape.rules for number in rule}
    assert used | set(shape.negated) == set(range(len(shape.atoms)))
    assert not used & set(shape.negated)
    for rule in shape.rules:
        positive = {variable for number in rule for variable in shape.atoms[number]}
        assert positive >= set(shape.head)
        assert positive >= {variable for number in shape.negated for variable in shape.atoms[number]}
    reached, waiting = set(shape.atoms[0]), set(used)
    while joined := [number for number in waiting if reached & set(shape.atoms[number])]:
        waiting.difference_update(joined)
        reached.update(variable for number in joined for variable in shape.atoms[number])
    assert not waiting, "atoms hang together, so that a walk from any of them reaches all"
    assert max(map(len, shape.atoms)) <= 2, "a fact of arity 2 has two positions, and n-ary ones a constant left"
    assert shape.n_ary == name.endswith("-n")


def test_shapes_are_found_by_name_in_one_order() -> None:
    assert [shape.name for shape in find_shapes(["2d", "1p"])] == ["1p", "2d"]
    assert [shape.name for shape in find_shapes([])] == list(SHAPES)
    with mistake("no-queries"):
        find_shapes(["3pp"])
