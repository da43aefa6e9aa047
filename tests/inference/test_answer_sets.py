"""Sets of answers hold the missing one as often as is promised, and what cannot be promised is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from relatum import Hypergraph, Split
from relatum.arrays import Float64
from relatum.data.known_answers import KnownAnswers
from relatum.inference.answer_calibration import fit_answer_calibration
from relatum.inference.answer_sample import answer_sample
from relatum.inference.answer_sets import (
    OWN_FACTS,
    AnswerSets,
    conformities,
    fit_answer_sets,
    held_out_conformities,
    limit_of,
    require_coverage,
)
from relatum.inference.scoring import CandidateScorer
from relatum.models import MODELS
from support.made_models import SMALL, made_graph
from support.mistakes import mistake
from support.strategies import restrict

SCHEMA = Hypergraph.of([("big", "a", "b"), ("small", "a", "b", "c"), ("tiny", "a")]).schema
BIG, SMALLER, TINY = (SCHEMA.id(name) for name in ("big", "small", "tiny"))


def drawn(rng: np.random.Generator, big: int, small: int, tiny: int = 0) -> AnswerSets:
    """Return what so many facts say whose positions are alike, and at each relation and position of other values."""
    sizes = {BIG: big, SMALLER: small, TINY: tiny}
    found = [tuple(np.sort(one) for one in facts(rng, relation, sizes[relation])) for relation in range(len(SCHEMA))]
    return AnswerSets(SCHEMA, tuple(found))


def facts(rng: np.random.Generator, relation: int, count: int) -> Float64:
    """Return how well answers of facts conform, [arity, count]; what one fact is like all of its positions show."""
    arity = SCHEMA[relation].arity
    return rng.normal(size=count) + 0.3 * rng.normal(size=(arity, count)) + relation * np.arange(arity)[:, None]


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_of_data_that_could_be_swapped_so_many_are_held(coverage: float) -> None:
    """Over many calibrations: no fewer than promised, and hardly more; by own facts, and by those of several relations."""
    rng, rounds, size = np.random.default_rng(0), 300, 50
    for relation, big, few in ((BIG, OWN_FACTS, 3), (SMALLER, OWN_FACTS, 40)):
        held = []
        for _ in range(rounds):
            sets, new = drawn(rng, big, few), facts(rng, relation, size)
            limits = [sets.limit(relation, position, coverage) for position in range(len(new))]
            assert {one.scope for one in limits} == {"position" if relation == BIG else "rest"}
            held.append(np.mean([new[position] >= one.least for position, one in enumerate(limits)]))
        error = 4 * np.std(held) / math.sqrt(rounds)
        count = big if relation == BIG else few
        assert coverage - error <= np.mean(held) <= coverage + 1 / (count + 1) + error


@given(st.lists(st.integers(-5, 5), min_size=OWN_FACTS, max_size=300), st.floats(0.05, 0.98))
def test_the_limit_is_the_corrected_quantile(values: list[int], coverage: float) -> None:
    ordered = np.sort(np.array(values, np.float64))
    sets = AnswerSets(SCHEMA, ((ordered,) * 2, (np.empty(0),) * 3, (np.empty(0),)))
    kept = math.ceil((len(values) + 1) * coverage - 1e-9)  # of n + 1, the missing one among them
    limit = sets.limit(BIG, 0, coverage)
    assert limit.least == ordered[len(values) - kept]
    assert (limit.facts, limit.scope) == (len(values), "position")


def test_too_few_facts_are_refused_with_what_is_possible() -> None:
    rng = np.random.default_rng(0)
    sets = drawn(rng, 12, 7)
    assert sets.limit(BIG, 0, 0.95).facts == 19
    with mistake("coverage-out-of-reach"):
        sets.limit(BIG, 0, 0.96)
    with mistake("coverage-out-of-reach"):
        drawn(rng, 0, 0).limit(BIG, 0, 0.5)
    own = drawn(rng, 150, 60)
    assert own.limit(BIG, 1, 0.99).scope == "position"
    assert own.limit(BIG, 1, 0.995).scope == "all"  # 150 facts promise 99.3 %, all together 99.5 %
    assert own.limit(SMALLER, 1, 0.99).scope == "all"
    for wrong in (0, 1, 90, -0.1, math.nan, True, "0.9"):
        with mistake("bad-coverage"):
            require_coverage(wrong)  # type: ignore[arg-type]


def test_a_column_promises_no_more_than_its_values_can_hold() -> None:
    likely = np.array([0.0] * 10 + [0.5] * 89)
    assert limit_of(0.85, likely).least == 0.5
    with mistake("coverage-out-of-reach"):
        limit_of(0.95, likely)
    with mistake("coverage-out-of-reach"):
        limit_of(0.9, likely[:3])


def test_plain_data_says_it_and_anything_else_is_refused() -> None:
    sets = drawn(np.random.default_rng(0), 5, 3, 1)
    plain = json.loads(json.dumps(sets.to_json()))
    assert AnswerSets.from_json(plain, schema=SCHEMA).to_json() == sets.to_json()
    lists = plain["conformities"]
    unequal, falling, deep = [[1.0], [1.0, 2.0]], [[2.0, 1.0], [1.0, 2.0]], [[[1.0]], [[1.0]]]
    firsts = (lists[0][:1], unequal, falling, deep, [[math.nan], [1.0]], [["x"], [1.0]], 5)
    for wrong in (None, lists[:1], *([first, *lists[1:]] for first in firsts)):
        with mistake("damaged-file"):
            AnswerSets.from_json({**plain, "conformities": wrong}, schema=SCHEMA)


class Small:
    """A small model without training, what it is asked about, and how likely its answers are."""

    def __init__(self) -> None:
        whole = made_graph(entities=60, facts=30)
        rows = list(dict.fromkeys(whole))
        self.train, self.valid, self.test = (restrict(whole, part) for part in (rows[::2], rows[1::4], rows[3::4]))
        kind = MODELS["reale"]
        self.model = kind(self.train, kind.settings_type(**SMALL["reale"]))
        self.tables = self.model.encode(self.model.init_parameters(torch.Generator().manual_seed(0)))
        sample = list(answer_sample(self.scorer, self.train, self.valid))
        found = fit_answer_calibration(sample, Split(self.train, self.valid, self.test), 0.9)
        assert found is not None
        self.calibration = found

    def scorer(self, relation: int, known: KnownAnswers) -> CandidateScorer:
        return CandidateScorer(self.model, self.tables, relation, known)


@pytest.fixture(scope="module")
def small() -> Small:
    return Small()


def test_a_held_out_answer_conforms_as_it_does_when_it_is_asked_for(small: Small) -> None:
    """The fast path, all facts at once, and the slow one: each question by itself, with its own fact not known."""
    everything = KnownAnswers(small.train, small.valid)
    seen = deep = 0
    for relation, position, values in held_out_conformities(small.calibration, small.scorer, everything, small.valid):
        name = small.valid.schema[relation].name
        columns = small.valid.table(name).columns
        for number, fact in enumerate(columns.T.tolist()[:3]):
            others = [one for one in small.valid if one != (name, *(small.valid.entities[each] for each in fact))]
            known = KnownAnswers(small.train, restrict(small.valid, others))
            scorer, question = small.scorer(relation, known), np.array(fact, np.int32)[:, None]
            entities, scores, found = conformities(small.calibration, scorer, position, question)
            assert (np.diff(scores) <= 0).all()
            assert (np.diff(found) <= 1e-9).all()
            where = entities.tolist().index(fact[position])
            assert found[where] == pytest.approx(values[number], abs=1e-4)
            seen, deep = seen + 1, deep + (where > 32)
    assert seen > 50
    assert deep > 5


def test_without_validation_facts_there_is_none(small: Small) -> None:
    empty = Hypergraph(small.train.entities, small.train.schema, [])
    assert fit_answer_sets(small.calibration, small.scorer, small.train, empty) is None
    done: list[int] = []
    sets = fit_answer_sets(small.calibration, small.scorer, small.train, small.valid, done.append)
    assert sets is not None
    assert sum(done) == len(small.valid) == sum(map(sets.sampled, range(len(sets.schema))))
