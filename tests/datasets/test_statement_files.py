"""Files of statements become facts and come back, part by part: nothing is lost, and nothing is invented."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from relatum import load, save
from relatum.datasets.statement_files import StatementReader, recognise_form, statements_of
from relatum.datasets.text_lines import LONGEST_LINE
from relatum.statements.forms import FORMS
from relatum.statements.statement import Statement, fact_of, roles_of, statement
from support.made_statements import fits_wikipeople, line_of, made_statements
from support.malformed_statements import GOOD, MALFORMED
from support.mistakes import mistake


def written(folder: Path, form: str, parts: dict[str, list[Statement]]) -> Path:
    folder.mkdir()
    for part, drawn in parts.items():
        name = FORMS[form].file_name.format(part)
        (folder / name).write_bytes(b"".join(line_of(form, one) + b"\n" for one in drawn))
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_statements_to_facts_on_disk_and_back_lose_and_invent_nothing(
    form: str, tmp_path: Path, count: Callable[[int, int], int]
) -> None:
    total = count(1000, 10_000)
    drawn = [one for one in made_statements(form, 2 * total, seed=7) if fits_wikipeople(one)][:total]
    parts = {"train": drawn[: total // 2], "valid": drawn[total // 2 : -100], "test": drawn[-100:]}
    split = load(written(tmp_path / "source", form, parts), statements=form)
    assert {part: len(graph) for part, graph in split.parts.items()} == {part: len(some) for part, some in parts.items()}
    repeated = sum(len(some) - len(set(some)) for some in parts.values())
    assert split.statement_counts == {
        "statements": total, "deprecated": 0, "folded": 0, "dropped_qualifiers": 0, "repeated": repeated
    }  # fmt: skip
    assert Counter(split.train) == Counter(map(fact_of, parts["train"]))
    assert all(relation.roles == roles_of(relation.name) for relation in split.schema)
    save(split, tmp_path / "facts")
    facts = load(tmp_path / "facts")
    assert facts.parts == split.parts
    save(facts, tmp_path / "back", statements=True)
    for part, some in parts.items():
        path = tmp_path / "back" / f"n-ary_{part}.json"
        assert Counter(statements_of(facts.parts[part])) == Counter(some)
        assert Counter(StatementReader(FORMS["wikipeople"], path).read(path)) == Counter(some)


@pytest.mark.parametrize("form", FORMS)
def test_a_directory_and_a_file_are_recognised_plain_or_packed_and_so_is_a_cached_copy(form: str, tmp_path: Path) -> None:
    name = FORMS[form].file_name.format("train")
    for number, (content, packed) in enumerate([(GOOD[form] + b"\n", ""), (gzip.compress(GOOD[form] + b"\r\n"), ".gz")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / (name + packed)).write_bytes(content)
        assert recognise_form(folder) is FORMS[form]
        expected = list(load(folder, statements=form).train)
        assert len(expected) == 1
        for source in (folder, folder / (name + packed), folder):
            assert list(load(source).train) == expected
            assert load(source).statement_counts["statements"] == 1


def test_what_could_be_anything_else_is_not_taken_for_statements(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_bytes(GOOD["wikipeople"])
    (tmp_path / "train.txt").write_text("sold\tdrew\talex\n")
    assert list(load(tmp_path).train) == [("sold", "drew", "alex")]  # as it always was
    with mistake("two-train-files"):
        load(tmp_path, statements="wikipeople")
    (tmp_path / "train.txt").write_bytes(GOOD["wd50k"])
    (tmp_path / "train.json").rename(tmp_path / "train.tsv")
    with mistake("two-train-files"):
        load(tmp_path)
    (tmp_path / "facts.jsonl").write_bytes(GOOD["wikipeople"])
    with mistake("not-facts"):
        load(tmp_path / "facts.jsonl")
    assert len(load(tmp_path / "facts.jsonl", statements="wikipeople").train) == 1
    (tmp_path / "empty").mkdir()
    with mistake("no-statements"):
        load(tmp_path / "empty", statements="wikipeople")


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("sold\tdrew\talex\n")
    with mistake("option-not-for-data"):
        load(tmp_path, min_count=5)
    with mistake("setting-out-of-range"):
        load(tmp_path, min_count=-1)
    with mistake("registered-layout"):
        load("example", statements="wd50k")


def test_rare_relations_are_folded_by_what_is_rare_in_train(tmp_path: Path) -> None:
    common = [statement("P1", f"a{n}", "b", [("start", "x")]) for n in range(5)]
    rare = statement("P1", "a", "b", [("start", "x"), ("end", "y")])
    parts = {"train": [*common, rare], "test": [rare] * 9}  # not rare in test, but that must not count
    folder = written(tmp_path / "source", "wd50k", parts)
    assert [relation.name for relation in load(folder, statements="wd50k").schema] == ["P1+end+start", "P1+start"]
    split = load(folder, statements="wd50k", min_count=5)
    assert [relation.name for relation in split.schema] == ["P1+start"]
    assert (len(split.train), len(split.test)) == (6, 9)
    assert split.statement_counts["folded"] == split.statement_counts["dropped_qualifiers"] == 10
    assert load(folder, statements="wd50k", min_count=5).statement_counts == split.statement_counts  # from the cache
    assert len(load(folder, statements="wd50k").schema) == 2


@pytest.mark.parametrize("form", FORMS)
def test_bad_lines_are_skipped_and_listed_or_named(form: str, tmp_path: Path) -> None:
    bad = [line for name, line in MALFORMED if name == form]
    path = tmp_path / "train.json"
    path.write_bytes(b"\n".join([GOOD[form], *(line for one in bad for line in (one, GOOD[form]))]) + b"\n")
    split = load(path, statements=form, skip_bad=True)
    assert len(split.train) == len(bad) + 1
    assert [line.partition(": ")[0] for line in split.skipped] == [f"train.json:{2 * n + 2}" for n in range(len(bad))]
    with mistake("statement-fields" if form == "wd50k" else "bad-json-line", place=f"{path}:2"):
        load(path, statements=form)


def test_a_damaged_packed_file_and_an_endless_line_are_format_errors(tmp_path: Path) -> None:
    (tmp_path / "train.json.gz").write_bytes(gzip.compress(GOOD["wikipeople"])[:-9])
    with mistake("damaged-gzip"):
        load(tmp_path)
    path = tmp_path / "long.json"
    with path.open("wb") as file:
        file.truncate(LONGEST_LINE + (8 << 20))
    with mistake("line-too-long", place=path):
        load(path, statements="wikidata")


def test_facts_that_came_from_no_statements_are_not_written_as_such(tmp_path: Path) -> None:
    with mistake("not-a-statement"):
        save(load("example"), tmp_path / "out", statements=True)
    assert not any(tmp_path.iterdir())
