"""Several threads may ask evidence at once: each gets what it would get alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pytest

from relatum import Hypergraph
from relatum.evidence.evidence import Evidence, Fired
from relatum.evidence.mining import mine


@pytest.mark.usefixtures("quick_switches")
def test_threads_get_what_one_gets_alone() -> None:
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 60, (900, 2)), axis=0).tolist()
    facts = Hypergraph.of([(name, f"e{a}", f"e{b}") for a, b in pairs for name in ("likes", "knows")])
    evidence, knows = Evidence(facts, mine(facts)), facts.schema.id("knows")
    questions = facts.table("knows").columns
    parts = [questions[:, start : start + 20] for start in range(0, 400, 20)]
    alone = [evidence.fired(knows, 0, part) for part in parts]

    def work(number: int) -> Fired:
        return evidence.fired(knows, 0, parts[number % len(parts)])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(400)))
    for number, one in enumerate(found):
        for field in fields(Fired):
            expected = getattr(alone[number % len(parts)], field.name)
            assert np.array_equal(getattr(one, field.name), expected), field.name
