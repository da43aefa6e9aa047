"""Evidence names candidates, adds to their scores what its weights say, survives writing, and lifts a weak model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import relatum
from relatum import Hypergraph, KnownAnswers, Split
from relatum.evidence.evidence import FEATURES, Evidence
from relatum.evidence.mining import mine
from support.mistakes import mistake
from support.strategies import restrict


def made() -> Split:
    """Return facts of which those held out are renamings of train facts: a rule knows them all."""
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 40, (400, 2)), axis=0).tolist()
    one, two = ([(name, f"e{a}", f"e{b}") for a, b in rows] for name in ("likes", "knows"))
    two = [(name, b, a) for name, a, b in two]
    graph = Hypergraph.of([*one, *two])
    held = {fact for number, fact in enumerate(two) if number % 5 < 2}

    train = [fact for fact in (*one, *two) if fact not in held]
    parts = train, sorted(held)[::2], sorted(held)[1::2]
    return Split(*(restrict(graph, part) for part in parts), source="made")


SPLIT = made()


def test_a_bonus_is_what_weights_make_of_what_rules_say() -> None:
    evidence = Evidence(SPLIT.train, mine(SPLIT.train))
    knows = SPLIT.schema.id("knows")
    questions = SPLIT.test.table("knows").columns
    assert evidence.bonus(knows, 0, questions) is None  # without weights nothing is added
    evidence.common = (np.arange(FEATURES) == 0).astype(np.float64)
    bonus, fired = evidence.bonus(knows, 0, questions), evidence.fired(knows, 0, questions)
    assert bonus is not None
    assert bonus.counts.sum() == len(fired.rows) == len(bonus.values)
    assert np.allclose(bonus.values, fired.features[:, 0])
    for number, answer in enumerate(questions[0].tolist()):
        assert answer in fired.entities[fired.rows == number]


def test_rules_support_what_they_name_and_nothing_else() -> None:
    evidence, knows = Evidence(SPLIT.train, mine(SPLIT.train)), SPLIT.schema.id("knows")
    facts = SPLIT.test.table("knows").columns
    assert evidence.supports(knows, facts).all()
    likes = set(map(tuple, SPLIT.train.table("likes").columns.T.tolist()))
    turned = np.array([fact for fact in facts[::-1].T.tolist() if tuple(fact[::-1]) not in likes], np.int32).T
    assert turned.shape[1]
    assert not evidence.supports(knows, turned).any()


def test_what_a_relation_never_has_twice_is_spoken_against() -> None:
    rng = np.random.default_rng(0)
    rows = [("plays", f"c{a}", f"c{b}", f"s{a}") for a, b in rng.integers(0, 20, (150, 2)).tolist() if a != b]
    graph = Hypergraph.of([*rows, *(("likes", f"c{a}", f"c{a}") for a in range(20))])
    evidence, plays = Evidence(graph, []), graph.schema.id("plays")
    evidence.common = (np.arange(FEATURES) == FEATURES - 1).astype(np.float64)
    questions = graph.table("plays").columns[:, :5]
    bonus = evidence.bonus(plays, 1, questions)
    assert bonus is not None
    for number in range(5):
        part = slice(bonus.starts[number], bonus.starts[number] + bonus.counts[number])
        assert set(bonus.pool[part].tolist()) == {questions[0, number], questions[2, number]}
        assert bonus.values[part] == pytest.approx(-np.log1p(graph.distinct().table("plays").columns.shape[1]))
    both = evidence.fired(graph.schema.id("likes"), 1, graph.table("likes").columns)
    assert not len(both.rows)
    unknown = np.full((3, 1), 10**6, np.int32)
    assert not len(evidence.fired(plays, 1, unknown).rows)


def test_a_run_keeps_its_evidence_which_lifts_it_above_the_embedding(tmp_path: Path) -> None:
    run = relatum.fit(SPLIT, tmp_path / "run", dim=20, epochs=3, evidence=True, progress=False)
    tested = run.evaluate()
    assert tested.embedding is not None
    assert tested.evidence is not None
    assert tested.evidence.metrics.mrr > 0.9
    assert tested.mrr > 0.9 > 0.6 > tested.embedding.metrics.mrr
    plain = tested.to_dict()
    assert plain["embedding"]["mrr"] < plain["mrr"]
    kept = json.loads((tmp_path / "run" / "evidence.json").read_text())
    assert kept["rules"]
    again = relatum.open(tmp_path / "run")
    assert again.evidence is not None
    assert again.evidence.to_json().items() <= kept.items()
    assert relatum.open(tmp_path / "run").evaluate().mrr == tested.mrr
    memory = relatum.fit(SPLIT, dim=20, epochs=3, evidence=True, progress=False)
    assert memory.evaluate().mrr == tested.mrr
    memory.save(tmp_path / "saved")
    assert relatum.open(tmp_path / "saved").evaluate().mrr == tested.mrr


def test_damaged_evidence_is_an_error_in_one_line(tmp_path: Path) -> None:
    relatum.fit(SPLIT, tmp_path / "run", dim=8, epochs=1, evidence=True, progress=False)
    whole = json.loads((tmp_path / "run" / "evidence.json").read_text())
    for change in ({"common": [1.0]}, {"rules": [{**whole["rules"][0], "rights": [1]}]}, {"weights": 3}, {"rules": [{}]}):
        (tmp_path / "run" / "evidence.json").write_text(json.dumps({**whole, **change}))
        with mistake("damaged-file"):
            relatum.open(tmp_path / "run").evaluate()


def test_an_update_carries_evidence_on_and_reads_the_new_facts() -> None:
    run = relatum.fit(SPLIT, dim=20, epochs=2, evidence=True, progress=False)
    wider = run.update([("likes", "e0", "newcomer")])
    assert wider.evidence is not None
    entity, knows = wider.entities.id("newcomer"), wider.schema.id("knows")
    fired = wider.evidence.fired(knows, 1, np.array([[entity], [0]], np.int32))
    assert wider.entities.id("e0") in fired.entities


def test_without_valid_facts_rules_are_found_but_weigh_nothing() -> None:
    nothing = Hypergraph(SPLIT.entities, SPLIT.schema, ())
    run = relatum.fit(
        Split(SPLIT.train, nothing, SPLIT.test, source="made"), dim=20, epochs=2, evidence=True, progress=False
    )
    assert run.evidence is not None
    assert not run.evidence.weights
    tested = run.evaluate()
    assert tested.embedding is not None
    assert tested.mrr == tested.embedding.metrics.mrr


@pytest.mark.everything
@pytest.mark.parametrize("model", ["m-distmult", "m-transh", "hype", "nalp", "neuinfer", "hinge", "g-mpnn"])
def test_evidence_speaks_beside_every_kind_of_model(model: str) -> None:
    run = relatum.fit(SPLIT, model=model, dim=8, epochs=1, evidence=True, progress=False)
    tested = run.evaluate()
    assert tested.embedding is not None
    assert tested.mrr > 0.8 > tested.embedding.metrics.mrr


def test_ranks_by_evidence_equal_a_plain_count() -> None:
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 12, (60, 2)), axis=0).tolist()
    facts = [("r", f"e{a}", f"e{b}") for a, b in rows] + [("s", f"e{b}", f"e{a}") for a, b in rows[::2]]
    graph = Hypergraph.of(facts)
    evidence = Evidence(graph, mine(graph))
    for known in (None, KnownAnswers(graph)):
        ranks = evidence.ranks(graph, known)
        number = 0
        for relation, schema in enumerate(graph.schema):
            columns = graph.table(schema.name).columns
            for position in range(2):
                fired = evidence.fired(relation, position, columns)
                for fact in range(columns.shape[1]):
                    scores = np.zeros(len(graph.entities))
                    scores[fired.entities[fired.rows == fact]] = fired.strength[fired.rows == fact]
                    answer = columns[position, fact]
                    mine_ = np.ones(len(scores), bool)
                    if known is not None:
                        mine_[known.lookup(np.array([relation], np.int32), columns[:, [fact]], position)[0]] = False
                    mine_[answer] = False
                    assert ranks.better[number] == np.sum(scores[mine_] > scores[answer])
                    assert ranks.equal[number] == np.sum(scores[mine_] == scores[answer])
                    number += 1
