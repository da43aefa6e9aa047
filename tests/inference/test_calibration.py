"""Scores become probabilities that hold what they say; the fit is what its definition says, by plain loops."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers, RelationSchema
from relatum.inference.calibration import (
    Calibration,
    CalibrationSample,
    Reliability,
    draw_sample,
    fit_calibration,
    reliability,
)
from support.made_models import made_case, made_graph
from support.mistakes import mistake

PRIOR, WEAK = 4.0, 1e-3  # how strongly a relation is pulled to the common fit, and that to slope 1 and offset 0


def sample(counts: list[tuple[int, int]], seed: int = 0, apart: float = 1.5) -> CalibrationSample:
    """Return so many facts and negatives of each relation, on scales of their own, with odd weights."""
    rng = np.random.default_rng(seed)
    relation = np.repeat(np.arange(len(counts)), [sum(each) for each in counts])
    true = np.concatenate([np.arange(sum(each)) < each[0] for each in counts])
    score = (relation + 1) * (rng.normal(0, 1, len(relation)) + apart * true) - 7.0 * relation
    return CalibrationSample(relation, score, true, rng.uniform(0.2, 2, len(relation)))


def mean(pairs: list[tuple[float, float]]) -> float:
    """Return the mean of values by weights."""
    return sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs)


def scale(given: CalibrationSample, relations: int) -> tuple[list[float], float, list[int]]:
    """Return the middle of each relation, the spread, and which relations have both facts and negatives."""
    rows = list(zip(given.relation, given.score, given.true, given.weight, strict=True))
    means = {
        (relation, true): mean(chosen)
        for relation in range(relations)
        for true in (False, True)
        if (chosen := [(score, weight) for r, score, t, weight in rows if r == relation and t == true])
    }
    both = [relation for relation in range(relations) if {(relation, False), (relation, True)} <= means.keys()]
    spread = math.sqrt(mean([((score - means[r, bool(t)]) ** 2, weight) for r, score, t, weight in rows]))
    gaps = [means[relation, True] - means[relation, False] for relation in both]
    gap = sum(gaps) / len(gaps) if gaps else 0.0
    anywhere = mean([(score, weight) for _, score, _, weight in rows])
    middles = []
    for relation in range(relations):
        if relation in both:
            middles.append((means[relation, True] + means[relation, False]) / 2)
        else:
            middles.append(means[relation, False] + gap / 2 if (relation, False) in means else anywhere)
    return middles, spread, both


def pull(given: CalibrationSample, standard: np.ndarray, chosen: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the slope of the weighted log loss of some facts, by both parameters."""
    wrong = given.weight[chosen] * (1 / (1 + np.exp(-(at[0] * standard[chosen] + at[1]))) - given.true[chosen])
    return np.array([(wrong * standard[chosen]).sum(), wrong.sum()])


@pytest.mark.parametrize(
    "counts",
    [
        [(300, 400), (3, 2), (40, 90), (0, 30), (0, 0)],
        [(5, 5), (2, 9), (0, 0)],
        [(2000, 100), (0, 7), (30, 0), (0, 0)],
    ],
)
@pytest.mark.parametrize("lighter", [1.0, 0.01])
def test_facts_and_prior_pull_equally(counts: list[tuple[int, int]], lighter: float) -> None:
    drawn, relations = sample(counts), len(counts)
    given = CalibrationSample(drawn.relation, drawn.score, drawn.true, lighter * drawn.weight)
    found = fit_calibration(given, relations)
    middles, spread, both = scale(given, relations)
    # On the common scale: a relation without anything has the common fit.
    slopes = found.slope * spread
    offsets = found.offset + found.slope * np.array(middles)
    common = np.array([slopes[-1], offsets[-1]])
    standard = (given.score - np.array(middles)[given.relation]) / spread
    usable = np.isin(given.relation, both)
    rest = pull(given, standard, usable, common) + WEAK * (common - [1.0, 0.0])
    assert rest == pytest.approx([0.0, 0.0], abs=1e-7)
    for relation in range(relations):
        own = np.array([slopes[relation], offsets[relation]])
        if relation in both:
            rest = pull(given, standard, given.relation == relation, own) + PRIOR * (own - common)
            assert rest == pytest.approx([0.0, 0.0], abs=1e-7)
        else:
            assert own == pytest.approx(common)


def test_facts_far_apart_are_fitted_as_well() -> None:
    """Newton's method alone would leap too far here."""
    given = sample([(400, 400), (0, 0)], apart=60)
    found = fit_calibration(given, 2)
    middles, spread, _ = scale(given, 2)
    common = np.array([found.slope[1] * spread, found.offset[1] + found.slope[1] * middles[1]])
    standard = (given.score - middles[0]) / spread
    rest = pull(given, standard, np.ones(800, np.bool_), common) + WEAK * (common - [1.0, 0.0])
    assert rest == pytest.approx([0.0, 0.0], abs=1e-7)


