"""Who counts and what is counted: scorers, evidence, tiles, the order of questions, and the interval by plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers, RelationSchema
from relatum.inference import ranking
from relatum.inference.ranking import Ranks, WholeScorer, mrr_interval, rank
from relatum.kernels.filters import Bonus, nothing_excluded
from support.made_models import made_case, made_graph
from support.mistakes import mistake

# Relations are in the order of their names; the second has no facts.
GRAPH = Hypergraph.of(
    [("a", *"xy"), ("a", *"yz"), ("a", *"zz"), ("c", *"xyz"), ("d", "x"), ("d", "w")], [RelationSchema("b", 2)]
)


class Recording:
    """A scorer that gives every question a count of its own, and evidence that says for which question it was wanted."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def bonus(self, relation: int, position: int, columns: np.ndarray) -> Any:
        return "bonus", relation, position, columns.shape

    def count_better(
        self, relation: int, columns: np.ndarray, position: int, excluded: Any, bonus: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        self.calls.append((relation, columns.tolist(), position, excluded.counts.tolist(), bonus))
        first = 100 * relation + 10 * position
        return first + np.arange(columns.shape[1]), first + 5 + np.arange(columns.shape[1])

    def score(self, relation: int, columns: np.ndarray) -> Any:
        raise NotImplementedError


def test_questions_stand_by_relation_position_and_fact() -> None:
    case, scorer = made_case("m-distmult", GRAPH), Recording()
    ranks = rank(case.model, case.parameters(), GRAPH, KnownAnswers(GRAPH), evidence=scorer, scorer=scorer)  # type: ignore[arg-type]
    names = [relation.name for relation in GRAPH.schema]
    expected = [
        (number, GRAPH.table(name).columns.tolist(), position)
        for number, name in enumerate(names)
        if name != "b"
        for position in range(GRAPH.schema[name].arity)
    ]
    assert [call[:3] for call in scorer.calls] == expected
    for relation, columns, position, excluded, bonus in scorer.calls:
        assert bonus == ("bonus", relation, position, (len(columns), len(columns[0])))
        known = KnownAnswers(GRAPH).lookup(
            np.full(len(columns[0]), relation, np.int32), np.array(columns, np.int32), position
        )
        assert excluded == known.counts.tolist()
    first = {"a": 0, "c": 3, "d": 4}
    rows = [
        (100 * number + 10 * position + n, 100 * number + 10 * position + 5 + n, first[names[number]] + n, number, position)
        for number, columns, position in expected
        for n in range(len(columns[0]))
    ]
    found = (ranks.better, ranks.equal, ranks.fact, ranks.relation, ranks.position)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == rows
    assert ranks.arity.tolist() == [GRAPH.schema[int(number)].arity for number in ranks.relation]


def test_without_known_answers_and_evidence_nothing_is_left_out_nor_added() -> None:
    case, scorer = made_case("m-distmult", GRAPH), Recording()
    rank(case.model, case.parameters(), GRAPH, None, scorer=scorer)
    assert all(not any(excluded) and bonus is None for *_, excluded, bonus in scorer.calls)


def test_no_facts_have_ranks_of_the_same_types() -> None:
    case = made_case("m-distmult", GRAPH)
    none = rank(case.model, case.parameters(), Hypergraph(GRAPH.entities, GRAPH.schema, []), None)
    some = rank(case.model, case.parameters(), GRAPH, None)
    for name in ("better", "equal", "fact", "relation", "arity", "position", "unseen"):
        assert getattr(none, name).shape == (0,)
        assert getattr(none, name).dtype == getattr(some, name).dtype


def test_every_fact_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    @contextmanager
    def recording(*given: Any) -> Iterator[Any]:
        seen.append(given)
        yield seen.append

    monkeypatch.setattr(ranking, "progress", recording)
    case = made_case("m-distmult", GRAPH)
    rank(case.model, case.parameters(), GRAPH, None)
    assert seen == [("ranking", 6), 3, 1, 2]


@pytest.mark.parametrize("name", ["reale", "m-distmult", "g-mpnn"])
def test_scores_are_those_of_the_model(name: str) -> None:
    graph = made_graph()
    case = made_case(name, graph)
    parameters = case.parameters().copy()
    parameters["entities"].requires_grad_()
    scorer = WholeScorer(case.model, parameters)
    for number, relation in enumerate(graph.schema):
        columns = graph.table(relation.name).columns
        with torch.no_grad():
            ids, rows = torch.full((columns.shape[1],), number), torch.from_numpy(columns.astype(np.int64))
            expected = case.model.score(case.model.encode(parameters), ids, rows)
        found = scorer.score(number, columns)  # though its parameters are those of a training that goes on
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tile", [None, 7])
def test_a_bonus_lifts_the_candidate_that_it_is_for(tile: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = made_graph()
    case = made_case("m-distmult", graph)
    scorer = WholeScorer(case.model, case.parameters())
    monkeypatch.setattr(ranking, "tile_size", lambda *_: tile)
    columns = graph.table(graph.schema[0].name).columns
    number = columns.shape[1]
    lifted = ((columns[0] + 1) % len(graph.entities)).astype(np.int32)  # another than the one that is there
    for amount in (1e6, -1e6):
        values = np.full(number, amount, np.float32)
        bonus = Bonus(lifted, np.arange(number), np.ones(number, np.int64), values)
        better, equal = scorer.count_better(0, columns, 0, nothing_excluded(number), bonus)
        plain, ties = scorer.count_better(0, columns, 0, nothing_excluded(number), None)
        other = columns.copy()
        other[0] = lifted
        own, rival = scorer.score(0, columns), scorer.score(0, other)
        was = rival > own
        assert np.array_equal(better, plain - was + (amount > 0))
        assert np.array_equal(equal, ties - (rival == own))


def test_tiles_give_the_same_counts_and_name_the_relation_too(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = made_graph()
    case = made_case("m-distmult", graph)
    parameters = {name: (2 * tensor).round() for name, tensor in case.parameters().items()}  # sums are exact
    whole = rank(case.model, parameters, graph, KnownAnswers(graph))
    used: list[int] = []
    tiles = ranking.count_in_tiles

    def counted(*given: Any) -> Any:
        used.append(given[-1])
        return tiles(*given)

    monkeypatch.setattr(ranking, "count_in_tiles", counted)
    assert np.array_equal(rank(case.model, parameters, graph, KnownAnswers(graph)).better, whole.better)
    assert not used
    monkeypatch.setattr(ranking, "tile_size", lambda *_: 7)
    tiled = rank(case.model, parameters, graph, KnownAnswers(graph))
    assert set(used) == {7}
    assert np.array_equal(tiled.better, whole.better)
    assert np.array_equal(tiled.equal, whole.equal)
    parameters["entities"][0] = torch.nan
    with mistake("not-finite"):
        rank(case.model, parameters, graph, KnownAnswers(graph))


def slow_interval(ranks: Ranks, share: float, resamples: int, seed: int) -> tuple[float, float]:
    facts = sorted(set(ranks.fact.tolist()))
    gains = [[1 / r for r, fact in zip(ranks.realistic, ranks.fact, strict=True) if fact == each] for each in facts]
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(resamples):
        drawn = [gain for number in rng.integers(0, len(facts), len(facts)) for gain in gains[number]]
        means.append(sum(drawn) / len(drawn))
    low, high = np.quantile(means, [(1 - share) / 2, 1 - (1 - share) / 2])
    return float(low), float(high)


@pytest.mark.parametrize("given", [{}, {"share": 0.5, "resamples": 40, "seed": 3}, {"share": 0.8}])
def test_the_interval_holds_the_middle_share_of_resampled_means(given: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    fact = rng.integers(0, 40, 60) * 3  # some facts have several questions, some numbers have no fact
    zeros = np.zeros(60, np.int64)
    ranks = Ranks(rng.integers(0, 99, 60), rng.integers(0, 3, 60), fact, zeros, zeros, zeros, zeros > 0)
    expected = slow_interval(ranks, **{"share": 0.95, "resamples": 1000, "seed": 0, **given})
    assert mrr_interval(ranks, **given) == pytest.approx(expected, rel=1e-12)
