"""The same scores in, the same ranks out: triples ranked here and by PyKEEN's evaluator, question by question."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers, Split
from relatum.inference.ranking import HITS, rank
from relatum.models import MODELS
from relatum.models.base import Parameters

DIM = 32


@pytest.fixture
def pykeen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return PyKEEN with a home of the test's own, or skip the test."""
    monkeypatch.setenv("PYSTOW_HOME", str(tmp_path))
    with warnings.catch_warnings(action="ignore"):
        found = pytest.importorskip("pykeen")
        for room in ("evaluation", "models", "triples"):
            pytest.importorskip(f"pykeen.{room}")
    return found


def triples(graph: Hypergraph) -> torch.Tensor:
    """Return the facts as PyKEEN has them: head, relation, tail."""
    block = graph.blocks[2]
    return torch.from_numpy(np.stack([block.columns[0], block.relations, block.columns[1]], 1).astype(np.int64))


def drawn_parameters(facts: Hypergraph, spread: float) -> Parameters:
    """Return whole numbers, drawn so that ranks are of all sizes: tails are near the heads they share a fact with.

    Sums of products of small whole numbers are exact in float32 in whatever order they are taken, so the scores are the same
    on both sides to the bit, and ties are ties. The smaller the spread, the more of them there are.
    """
    chance = torch.Generator().manual_seed(0)
    entities = torch.randn(len(facts.entities), DIM, generator=chance)
    heads, tails = torch.from_numpy(facts.blocks[2].columns.astype(np.int64))
    entities = entities.index_add(0, tails, entities[heads], alpha=1.5)
    relations = 1 + 0.3 * torch.randn(len(facts.schema), DIM, generator=chance)
    return {"entities": (spread * entities).round().clamp(-100, 100), "relations": (3 * relations).round().clamp(-9, 9)}


def made_triples() -> Split:
    """Return a small split of facts of arity 2, in which many questions have several right answers."""
    chance = np.random.default_rng(0)
    drawn = chance.integers(0, [5, 90, 7], (900, 3)).tolist()
    facts = {(f"r{relation}", f"e{head:02}", f"e{(head + relation * step) % 90:02}") for relation, head, step in drawn}
    graph = Hypergraph.of(sorted(facts))
    block = graph.blocks[2]
    part = chance.choice(3, len(block), p=[0.8, 0.1, 0.1])
    parts = [[(block.relations[part == number], block.columns[:, part == number])] for number in range(3)]
    return Split(*(Hypergraph.sort(graph.entities, graph.schema, chosen) for chosen in parts))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("spread", "tied"), [(10.0, 0.0), (0.5, 0.1)])
def test_ranks_of_made_triples_equal_those_of_pykeen(spread: float, tied: float, pykeen: Any) -> None:
    split = made_triples()
    parameters = drawn_parameters(split.test, spread)
    kind = MODELS["m-distmult"]
    model = kind(split.train, kind.settings_type(dim=DIM))
    ranks = rank(model, parameters, split.test, KnownAnswers(*split.parts.values()))

    factory = pykeen.triples.CoreTriplesFactory.create(
        triples(split.train), num_entities=len(split.train.entities), num_relations=len(split.train.schema)
    )
    peer = pykeen.models.DistMult(triples_factory=factory, embedding_dim=DIM, random_seed=0)
    with torch.no_grad():
        for table, mine in zip(peer.parameters(), (parameters["entities"], parameters["relations"]), strict=True):
            table.copy_(mine)
    evaluator = pykeen.evaluation.RankBasedEvaluator(clear_on_finalize=False)
    filtered = [triples(part) for part in split.parts.values()]
    found = evaluator.evaluate(peer, triples(split.test), batch_size=16, use_tqdm=False, additional_filter_triples=filtered)

    for rule in ("optimistic", "realistic", "pessimistic"):
        places = getattr(ranks, rule)
        for position, side in enumerate(("head", "tail")):
            assert np.array_equal(places[ranks.position == position], np.concatenate(evaluator.ranks[side, rule]))
        assert np.mean(1 / places) == pytest.approx(found.get_metric(f"both.{rule}.mrr"), abs=1e-6)
        for k in HITS:
            assert np.mean(places <= k) == pytest.approx(found.get_metric(f"both.{rule}.hits@{k}"), abs=1e-6)
    metrics = ranks.metrics
    assert metrics.mrr == pytest.approx(found.get_metric("mrr"), abs=1e-6)
    assert metrics.ties >= tied * len(ranks)
    assert 0.05 < metrics.mrr < 0.95