@pytest.mark.parametrize("counts", [[(40, 20)], [(60, 39)], [(50, 50)], [(100, 80), (0, 60)], [(600, 700)], [(9, 4)]])
def test_the_curve_has_the_share_of_facts_around_each_point(counts: list[tuple[int, int]]) -> None:
    given = sample(counts)
    found = fit_calibration(given, len(counts))
    usable = np.array([all(counts[relation]) for relation in given.relation])
    raw = (found.slope[given.relation] * given.score + found.offset[given.relation])[usable]
    rows = sorted(zip(raw, given.true[usable], given.weight[usable], strict=True), key=lambda row: row[0])
    number = max(1, min(20, len(rows) // 50))
    sizes = [len(rows) // number + (index < len(rows) % number) for index in range(number)]
    assert len(found.raw_logits) == len(found.calibrated_logits) == number
    begin, best = 0, -math.inf
    for index, size in enumerate(sizes):
        part = rows[begin : begin + size]
        begin += size
        share = (sum(weight for _, true, weight in part if true) + 0.5) / (sum(weight for *_, weight in part) + 1)
        best = max(best, math.log(share / (1 - share)))
        assert found.raw_logits[index] == pytest.approx(mean([(logit, weight) for logit, _, weight in part]))
        assert found.calibrated_logits[index] == pytest.approx(best)


def test_without_any_relation_that_has_both_there_is_a_plain_line() -> None:
    given = CalibrationSample(np.zeros(3, np.int64), np.array([1.0, 2.0, 6.0]), np.zeros(3, np.bool_), np.array([1.0, 1, 2]))
    found = fit_calibration(given, 2)
    spread = math.sqrt((2.75**2 + 1.75**2 + 2 * 2.25**2) / 4)
    assert found.slope == pytest.approx([1 / spread] * 2)
    assert found.offset == pytest.approx([-3.75 / spread] * 2)
    assert found.raw_logits.tolist() == found.calibrated_logits.tolist() == [0.0]
    assert found.probability(0, 3.75) == pytest.approx(0.5)


def test_scores_that_are_all_equal_have_a_finite_fit() -> None:
    found = fit_calibration(CalibrationSample(np.zeros(4, np.int64), np.ones(4), np.arange(4) < 2, np.ones(4)), 1)
    assert found.probability(0, 1.0) == pytest.approx(0.5)
    assert found.slope == pytest.approx([1e12])  # of one unit of nothing


def test_the_curve_goes_on_with_slope_one_beyond_its_points() -> None:
    curve = Calibration(np.array([2.0, 0.5]), np.array([1.0, 0.0]), np.array([-1.0, 0.0, 3.0]), np.array([-2.0, 1.0, 2.0]))
    raw = [-5.0, -1.0, -0.5, 0.0, 1.5, 3.0, 10.0]
    calibrated = [-6.0, -2.0, -0.5, 1.0, 1.5, 2.0, 9.0]
    for relation, scores in ((0, [(logit - 1) / 2 for logit in raw]), (1, [logit * 2 for logit in raw])):
        assert curve.raw_logit(relation, np.array(scores)) == pytest.approx(raw)
        assert curve.calibrated_logit(relation, np.array(scores)) == pytest.approx(calibrated)
        assert curve.probability(relation, np.array(scores)) == pytest.approx([1 / (1 + math.exp(-c)) for c in calibrated])
    assert Calibration(np.ones(1), np.zeros(1)).calibrated_logit(0, 3.0) == pytest.approx(3.0)


def test_reliability_is_by_ten_ranges_of_equal_width() -> None:
    probability = np.array([0.0, 0.095, 0.1, 0.15, 0.95, 1.0, 0.55, 0.85])
    true = np.array([False, True, False, True, True, False, True, False])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0])
    found = Reliability.of(probability, true, weight)
    points = [
        (0.19 / 3, 2 / 3, 3 / 11),
        (0.125, 0.5, 2 / 11),
        (0.55, 1.0, 1 / 11),
        (0.85, 0.0, 1 / 11),
        (3.85 / 4, 0.75, 4 / 11),
    ]
    assert [[pytest.approx(value) for value in point] for point in points] == [list(point) for point in found.curve]
    assert found.error == pytest.approx((1.81 + 0.75 + 0.45 + 0.85 + 0.85) / 11)
    squares = [0, 2 * 0.905**2, 0.1**2, 0.85**2, 3 * 0.05**2, 1, 0.45**2, 0.85**2]
    assert found.brier == pytest.approx(sum(squares) / 11)
    assert found.to_json()["brier"] == found.brier
    assert found.to_json()["ece"] == found.error
    assert found.to_json()["reliability"][2] == {
        "predicted": pytest.approx(0.55),
        "observed": pytest.approx(1.0),
        "share": pytest.approx(1 / 11),
    }


def test_reliability_of_a_sample_is_that_of_its_probabilities() -> None:
    given = sample([(30, 30), (10, 40)])
    found = fit_calibration(given, 2)
    expected = Reliability.of(found.probability(given.relation, given.score), given.true, given.weight)
    assert reliability(found, given) == expected


SCHEMA = Hypergraph.of([("a", "x"), ("b", "x")]).schema
GOOD = {"slope": [1, 0], "offset": [0, 0], "raw_logits": [0.0, 0.0, 1.0], "calibrated_logits": [0.0, 1.5, 1.5]}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"slope": {}}, "slope"),
        ({"slope": "x"}, "slope"),
        ({"slope": [[1], [1, 2]]}, "slope[0]"),
        ({"slope": [1, -1e-9]}, "slope[1]"),
        ({"slope": [1, 1e300]}, "slope[1]"),
        ({"slope": [True, 1]}, "slope[0]"),
        ({"slope": ["1", 1]}, "slope[0]"),
        ({"offset": [0, math.nan]}, "offset[1]"),
        ({"offset": [math.inf, math.inf]}, "offset[0]"),
        ({"raw_logits": [0.0, math.nan, 1.0]}, "raw_logits[1]"),
        ({"calibrated_logits": [0.0, 1.0, math.inf]}, "calibrated_logits[2]"),
        ({"slope": [1, 1, 1]}, "slope"),
        ({"slope": 1.0}, "slope"),
        ({"offset": [0]}, "offset"),
        ({"raw_logits": 0.0, "calibrated_logits": 0.0}, "raw_logits"),
        ({"raw_logits": [[0.0]], "calibrated_logits": [[0.0]]}, "raw_logits[0]"),
        ({"raw_logits": [], "calibrated_logits": []}, "raw_logits"),
        ({"raw_logits": [0.0]}, "calibrated_logits"),
        ({"raw_logits": [0.0, -0.5, 1.0]}, "raw_logits"),
        ({"calibrated_logits": [0.0, 2.0, 1.5]}, "calibrated_logits"),
        ({"other": 1}, ""),
    ],
)
def test_whatever_is_wrong_with_a_file_is_named(changes: dict[str, object], place: str) -> None:
    assert Calibration.from_json(GOOD, schema=SCHEMA).to_json() == GOOD
    with mistake("damaged-file", place=place):
        Calibration.from_json({**GOOD, **changes}, schema=SCHEMA)


