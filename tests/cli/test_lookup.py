"""`relatum schema`, `find` and `similar`: what they show, and that what they suggest can be pasted."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from support.command_line import Relatum


@pytest.mark.parametrize("shown", ["table", "json"])
def test_every_suggested_question_runs(run: Relatum, trained: str, shown: str) -> None:
    code, out, err = run("schema", trained, *(["--json"] if shown == "json" else []))
    assert (code, err) == (0, "")
    if shown == "json":
        commands = [relation["command"] for relation in json.loads(out)["relations"]]
    else:
        commands = [line.strip() for line in out.splitlines() if line.startswith("  relatum complete")]
    assert len(commands) == 3
    for command in commands:
        _, *arguments = shlex.split(command)
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        assert out.startswith(f"{arguments[-1]}, known")  # the fact that it was made from


def test_a_run_in_a_folder_with_a_difficult_name_can_be_asked_too(
    run: Relatum, trained: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my run's $HOME").symlink_to(trained)
    _, out, _ = run("schema", "my run's $HOME")
    command = next(line.strip() for line in out.splitlines() if "complete" in line)
    assert run(*shlex.split(command)[1:])[0] == 0


def test_a_dataset_has_a_schema_before_it_is_trained(run: Relatum) -> None:
    code, out, err = run("schema", "example")
    assert (code, err) == (0, "")
    assert "seller; buyer; item" in out
    assert "relatum complete RUN 'sold(" in out


def test_entities_are_found_by_a_part_of_their_name(run: Relatum, trained: str) -> None:
    code, out, err = run("find", trained, "DRE")
    assert (code, err) == (0, "")
    assert "drew" in out
    assert "sold.seller" in out
    found = json.loads(run("find", "example", "drew", "--json")[1])
    assert found["entities"][0]["name"] == "drew"
    assert found["entities"][0]["match"] == "exact"
    assert "no entity" in run("find", "example", "qqqqqqqqqqq")[1]


def test_similar_entities_come_with_their_similarity(run: Relatum, trained: str) -> None:
    found = json.loads(run("similar", trained, "drew", "-k", "3", "--json")[1])["similar"]
    assert len(found) == 3
    code, out, err = run("similar", trained, "drew", "-k", "3")
    assert (code, err) == (0, "")
    for one in found:
        assert one["name"] in out
        assert f"{one['similarity']:.3f}" in out
