"""`relatum synth` and `queries`: what they make and print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from querysets.test_sampling import random_split
from relatum.datasets.load import load, save
from relatum.querysets import SHAPES, load_queries
from support.command_line import Relatum


def test_a_dataset_is_made_and_its_tables_add_up(run: Relatum, tmp_path: Path) -> None:
    arguments = ("synth", "--preset", "small", "--set", "derived=24", "--set", "tuples=2000")
    code, out, err = run(*arguments, "--out", str(tmp_path / "made"))
    assert (code, err) == (0, "")
    for word in ("elementary", "rename", "project", "select", "union", "difference", "drawn again", "given up"):
        assert word in out
    split = load(tmp_path / "made")
    assert split.derivations.keys() == set(split.schema.names)
    found = json.loads(run(*arguments, "--out", str(tmp_path / "again"), "--json")[1])
    cells = found["by_operation_and_depth"]
    for name in ("relations", "train", "valid", "test"):
        assert sum(cell[name] for cell in cells) == found[name]
    assert found["train"] + found["valid"] + found["test"] == sum(found["arity"].values()) == 2000
    assert found["train"] == len(split.train)
    assert found["relations"] == 12 + 24 - sum(found["given_up"].values())
    assert found["settings"]["derived"] == 24


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "random"
    save(random_split(4), folder)
    return folder


def test_it_draws_queries_and_prints_how_many(run: Relatum, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "queries"
    code, shown, err = run("queries", str(data), "--out", str(out), "--count", "4", "--seed", "2")
    assert (code, err) == (0, "")
    queries = load_queries(out)
    assert (queries.data, queries.part, queries.seed, len(queries)) == ("random", "test", 2, 4 * len(SHAPES))
    assert set(queries.checksums) == {"train", "valid", "test"}
    for word in ("Queries by shape", "full-hard answers", *SHAPES, "64 queries over random, test held out, seed 2"):
        assert word in shown


def test_json_is_one_object_that_adds_up(run: Relatum, data: Path, tmp_path: Path) -> None:
    arguments = ("--count", "3", "--shape", "2i", "--shape", "1e-n", "--part", "valid", "--json")
    code, shown, err = run("queries", str(data), "--out", str(tmp_path / "queries"), *arguments)
    assert (code, err) == (0, "")
    found = json.loads(shown)
    assert [one["shape"] for one in found["shapes"]] == ["2i", "1e-n"]
    assert found["queries"] == sum(one["queries"] for one in found["shapes"]) == 6
    assert [vars(one) for one in load_queries(found["out"]).counts()] == found["shapes"]


def test_shapes_that_the_facts_do_not_give_are_named(run: Relatum, tmp_path: Path) -> None:
    save(random_split(5, arities=(2, 2), facts=30), tmp_path / "data")
    arguments = ("--count", "40", "--shape", "1p", "--shape", "1p-n")
    code, shown, err = run("queries", str(tmp_path / "data"), "--out", str(tmp_path / "queries"), *arguments)
    assert (code, err) == (0, "")
    assert "none of shape 1p-n: the facts give none" in shown
    assert "fewer than 40 of shape: 1p " in shown