@pytest.mark.parametrize("nothing", [[], None, "slope", {}])
def test_what_is_no_calibration_is_refused(nothing: object) -> None:
    with mistake("damaged-file", place=""):
        Calibration.from_json(nothing, schema=SCHEMA)


def test_nothing_new_is_certain() -> None:
    sure = Calibration(np.array([1e30]), np.zeros(1))
    assert 0 < sure.probability(0, -1e30) < sure.probability(0, 1e30) < 1


def chain(size: int) -> Hypergraph:
    """Return facts of two columns, of which the first holds few entities, of one and of three columns."""
    names = [f"e{number:03}" for number in range(size)]
    facts = [("few", names[number % 4], name) for number, name in enumerate(names)]
    facts += [("met", *names[number : number + 3]) for number in range(size - 2)]
    return Hypergraph.of(facts, [RelationSchema("alone", 2)])


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Return the facts and negatives that are scored, in their order."""
    found: list[tuple[int, ...]] = []

    def recording(_: object, __: object, relations: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        found.extend(tuple(fact) for fact in torch.cat([relations[None], columns]).T.tolist())
        return torch.arange(len(found) - len(relations), len(found)).float()

    monkeypatch.setattr("relatum.inference.calibration.score", recording)
    return found


def test_half_of_the_negatives_come_from_the_column_and_any_entity_may(seen: list[tuple[int, ...]]) -> None:
    graph = chain(60)
    case = made_case("m-distmult", graph)
    relation, size = graph.schema.id("few"), 60
    drawings: list[list[tuple[int, ...]]] = []
    replaced: list[int] = []
    for seed in range(30):
        seen.clear()
        given = draw_sample(case.model, {}, graph, KnownAnswers(graph), graph, seed)
        drawings.append(list(seen))
        assert given.relation.tolist() == [fact[0] for fact in seen]
        assert given.score.tolist() == list(range(len(seen)))
        assert given.weight.tolist() == [
            1.0 if true else 1 / (len(fact) - 1) for fact, true in zip(seen, given.true, strict=True)
        ]
        false = [fact for fact, true in zip(seen, given.true, strict=True) if not true and fact[0] == relation]
        replaced += [fact[1] for fact in false[:size]]  # at the first position, which holds four entities
    assert set(replaced) == set(range(60))
    share = sum(entity < 4 for entity in replaced) / len(replaced)
    assert 0.42 < share < 0.55  # half of them, but for draws that hit a fact
    assert drawings[0] != drawings[1]
    seen.clear()
    draw_sample(case.model, {}, graph, KnownAnswers(graph), graph)
    assert seen == drawings[0]


def test_negatives_are_any_entities_where_the_column_holds_one_alone(seen: list[tuple[int, ...]]) -> None:
    names = [f"e{number:02}" for number in range(20)]
    graph = Hypergraph.of([("one", "e10", name) for name in names])
    case = made_case("m-distmult", graph)
    replaced: set[int] = set()
    for seed in range(30):
        seen.clear()
        given = draw_sample(case.model, {}, graph, KnownAnswers(graph), graph, seed)
        replaced |= {fact[1] for fact, true in zip(seen, given.true, strict=True) if not true}
    assert replaced == set(range(20)) - {10}


def test_a_relation_without_held_out_facts_has_negatives_of_a_hundred_training_facts(seen: list[tuple[int, ...]]) -> None:
    train = chain(150)
    case = made_case("m-distmult", train)
    held = Hypergraph(train.entities, train.schema, [])
    few = train.table("few").columns
    given = draw_sample(case.model, {}, held, KnownAnswers(train), train)
    assert not given.true.any()
    relation = train.schema.id("few")
    false = [fact for fact in seen if fact[0] == relation]
    assert len(false) == 200  # one at each of two positions
    assert {fact[2] for fact in false[:100]} == set(few[1, :100].tolist())
    assert (given.relation == train.schema.id("alone")).sum() == 0


def test_plain_facts_beside_guesses_are_calibrated_too() -> None:
    """Facts of two kinds: no straight line in the logit fits both."""
    chance = np.random.default_rng(0)
    true = chance.random(20_000) < 0.5
    plain = chance.random(20_000) < 0.5
    score = chance.normal(np.where(true & plain, 12, 0) + np.where(true & ~plain, 1, 0), 1)
    half = np.arange(20_000) < 10_000
    made = CalibrationSample(np.zeros(20_000, np.int64), score, true, np.ones(20_000))
    first, second = (
        CalibrationSample(*(getattr(made, f.name)[part] for f in fields(CalibrationSample))) for part in (half, ~half)
    )
    found = fit_calibration(first, 1)
    assert reliability(found, second).error < 0.02
    grid = found.probability(0, np.linspace(-10, 30, 200))
    assert (np.diff(grid) >= 0).all()


def test_a_score_that_says_the_opposite_is_not_turned_round() -> None:
    score = np.arange(200.0)
    found = fit_calibration(CalibrationSample(np.zeros(200, np.int64), score, score < 100, np.ones(200)), 1)
    assert found.slope[0] == 0
    assert found.probability(0, 0.0) == found.probability(0, 199.0)


def test_negatives_differ_from_a_fact_in_one_entity_and_are_never_known(seen: list[tuple[int, ...]]) -> None:
    """On few entities, where a blind draw would soon hit a fact."""
    graph = made_graph(entities=6, facts=40)
    case = made_case("m-distmult", graph)
    made = draw_sample(case.model, {}, graph, KnownAnswers(graph), graph)
    facts = {tuple(row) for block in graph.blocks.values() for row in np.stack(block.rows).T.tolist()}
    assert {fact for fact, true in zip(seen, made.true, strict=True) if true} == facts
    false = [fact for fact, true in zip(seen, made.true, strict=True) if not true]
    assert false
    for fact in false:
        assert fact not in facts
        near = [other for other in facts if len(other) == len(fact) and other[0] == fact[0]]
        assert min(sum(a != b for a, b in zip(fact, other, strict=True)) for other in near) == 1


def test_facts_and_about_as_many_negatives_have_the_scores_of_the_model() -> None:
    graph = made_graph(entities=40, facts=30)
    case = made_case("m-distmult", graph)
    given = draw_sample(case.model, case.model.encode(case.parameters()), graph, KnownAnswers(graph), graph)
    for number, schema in enumerate(graph.schema):
        chosen = given.relation == number
        assert given.true[chosen].sum() == len(graph.table(schema.name))
        assert given.weight[chosen & ~given.true].sum() <= given.true[chosen].sum() + 1e-9
    assert (~given.true).sum() > given.true.sum() / 2
    assert np.isfinite(given.score).all()
