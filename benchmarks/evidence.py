"""What evidence costs: finding its rules against ranking the valid facts, and ranking with it against ranking without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.measure import Ratio, in_turn, seconds
from relatum import KnownAnswers, Spec, load
from relatum.evidence.evidence import FEATURES, Evidence
from relatum.evidence.mining import mine
from relatum.inference.ranking import rank
from relatum.inference.validation import sample
from relatum.models import MODELS
from relatum.training.loop import start

FACTS = 2_000


def ratios() -> Iterator[Ratio]:
    """Measure on JF17K, d 200 and w 2, with parameters as they start: what they are does not matter for time."""
    split = load("jf17k")
    spec = Spec("jf17k", dim=200, window=2)
    model = MODELS[spec.model](split.train, spec.settings)
    parameters = start(model, spec.training, 0).parameters
    evidence = Evidence(split.train, mine(split.train))
    evidence.common = np.ones(FEATURES)
    facts, known = sample(split.valid, FACTS), KnownAnswers(split.train, split.valid)
    ranked = partial(rank, model, parameters, facts, known, split.train)
    ranked(evidence)  # indexes are made when they are first wanted
    plain, both = in_turn(lambda: seconds(ranked, 1), lambda: seconds(partial(ranked, evidence), 1))
    detail = f"{both:.2f} s with {len(list(evidence))} rules, {plain:.2f} s without, {len(facts)} facts of JF17K"
    yield Ratio("ranking with evidence against ranking without", plain / both, 1 / 1.5, "x", detail)
    mining = seconds(lambda: mine(split.train), 2)
    whole = plain * len(split.valid) / len(facts)
    detail = f"{mining:.2f} s against {whole:.2f} s for a ranking of all valid facts of JF17K"
    yield Ratio("finding soft rules against ranking the valid facts", whole / mining, 2.0, "x", detail)
