"""`relatum synth`: what it makes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path

from relatum.datasets.load import load
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
