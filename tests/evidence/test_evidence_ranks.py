"""Ranks by evidence alone equal a plain count over all entities."""

from __future__ import annotations

import numpy as np

from relatum import Hypergraph, KnownAnswers
from relatum.evidence.evidence import Evidence
from relatum.evidence.mining import mine


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
