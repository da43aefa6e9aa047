"""Provenance beside the data: ours, the published REL-ER's, and files that are neither."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from relatum.data.derivations import DERIVATIONS, ELEMENTARY, Derivation, read_derivations, save_derivations
from relatum.errors import DataError
from support.mistakes import mistake

ORIGINS = {
    "sold": Derivation(ELEMENTARY, 0, "sold"),
    "bought": Derivation("rename", 1, "permute[1, 0, 2](sold)"),
    "häufig": Derivation("select", 2, 'select[2 = "a, b"](permute[1, 0, 2](sold))'),
    "unknown": Derivation("union", 3),
}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    save_derivations(tmp_path, ORIGINS)
    assert read_derivations(tmp_path / DERIVATIONS) == ORIGINS
    assert [path.name for path in tmp_path.iterdir()] == [DERIVATIONS]


@pytest.mark.parametrize(("operation", "depth"), [("rename", 0), (ELEMENTARY, 1), ("join", 1)])
def test_an_impossible_origin_cannot_be_built(operation: str, depth: int) -> None:
    with pytest.raises(DataError):
        Derivation(operation, depth)


def test_somebody_elses_file_is_let_be(tmp_path: Path) -> None:
    (tmp_path / DERIVATIONS).write_text('{"derivations": ["example.org"]}')
    assert read_derivations(tmp_path / DERIVATIONS) == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "relatum-derivations"',
        '["relatum-derivations"]',
        '{"format": "relatum-derivations"}',
        '{"format": "relatum-derivations", "version": 2, "relations": {}}',
        '{"format": "relatum-derivations", "version": 1, "relations": []}',
        '{"format": "relatum-derivations", "version": 1, "relations": {"a": 3}}',
        '{"format": "relatum-derivations", "version": 1, "relations": {"a": {"operation": "rename"}}}',
        '{"format": "relatum-derivations", "version": 1, "relations": {"a": {"operation": "rename", "depth": 0}}}',
        '{"format": "relatum-derivations", "version": 1, "relations": {"a": {"operation": ["x"], "depth": 1}}}',
        '{"format": "relatum-derivations", "version": 1, "relations": {"a": {"operation": "rename", "depth": "1"}}}',
        '{"format": "relatum-derivations", "version": 1, "relations": {"a": {"operation": "rename", "depth": 1, "x": 1}}}',
        "relatum-derivations" + "[" * 100_000,
        "relatum-derivations \ud800",
    ],
)
def test_a_damaged_file_is_one_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / DERIVATIONS).write_bytes(text.encode("utf-8", "surrogatepass"))
    with mistake("other-format" if '"version": 2' in text else "damaged-file"):
        read_derivations(tmp_path / DERIVATIONS)


def test_the_published_log_is_read_from_its_last_two_lines(tmp_path: Path) -> None:
    log = ["Selection operation for relation 0", "New relation id 1", json.dumps({"0": 0, "1": 1, "2": 2})]
    (tmp_path / "ops-logs.txt").write_text("\n".join([*log, json.dumps({"1": "setd", "2": "project"})]) + "\n")
    assert read_derivations(tmp_path / "ops-logs.txt") == {
        "0": Derivation(ELEMENTARY, 0),
        "1": Derivation("difference", 1),
        "2": Derivation("project", 2),
    }


@pytest.mark.parametrize("text", ["", "{}", "{}\n[]", '{"1": 1}\n{}', '{"1": 1}\n{"1": "product"}', "New relation\nid 3"])
def test_a_damaged_log_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "ops-logs.txt").write_text(text)
    with mistake("damaged-file"):
        read_derivations(tmp_path / "ops-logs.txt")


def test_the_published_rel_er(benchmark_data: Path) -> None:
    folder = benchmark_data / "REL-ER"
    derivations = read_derivations(folder / "ops-logs.txt")
    lines = [line for part in ("train", "valid", "test") for line in (folder / f"{part}.txt").read_text().splitlines()]
    relations = {line.split("\t")[0] for line in lines}
    assert relations <= derivations.keys()
    counts = Counter(origin.operation for origin in derivations.values())
    assert counts == {ELEMENTARY: 200, "rename": 46, "project": 39, "union": 43, "difference": 39, "select": 12}
    # The row "#tuples" of the paper's table of results on REL-ER.
    test = [derivations[line.split("\t")[0]] for line in (folder / "test.txt").read_text().splitlines()]
    operations = {ELEMENTARY: 1833, "rename": 458, "project": 762, "union": 1676, "difference": 649}
    assert Counter(origin.operation for origin in test) == operations
    assert Counter(origin.depth for origin in test) == {0: 1833, 1: 2075, 2: 1204, 3: 245, 4: 21}
