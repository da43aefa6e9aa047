"""`relatum synth`: what it makes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path

from relatum.datasets.load import load
from support.command_line import Relatum


def test_it_makes_a_dataset_and_prints_its_tables(run: Relatum, tmp_path: Path) -> None:
    code, out, err = run("synth", "--preset", "small", "--seed", "3", "--out", str(tmp_path / "made"))
    assert (code, err) == (0, "")
    split = load(tmp_path / "made")
    assert f"train {len(split.train):,}" in out
    for title in ("Relations and tuples by operation", "Test tuples by operation and depth", "Arities in all parts"):
        assert title in out
    for word in ("elementary", "rename", "project", "select", "union", "difference", "drawn again", "given up"):
        assert word in out
    assert split.derivations.keys() == set(split.schema.names)


def test_json_is_one_object_that_adds_up(run: Relatum, tmp_path: Path) -> None:
    arguments = ("--preset", "small", "--set", "derived=24", "--set", "tuples=2000", "--json")
    code, out, err = run("synth", *arguments, "--out", str(tmp_path / "made"))
    assert (code, err) == (0, "")
    found = json.loads(out)
    cells = found["by_operation_and_depth"]
    for name in ("relations", "train", "valid", "test"):
        assert sum(cell[name] for cell in cells) == found[name]
    assert found["train"] + found["valid"] + found["test"] == sum(found["arity"].values()) == 2000
    assert found["relations"] == 12 + 24 - sum(found["given_up"].values())
    assert found["settings"]["derived"] == 24
