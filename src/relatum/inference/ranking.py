"""Ranking held-out facts: for every position of every fact, the true entity among all entities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from relatum.data.hypergraph import Hypergraph
from relatum.data.known_answers import KnownAnswers
from relatum.inference.ranks import Ranks
from relatum.inference.scoring import count_better
from relatum.kernels.filters import nothing_known
from relatum.models.base import Model, Parameters
from relatum.progress import progress

__all__ = ["rank"]


def rank(
    model: Model,
    parameters: Parameters,
    facts: Hypergraph,
    known: KnownAnswers | None,
    train: Hypergraph | None = None,
) -> Ranks:
    """Return how every position of every fact ranks among all entities.

    Args:
        model: the model.
        parameters: its parameters.
        facts: the held-out facts; repeated facts are asked about as often as they are there.
        known: answers that do not count as better, other than the one asked for; None ranks raw.
        train: the training facts, to tell which questions hold an entity that was never seen.
    """
    seen = train.degrees() > 0 if train is not None else np.ones(len(facts.entities), np.bool_)
    device = parameters["entities"].device
    parts: list[Ranks] = []
    done = 0
    with torch.no_grad(), progress("ranking", len(facts)) as advance:
        tables = model.encode(parameters)
        for number, schema in enumerate(facts.schema):
            columns = facts.table(schema.name).columns
            size = columns.shape[1]
            if not size:
                continue
            asked = torch.from_numpy(columns.astype(np.int64)).to(device)
            relations = np.full(size, number, np.int32)
            strange: npt.NDArray[np.bool_] = np.logical_not(seen[columns].all(axis=0))
            for position in range(schema.arity):
                answers = known.lookup(relations, columns, position) if known is not None else nothing_known(size)
                better, equal = count_better(model, tables, number, asked, position, answers)
                parts.append(
                    Ranks(
                        better=better,
                        equal=equal,
                        fact=np.arange(done, done + size),
                        relation=relations.astype(np.int64),
                        arity=np.full(size, schema.arity),
                        position=np.full(size, position),
                        unseen=strange,
                    )
                )
            done += size
            advance(size)
    empty = np.empty(0, np.int64)
    return Ranks.join(parts) if parts else Ranks(empty, empty, empty, empty, empty, empty, np.empty(0, np.bool_))
