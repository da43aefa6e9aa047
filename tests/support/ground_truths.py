"""Random ground truths, and the tuples of each that a construction must tell apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from relatum import Hypergraph, RelationSchema, Schema, Vocabulary
from relatum.paper.theory.expressivity import Separation

Tuple = tuple[int, ...]
FEW = 2000  # up to so many tuples of a relation are all looked at


def random_truth(chance: np.random.Generator, most: int = 200, arity: int = 6) -> Hypergraph:
    """Return up to `most` facts of arity 1 to `arity`; some facts, relations and entities are repeated, empty or unseen."""
    entities = int(chance.integers(2, 40))
    schema = Schema(RelationSchema(f"r{n}", int(chance.integers(1, arity + 1))) for n in range(chance.integers(1, 7)))
    used = chance.integers(0, len(schema), chance.integers(0, most + 1))
    used = used[used != 0] if chance.random() < 0.5 else used  # often the first relation has no fact
    blocks = []
    for one in schema.arities:
        relations = used[[schema[int(number)].arity == one for number in used]].astype(np.int32)
        seen = max(1, entities - 2)  # the last two entities are in no true tuple
        blocks.append((relations, chance.integers(0, seen, (one, len(relations)), np.int32)))
    return Hypergraph.sort(Vocabulary(f"e{number:02}" for number in range(entities)), schema, blocks)


def true_and_false(truth: Hypergraph, chance: np.random.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield relations, columns and whether each is true, for all tuples of a relation, or the true ones and near misses."""
    everything: dict[str, set[Tuple]] = {
        relation.name: set(zip(*truth.table(relation.name).columns.tolist(), strict=True)) for relation in truth.schema
    }
    for relation in truth.schema:
        true = everything[relation.name]
        if len(truth.entities) ** relation.arity <= FEW:
            asked = set(itertools.product(range(len(truth.entities)), repeat=relation.arity))
        else:
            drawn = chance.integers(0, len(truth.entities), (300, relation.arity)).tolist()
            elsewhere = (one for facts in everything.values() for one in facts if len(one) == relation.arity)
            asked = true | set(map(tuple, drawn)) | set(elsewhere) | near_misses(true, len(truth.entities), chance)
        rows = sorted(asked)
        labels = torch.tensor([one in true for one in rows])
        yield torch.full((len(rows),), truth.schema.id(relation.name)), torch.tensor(rows).T, labels


def near_misses(true: set[Tuple], entities: int, chance: np.random.Generator) -> set[Tuple]:
    """Return tuples one entity away from true ones, and permutations of true ones; some of them may be true."""
    found: set[Tuple] = set()
    for one in sorted(true):
        place = int(chance.integers(0, len(one)))
        found.add((*one[:place], int(chance.integers(0, entities)), *one[place + 1 :]))
        found.add((*one[1:], one[0]))
        found.add(tuple(one[number] for number in chance.permutation(len(one))))
    return found


def check_bounds(truth: Hypergraph, separation: Separation, chance: np.random.Generator, rounding: float) -> tuple[int, int]:
    """Check the promised bounds on true tuples and false ones, up to a relative rounding; return how many were looked at."""
    assert separation.false_at_most < separation.threshold < separation.true_at_least
    looked_at = np.zeros(2, int)
    for relations, columns, labels in true_and_false(truth, chance):
        scores = separation.scores(relations, columns)
        assert torch.equal(scores > separation.threshold, labels)
        assert torch.all(scores[labels] >= separation.true_at_least * (1 - rounding))
        assert torch.all(scores[~labels] <= separation.false_at_most * (1 + rounding))
        looked_at += int(labels.sum()), int((~labels).sum())
    assert looked_at[0] == len(truth.distinct())
    return int(looked_at[0]), int(looked_at[1])
