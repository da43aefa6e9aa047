"""How held-out facts rank by evidence alone: candidates that no rule names stand together behind those that one does."""

from __future__ import annotations

import numpy as np

from relatum.arrays import Int64
from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.data.vocabulary import Ids
from relatum.evidence.evidence import Evidence
from relatum.evidence.facts import other_answers
from relatum.inference.ranking import Ranks


def rank_by_evidence(evidence: Evidence, facts: Hypergraph, known: KnownAnswers | None) -> Ranks:
    """Return how every position of every fact ranks by the confidence of the rules that name it.

    Args:
        evidence: the rules.
        facts: the held-out facts.
        known: answers that do not count as better, other than the right one; None ranks raw.
    """
    seen = evidence.facts.degrees() > 0
    parts: list[Ranks] = []
    done = 0
    for relation, schema in enumerate(facts.schema):
        columns = facts.table(schema.name).columns
        size = columns.shape[1]
        for position in range(schema.arity if size else 0):
            better, equal = _counts(evidence, relation, position, columns, known)
            number, fact = np.full(size, relation), np.arange(done, done + size)
            parts.append(
                Ranks(
                    better,
                    equal,
                    fact,
                    number,
                    np.full(size, schema.arity),
                    np.full(size, position),
                    np.logical_not(seen[columns].all(axis=0)),
                )
            )
        done += size
    return Ranks.join(parts)


def _counts(
    evidence: Evidence, relation: int, position: int, columns: Ids, known: KnownAnswers | None
) -> tuple[Int64, Int64]:
    count, entities = columns.shape[1], len(evidence.facts.entities)
    truth, hidden = other_answers(known, relation, position, columns, entities)
    fired = evidence.fired(relation, position, columns)
    pairs = fired.rows * entities + fired.entities
    free = ~np.isin(pairs, hidden)
    pairs, strength, rows = pairs[free], fired.strength[free], fired.rows[free]
    where = np.minimum(np.searchsorted(pairs, truth), max(0, len(pairs) - 1))
    named = pairs[where] == truth if len(pairs) else np.zeros(count, np.bool_)
    bar = np.zeros(count, np.float32)
    bar[named] = strength[where[named]]
    better = np.bincount(rows, strength > bar[rows], minlength=count).astype(np.int64)
    level = np.bincount(rows, strength == bar[rows], minlength=count).astype(np.int64) - named
    total = np.bincount(rows, minlength=count)
    others = entities - np.bincount(hidden // entities, minlength=count) - total  # that no rule names
    return better, np.where(named, level, others - 1)
