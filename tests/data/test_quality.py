"""Descriptions and findings equal what a plain count gives."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

from hypothesis import given

from relatum import Split, load
from relatum.data.near_names import find_near_names
from relatum.data.quality import check_quality, describe, in_train
from support.strategies import Fact, splits


def is_near(fact: Fact, known: set[Fact]) -> bool:
    """Return whether a known fact of the same relation differs from `fact` in exactly one position."""
    return any(
        other[0] == fact[0] and len(other) == len(fact) and sum(a != b for a, b in zip(other, fact, strict=True)) == 1
        for other in known
    )


@given(splits)
def test_findings_equal_a_plain_count(split: Split) -> None:
    health = check_quality(split)
    rows = {part: list(graph) for part, graph in split.parts.items()}
    seen = {name for fact in rows["train"] for name in fact[1:]}
    relations = {fact[0] for fact in rows["train"]}
    for part, found in rows.items():
        assert health.duplicates[part] == len(found) - len(set(found))
    for a, b in itertools.combinations(rows, 2):
        assert health.overlap[f"{a}/{b}"] == len(set(rows[a]) & set(rows[b]))
    for part in ("valid", "test"):
        assert health.unseen_entities[part] == len({name for fact in rows[part] for name in fact[1:]} - seen)
        assert health.unseen_relations[part] == len({fact[0] for fact in rows[part]} - relations)
        strange = [fact for fact in rows[part] if fact[0] not in relations or not set(fact[1:]) <= seen]
        assert health.unseen_facts[part] == len(strange)
    counts = [sum(fact[1:].count(name) for fact in rows["train"]) for name in split.entities]
    assert health.degree_one == counts.count(1)
    known = {*rows["train"], *rows["valid"]}
    for arity, (near, total) in health.close.items():
        same = [fact for fact in rows["test"] if len(fact) == arity + 1]
        assert (near, total) == (sum(is_near(fact, known) for fact in same), len(same))
    for part in ("valid", "test"):
        held = in_train(split, part)
        assert (held.facts, held.total) == (len(set(rows[part]) & set(rows["train"])), len(set(rows[part])))
    assert health.near_names["entity"] == find_near_names(split.entities.names)
    assert json.loads(json.dumps(health.to_json()))["degree_one"] == health.degree_one


@given(splits)
def test_descriptions_add_up(split: Split) -> None:
    found = describe(split).to_json()
    assert sum(found["arity"].values()) == found["train"] + found["valid"] + found["test"]
    assert found["entities"] == len(split.entities)


def test_the_findings_of_the_published_files(benchmark_data: Path) -> None:
    rel_er = check_quality(load("rel-er"))
    assert rel_er.duplicates == {"train": 7, "valid": 0, "test": 2}
    assert rel_er.overlap["train/test"] == 1
    assert all(near.groups == 0 for near in rel_er.near_names.values())
    fb_auto = check_quality(load("fb-auto"))
    assert (fb_auto.unseen_entities["test"], fb_auto.unseen_facts["test"]) == (187, 258)
    assert fb_auto.skipped == ("train.txt:6779: relation 'model' has no entities",)
    near = check_quality(load("jf17k")).close
    assert round(sum(n for a, (n, _) in near.items() if a > 2) / sum(t for a, (_, t) in near.items() if a > 2), 2) == 0.96


def test_facts_of_hundreds_of_positions_are_checked_in_time(tmp_path: Path) -> None:
    arity = 400
    train = [["r", *(f"e{(7 * n + 20 * k) % 50}" for n in range(arity))] for k in range(5)]
    test = [[*train[k][: k + 1], "other", *train[k][k + 2 :]] for k in range(3)] + [["r", *["e1"] * arity]]
    for part, rows in (("train", train), ("test", test)):
        (tmp_path / f"{part}.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    split = load(tmp_path, use_cache=False)
    began = time.process_time()
    assert check_quality(split).close[arity] == (3, 4)
    assert time.process_time() - began < 1.5
