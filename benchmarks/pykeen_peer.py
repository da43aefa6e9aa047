"""m-DistMult against PyKEEN's DistMult on WN18RR: an epoch of training, a full filtered evaluation, and the MRR they reach.

The same on both sides: facts, initial parameters, dimension, threads, Adagrad and its rate, 1024 facts a step, and for each
of them one softmax over the fact and 64 replacements, drawn from all entities whether they make a true fact or not.

- PyKEEN: sLCWA, `BasicNegativeSampler` with 64 negatives a fact (heads for one half of a batch, tails for the other) and
  cross-entropy. No constrainer and no regularizer: m-DistMult has none, and they would only cost PyKEEN time.
- Here: `per-fact` negatives, 32 for each of a fact's two positions. A step is cut into one group for each thread, which
  is how training uses threads.

PyKEEN's evaluator gets the fastest of several batch sizes; ours is timed together with the index of known answers.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from benchmarks.measure import Ratio, own_cache, seconds
from relatum import Hypergraph, KnownAnswers, Split, load
from relatum.inference.ranking import rank
from relatum.kernels import parallel
from relatum.models import MODELS
from relatum.models.base import Parameters
from relatum.training.loop import start, train
from relatum.training.settings import TrainingSettings

DIM, BATCH, NEGATIVES, RATE, EPOCHS = 200, 1024, 64, 0.1, 4
SIZES = (16, 32, 64, 128)  # of a batch in PyKEEN's evaluation, which makes an array of (batch, entities, dimension)


def ratios() -> Iterator[Ratio]:
    """Train both, an epoch of one after an epoch of the other, so that what slows the machine slows both; evaluate both."""
    torch.set_num_threads(parallel.threads())
    with own_cache(), warnings.catch_warnings(action="ignore"):
        split = load("wn18rr")
        ours = Ours(split)
        theirs = Theirs(split, ours.parameters)
        sides = (ours, theirs)
        times = [[seconds(partial(side.epoch, number), repeats=1) for side in sides] for number in range(EPOCHS)]
        yield _faster("an epoch of m-DistMult against PyKEEN", *np.min(times[1:], axis=0))  # the first one warms up

        mrr = [side.evaluate() for side in sides]
        mine, other = seconds(ours.evaluate), theirs.evaluation_time
        yield _faster("a full filtered evaluation against PyKEEN", mine, other)
        detail = f"{mrr[0]:.4f} against {mrr[1]:.4f} after {EPOCHS} epochs"
        yield Ratio("MRR of m-DistMult against PyKEEN", mrr[0] / mrr[1], 0.96, "x", detail)  # seeds differ by 1 %


def _faster(name: str, ours: float, theirs: float) -> Ratio:
    return Ratio(name, theirs / ours, 2.0, "x", f"{ours:.2f} against {theirs:.2f} s with {parallel.threads()} threads")


class Ours:
    """m-DistMult as this library trains and evaluates it."""

    def __init__(self, split: Split) -> None:
        kind, groups = MODELS["m-distmult"], parallel.threads()
        self.split, self.model = split, kind(split.train, kind.settings_type(dim=DIM))
        self.settings = TrainingSettings(
            batch_size=BATCH // groups,
            batches_per_step=groups,
            negative_sampling="per-fact",
            num_negatives=NEGATIVES // 2,
            learning_rate=RATE,
        )
        self.state = start(self.model, self.settings, seed=0)
        self.parameters = self.state.parameters

    def epoch(self, number: int) -> None:
        self.state.done = False
        train(self.model, self.split.train, replace(self.settings, epochs=number + 1), seed=0, state=self.state)

    def evaluate(self) -> float:
        known = KnownAnswers(*self.split.parts.values())
        return rank(self.model, self.parameters, self.split.test, known).metrics.mrr


class Theirs:
    """DistMult as PyKEEN trains and evaluates it, from the same initial parameters."""

    def __init__(self, split: Split, parameters: Parameters) -> None:
        evaluation, models, training, triples = (
            importlib.import_module(f"pykeen.{name}") for name in ("evaluation", "models", "training", "triples")
        )
        for name in ("pykeen", "torch_max_mem"):
            logging.getLogger(name).setLevel(logging.ERROR)
        first = {name: tensor.clone() for name, tensor in parameters.items()}
        self.parts = {name: _triples(graph) for name, graph in split.parts.items()}
        self.facts = triples.CoreTriplesFactory.create(
            self.parts["train"], num_entities=len(split.train.entities), num_relations=len(split.train.schema)
        )
        self.model = models.DistMult(
            triples_factory=self.facts,
            embedding_dim=DIM,
            loss="crossentropy",
            entity_constrainer=None,
            regularizer=None,
            # A copy each time: PyKEEN resets parameters in place before it asks for the initial ones again.
            entity_initializer=lambda _: first["entities"].clone(),
            relation_initializer=lambda _: first["relations"].clone(),
            random_seed=0,
        )
        self.loop = training.SLCWATrainingLoop(
            model=self.model,
            triples_factory=self.facts,
            optimizer="adagrad",
            optimizer_kwargs={"lr": RATE},
            negative_sampler="basic",
            negative_sampler_kwargs={"num_negs_per_pos": NEGATIVES},
        )
        self.evaluator = evaluation.RankBasedEvaluator()

    def epoch(self, number: int) -> None:
        self.loop.train(self.facts, num_epochs=number + 1, batch_size=BATCH, continue_training=number > 0, use_tqdm=False)

    def evaluate(self) -> float:
        """Return the MRR, and keep how long it took at the best batch size."""
        some = self.parts["test"][:: len(self.parts["test"]) // max(SIZES)]
        size = min(SIZES, key=lambda size: seconds(lambda: self._rank(some, size), repeats=1))
        found: list[float] = []
        self.evaluation_time = seconds(lambda: found.append(self._rank(self.parts["test"], size)), repeats=1)
        return found[0]

    def _rank(self, asked: Tensor, size: int) -> float:
        known = [self.parts["train"], self.parts["valid"]]
        found = self.evaluator.evaluate(self.model, asked, batch_size=size, use_tqdm=False, additional_filter_triples=known)
        return float(found.get_metric("mrr"))


def _triples(graph: Hypergraph) -> Tensor:
    block = graph.blocks[2]
    return torch.from_numpy(np.stack([block.columns[0], block.relations, block.columns[1]], 1).astype(np.int64))
