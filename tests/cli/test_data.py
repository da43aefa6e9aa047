"""`relatum data`: what people see and what programs read, of facts with qualifiers too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relatum import load
from support.command_line import Relatum
from support.malformed_statements import GOOD
from support.mistakes import code_of


def test_list_shows_every_registered_dataset(run: Relatum) -> None:
    code, out, _ = run("data", "list")
    assert code == 0
    for name in ("example", "jf17k", "fb-auto", "m-fb15k", "rel-er", "wn18rr"):
        assert name in out
    assert set(json.loads(run("data", "list", "--json")[1])) >= {"jf17k", "example"}


def test_info_is_a_table_for_people_and_one_json_object_for_programs(run: Relatum) -> None:
    code, out, err = run("data", "info", "example")
    assert (code, err) == (0, "")
    assert "example: 15 entities, 3 relations" in out
    assert "CC BY" not in out
    found = json.loads(run("data", "info", "example", "--json")[1])
    expected = {"entities": 15, "relations": 3, "train": 28, "valid": 3, "test": 5, "arity": {"2": 12, "3": 24}}
    assert expected.items() <= found.items()


def test_check_shows_findings(run: Relatum) -> None:
    code, out, err = run("data", "check", "example")
    assert (code, err) == (0, "")
    assert "repeated facts" in out
    assert "differ from one of train or valid in a single position" in out
    assert json.loads(run("data", "check", "example", "--json")[1])["close"]["2"] == {"close": 2, "test": 2}


def test_names_that_differ_only_in_what_is_overlooked_are_counted_and_shown(run: Relatum, tmp_path: Path) -> None:
    facts = [(f"user{n}", f"item{n % 7}") for n in range(20)] + [(f"user{n} ", "T\u0435a") for n in range(12)]
    (tmp_path / "train.txt").write_text("".join(f"likes\t{a}\t{b}\n" for a, b in facts) + "Likes\tuser1\tTea\n")
    code, out, _ = run("data", "check", str(tmp_path))
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["entity", "spaces", "12", "'user0'", r"'user0\x20'"] in rows
    assert ["entity", "look-alike", "characters", "1", "'Tea'", r"'T\u0435a'"] in rows
    assert ["relation", "case", "1", "'Likes'", "'likes'"] in rows
    found = json.loads(run("data", "check", str(tmp_path), "--json")[1])["near_names"]
    assert (found["entity"]["groups"], found["entity"]["names"]) == (13, 26)
    assert found["entity"]["kinds"] == {"spaces": 12, "look-alike characters": 1}
    assert len(found["entity"]["examples"]["spaces"]) == 3


def test_leaks_are_shown_with_what_they_follow_from(run: Relatum, tmp_path: Path) -> None:
    facts = [(f"a{number}", f"b{number % 7}", f"c{number % 5}") for number in range(30)]
    (tmp_path / "train.txt").write_text("".join(f"sold\t{a}\t{b}\t{c}\n" for a, b, c in facts))
    (tmp_path / "test.txt").write_text("".join(f"bought\t{b}\t{a}\t{c}\n" for a, b, c in facts[:20]))
    (tmp_path / "valid.txt").write_text("")
    code, out, _ = run("data", "check", str(tmp_path))
    assert code == 0
    assert "by permuting or dropping columns: 20 of 20, 100.0 %" in out
    assert "permute[1, 0, 2](sold)" in out
    (leak,) = json.loads(run("data", "check", str(tmp_path), "--json")[1])["leakage"]["leaks"]
    assert (leak["relation"], leak["source"], leak["columns"]) == ("bought", "sold", [1, 0, 2])
    assert (leak["follows_from"], leak["found"], leak["test"]) == ("permute[1, 0, 2](sold)", 20, 20)


def test_names_that_look_like_markup_are_shown_as_they_are(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "[red]").mkdir()
    (tmp_path / "[red]" / "train.txt").write_text("[bold]x[/bold]\ta\nbroken\n")
    code, out, _ = run("data", "info", str(tmp_path / "[red]"), "--skip-bad")
    assert code == 0
    assert "[red]" in out
    assert "skipped train.txt:2: relation 'broken' has no entities" in out


def test_convert_reads_odd_layouts_and_writes_plain_ones(run: Relatum, tmp_path: Path) -> None:
    source = tmp_path / "odd"
    source.mkdir()
    (source / "train.txt").write_text("# facts\ndrew\tsold\talex\n\n")
    (source / "test.txt").write_text("i0\tdrew\tsold\tdrew\n")
    columns = ["--relation-column", "1", "--relation-column", "test:2", "--ignore-column", "test:0"]
    code, out, err = run("data", "convert", str(source), str(tmp_path / "plain"), *columns, "--comments", "--blank-lines")
    assert (code, err) == (0, "")
    assert "train 1, valid 0, test 1" in out
    assert (tmp_path / "plain" / "train.txt").read_text() == "sold\tdrew\talex\n"
    assert (tmp_path / "plain" / "test.txt").read_text() == "sold\tdrew\tdrew\n"
    assert run("data", "convert", "example", str(tmp_path / "plain"))[0] == 2
    assert run("data", "convert", "example", str(tmp_path / "packed"), "--gzip")[0] == 0
    assert load(tmp_path / "packed").schema == load("example").schema


def test_a_bad_file_writes_nothing(run: Relatum, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("sold\tdrew\nmodel\n")
    code, _, err = run("data", "convert", str(tmp_path / "train.txt"), str(tmp_path / "out"))
    assert code == 2
    assert code_of(err) == "no-entities"
    assert [path.name for path in tmp_path.iterdir()] == ["train.txt"]


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
