"""`relatum data` on facts with qualifiers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relatum import load
from support.command_line import Relatum
from support.malformed_statements import GOOD

CURIE = '{"P166_h": "Q7186", "P166_t": "Q38104", "N": 4, "P1706": ["Q41269", "Q37463"]}\n'
MARRIED = '{"P26_h": "Q7186", "P26_t": "Q37463", "N": 2}\n'


@pytest.fixture
def people(tmp_path: Path) -> Path:
    folder = tmp_path / "people"
    folder.mkdir()
    (folder / "n-ary_train.json").write_text(CURIE + MARRIED * 2)
    (folder / "n-ary_test.json").write_text(MARRIED)
    return folder


def test_info_counts_relations_and_rare_ones(run: Relatum, people: Path) -> None:
    code, out, err = run("data", "info", str(people))
    assert (code, err) == (0, "")
    assert "rare relations, with fewer than 10 training facts: 2 of 2" in out
    assert "relations of statements: 2, of 2 main properties" in out
    assert "statements: 4, each a fact; 1 repeat another and are kept" in out
    found = json.loads(run("data", "info", str(people), "--json")[1])
    expected = {
        "relations": 2,
        "rare_relations": 2,
        "statement_relations": 2,
        "main_properties": 2,
        "arity": {"2": 3, "4": 1},
    }
    assert expected.items() <= found.items()
    assert found["statements"]["repeated"] == 1


def test_convert_writes_facts_with_roles_and_statements_back(run: Relatum, people: Path, tmp_path: Path) -> None:
    facts, back = tmp_path / "facts", tmp_path / "back"
    assert run("data", "convert", str(people), str(facts), "--from", "wikipeople")[0] == 0
    assert (
        facts / "train.txt"
    ).read_text() == "P166+P1706+P1706#2\tQ7186\tQ38104\tQ37463\tQ41269\n" + 2 * "P26\tQ7186\tQ37463\n"
    roles = "P166+P1706+P1706#2\tP166_h\tP166_t\tP1706\tP1706#2\nP26\tP26_h\tP26_t\n"
    assert (facts / "roles.txt").read_text() == roles
    assert "relations of statements: 2" in run("data", "info", str(facts))[1]
    assert run("data", "convert", str(facts), str(back), "--statements")[0] == 0
    assert load(back).train == load(people).train
    assert (back / "n-ary_test.json").read_text() == MARRIED


def test_what_folding_loses_is_reported(run: Relatum, people: Path, tmp_path: Path) -> None:
    code, out, _ = run("data", "convert", str(people), str(tmp_path / "out"), "--min-count", "2")
    assert code == 0
    assert "folded: 1 statements into more frequent relations, without 2 qualifiers" in out
    found = json.loads(run("data", "convert", str(people), str(tmp_path / "two"), "--min-count", "2", "--json")[1])
    assert found["statements"] == {"statements": 4, "deprecated": 0, "folded": 1, "dropped_qualifiers": 2, "repeated": 1}


def test_deprecated_statements_are_reported(run: Relatum, tmp_path: Path) -> None:
    line = GOOD["wikidata"].replace(b'"mainsnak"', b'"rank": "deprecated", "mainsnak"')
    (tmp_path / "train.json").write_bytes(b"[\n" + GOOD["wikidata"] + b",\n" + line + b"\n]\n")
    code, out, _ = run("data", "convert", str(tmp_path), str(tmp_path / "out"))
    assert code == 0
    assert "left out: 1 deprecated statements" in out


def test_a_wrong_form_is_named(run: Relatum, people: Path, tmp_path: Path) -> None:
    code, _, err = run("data", "convert", str(people), str(tmp_path / "out"), "--from", "wd50k")
    assert code == 2
    assert "people holds statements in the form wikipeople, not wd50k; name that one" in err
