"""Soft rules of the training facts: templates propose rules, which are judged by how often they name the right answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from relatum.data.hypergraph import Hypergraph
from relatum.data.vocabulary import Ids
from relatum.evidence.facts import FactStore, good
from relatum.evidence.matches import Matches, matching_rule
from relatum.evidence.paths import Paths
from relatum.evidence.soft_rule import SoftRule
from relatum.evidence.values import Values

TEMPLATES = ("match", "path", "value", "frequency")

_SAMPLED = 20_000  # facts of a relation whose pairs are looked for
_JUDGED = 1_000  # facts of a relation that a rule is judged by
_RULES = 60  # of matches, for one position, at most


def mine(
    facts: Hypergraph,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _: None,
    templates: Iterable[str] = TEMPLATES,
) -> list[SoftRule]:
    """Return the soft rules of facts, by relation and open position, the most confident first; the same for the same seed.

    Args:
        facts: the training facts.
        seed: which facts are drawn where a relation has many.
        advance: called with how many relations are done since the last call.
        templates: which of `TEMPLATES` propose rules.
    """
    store, rng, wanted = FactStore(facts), np.random.default_rng(seed), set(templates)
    samples = [_drawn(columns, _SAMPLED, rng) for columns in store.columns]
    matches = Matches(store, samples)
    samples = [_drawn(sample, _JUDGED, rng) for sample in samples]
    values, paths = Values(store, samples), Paths(store, samples, rng)
    found: list[SoftRule] = []
    for relation, sample in enumerate(samples):
        matched = matches.of(relation, sample)
        for position in range(len(sample)):
            able = [match for match in matched if any(one == position for one, _ in match[1])]
            rules: list[SoftRule] = []
            if "match" in wanted:
                read = good(store, (matching_rule(store, relation, position, match) for match in able), sample)
                rules += sorted(read, key=_doubt)[:_RULES]
            if "path" in wanted:
                rules += paths.rules(relation, position)
            if "value" in wanted:
                rules += values.rules(relation, position, [match for match in matched if match not in able])
            if "frequency" in wanted:
                rules += values.frequent(relation, position)
            found += sorted(rules, key=_doubt)
        advance(1)
    return found


def _doubt(rule: SoftRule) -> float:
    return -rule.confidence


def _drawn(columns: Ids, most: int, rng: np.random.Generator) -> Ids:
    size = columns.shape[1]
    drawn: Ids = columns if size <= most else columns[:, np.sort(rng.choice(size, most, replace=False))]
    return drawn
