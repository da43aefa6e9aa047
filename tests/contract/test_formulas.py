"""Each model's score, written once more as its paper writes it: with loops over coordinates, pairs, tensors and messages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from support.made_models import Case, made_case, made_graph

Arrays = dict[str, np.ndarray]
Formula = Callable[[Case, Arrays, int, list[int]], float]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def first_place(case: Case, relation: int) -> int:
    return sum(schema.arity for schema in list(case.graph.schema)[:relation])


def reale(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    w, start = case.model.settings.window, first_place(case, relation)  # type: ignore[attr-defined]
    total = 0.0
    for j in range(p["bias"].shape[1]):
        inside = p["bias"][relation, j]
        for i, entity in enumerate(entities):
            for k in range(w):
                inside += sigmoid(p["entities"][entity, j * w + k]) * p["relations"][start + i, j * w + k]
        total += sigmoid(inside)
    return total


def m_distmult(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    return sum(
        p["relations"][relation, k] * math.prod(p["entities"][entity, k] for entity in entities)
        for k in range(p["relations"].shape[1])
    )


def m_cp(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    return sum(
        p["relations"][relation, k] * math.prod(p["entities"][entity, i, k] for i, entity in enumerate(entities))
        for k in range(p["relations"].shape[1])
    )


def hsimple(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    dim, largest = p["relations"].shape[1], max(case.graph.schema.arities)
    return sum(
        p["relations"][relation, k]
        * math.prod(p["entities"][entity, (k + i * dim // largest) % dim] for i, entity in enumerate(entities))
        for k in range(dim)
    )


def hype(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    stride = case.model.settings.stride  # type: ignore[attr-defined]
    product = p["relations"][relation].copy()
    for i, entity in enumerate(entities):
        features = [
            sum(kernel[n] * p["entities"][entity, step + n] for n in range(len(kernel)))
            for kernel in p["filters"][i]
            for step in range(0, p["entities"].shape[1] - len(kernel) + 1, stride)
        ]
        product = product * (np.array(features) @ p["projection"]) / len(features)
    return float(product.sum())


def m_transh(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    settings = case.model.settings
    normal = p["normals"][relation] / np.linalg.norm(p["normals"][relation])
    total = p["relations"][relation].copy()
    if settings.orthogonal_translations:  # type: ignore[attr-defined]
        total -= (normal @ total) * normal
    for i, entity in enumerate(entities):
        x = p["entities"][entity]
        if settings.unit_entities and np.linalg.norm(x) > 1:  # type: ignore[attr-defined]
            x = x / np.linalg.norm(x)
        total += p["weights"][first_place(case, relation) + i] * (x - (normal @ x) * normal)
    return -float(total @ total)


def nalp(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    hidden = p["pair_bias"].shape[0]
    features = []
    for i, entity in enumerate(entities):
        role_value = np.concatenate([p["roles"][first_place(case, relation) + i], p["entities"][entity]])
        kernel = np.concatenate([p["kernel"][0], p["kernel"][1]])
        features.append(np.maximum(role_value @ kernel + p["kernel_bias"], 0))
    pairs = [
        np.maximum(left @ p["pair"][:, :hidden] + right @ p["pair"][:, hidden:] + p["pair_bias"], 0)
        for left, right in itertools.product(features, repeat=2)
    ]
    return float(np.min(pairs, axis=0) @ p["out"] + p["out_bias"])


def triple_and_qualifiers(case: Case, p: Arrays, relation: int, entities: list[int]) -> tuple[list, list[list]]:
    """Return the rows h, r and t, of which arity 1 has no t, and these with role and value for each qualifier."""
    x = [p["entities"][entity] for entity in entities]
    triple = [x[0], p["relations"][relation], x[1] if len(x) > 1 else None]
    start = first_place(case, relation)
    return triple, [[*triple, p["roles"][start + i], x[i]] for i in range(2, len(x))]


def neuinfer(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    def layer(stacked: list, name: str) -> np.ndarray:
        total = p[f"{name}_bias"].copy()
        for row, vector in enumerate(stacked):
            if vector is not None:
                total += vector @ p[name][row]
        return np.maximum(total, 0)

    triple, qualifiers = triple_and_qualifiers(case, p, relation, entities)
    validity = sigmoid(float(layer(triple, "triple") @ p["validity"] + p["validity_bias"]))
    mean = validity
    if qualifiers:
        lowest = np.min([layer(each, "qualifier") for each in qualifiers], axis=0)
        weight = case.model.settings.validity_weight  # type: ignore[attr-defined]
        mean = weight * validity + (1 - weight) * sigmoid(float(lowest @ p["compatibility"] + p["compatibility_bias"]))
    return math.log(mean / (1 - mean))


def hinge(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    def convolved(stacked: list, name: str) -> np.ndarray:
        _, width, filters = p[name].shape
        features = []
        for step in range(len(stacked[0]) - width + 1):
            for f in range(filters):
                total = p[f"{name}_bias"][f]
                for row, vector in enumerate(stacked):
                    for tap in range(width):
                        total += 0 if vector is None else p[name][row, tap, f] * vector[step + tap]
                features.append(max(total, 0))
        return np.array(features)

    triple, qualifiers = triple_and_qualifiers(case, p, relation, entities)
    vectors = [convolved(triple, "triple"), *(convolved(each, "qualifier") for each in qualifiers)]
    return float(np.min(vectors, axis=0) @ p["out"] + p["out_bias"])


def getd(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    ring = p[f"ring{len(entities)}"] / p["entities"].shape[1]
    core = ring[0]
    for part in ring[1:]:
        core = np.tensordot(core, part, axes=([-1], [0]))
    core = np.trace(core, axis1=0, axis2=-1)
    for vector in [p["relations"][relation], *(p["entities"][entity] for entity in entities)]:
        core = np.tensordot(vector, core, axes=([0], [0]))
    return float(core)


def g_mpnn(case: Case, p: Arrays, relation: int, entities: list[int]) -> float:
    hidden = p["entities"].copy()
    facts = sorted(set(case.graph))
    for weights in p["messages"]:
        messages: dict[int, list[np.ndarray]] = {}
        for name, *members in facts:
            ids = [case.graph.entities.id(member) for member in members]
            for i, receiver in enumerate(ids):
                others = [hidden[ids[j]] + p["senders"][j] for j in range(len(ids)) if j != i]
                message = p["relations"][case.graph.schema.id(name)] * p["positions"][0, i]
                messages.setdefault(receiver, []).append(message * math.prod(others))
        hidden = hidden.copy()
        for receiver, received in messages.items():
            hidden[receiver] += np.tanh(np.mean(received, axis=0) @ weights / math.sqrt(len(weights)))
    product = p["relations"][relation]
    for i, entity in enumerate(entities):
        product = product * p["positions"][1, i] * hidden[entity]
    return float(product.sum())


FORMULAS: dict[str, Formula] = {
    "reale": reale,
    "m-distmult": m_distmult,
    "m-cp": m_cp,
    "hsimple": hsimple,
    "hype": hype,
    "m-transh": m_transh,
    "rae": m_transh,
    "nalp": nalp,
    "neuinfer": neuinfer,
    "hinge": hinge,
    "getd": getd,
    "g-mpnn": g_mpnn,
}


@pytest.mark.parametrize("arity", range(1, 8))
@pytest.mark.parametrize("name", FORMULAS)
def test_scores_are_what_the_paper_says(name: str, arity: int) -> None:
    small = {"dim": 4} if name == "getd" else {}  # its core tensor, made here, has dim^(arity + 1) numbers
    case = made_case(name, made_graph(entities=9, facts=2), **small)
    parameters = case.parameters(dtype=torch.float64)
    plain = {key: tensor.numpy().astype(np.float64) for key, tensor in parameters.items()}
    relations, columns = next(batch for batch in case.batches() if len(batch[1]) == arity)
    scores = case.model.score(case.model.encode(parameters), relations, columns)
    for number in range(min(3, len(relations))):
        expected = FORMULAS[name](case, plain, int(relations[number]), columns[:, number].tolist())
        assert float(scores[number]) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["m-transh", "rae"])
@pytest.mark.parametrize("constraint", ["unit_entities", "orthogonal_translations"])
def test_constraints_of_translations_are_what_the_paper_says(name: str, constraint: str) -> None:
    case, free = (made_case(name, made_graph(entities=9, facts=2), **settings) for settings in ({constraint: True}, {}))
    parameters = case.parameters(dtype=torch.float64)
    parameters["entities"][::2] *= 0.1
    lengths = parameters["entities"].norm(dim=1)
    assert lengths.min() < 1 < lengths.max()
    plain = {key: tensor.numpy() for key, tensor in parameters.items()}
    relations, columns = next(batch for batch in case.batches() if len(batch[1]) == 3)
    scores = case.model.score(case.model.encode(parameters), relations, columns)
    expected = [
        m_transh(case, plain, int(relation), fact.tolist()) for relation, fact in zip(relations, columns.T, strict=True)
    ]
    assert scores.tolist() == pytest.approx(expected)
    assert scores.tolist() != pytest.approx(free.model.score(free.model.encode(parameters), relations, columns).tolist())


def test_getd_never_makes_its_core_tensor() -> None:
    case = made_case("getd", dim=40, rank=4)  # a core of 40^8 numbers would take 26 terabytes
    relations, columns = case.batches()[-1]
    assert len(columns) == 7
    assert torch.isfinite(case.model.score(case.model.encode(case.parameters()), relations, columns)).all()


def test_the_relatedness_of_rae_is_asked_of_every_pair() -> None:
    case = made_case("rae", relatedness_weight=2.0)
    p = case.parameters(dtype=torch.float64)
    relations, columns = next(batch for batch in case.batches() if len(batch[1]) == 3)

    def related(x: int, y: int) -> float:
        left, right = p["entities"][x] @ p["pair"][0], p["entities"][y] @ p["pair"][1]
        return float(torch.relu(left + right + p["pair_bias"]) @ p["pair_out"])

    losses, seen = [], set()
    for n in range(columns.shape[1]):
        for i, j in ((0, 1), (0, 2), (1, 2)):
            x, y, strange = int(columns[i, n]), int(columns[j, n]), int(columns[j, n - 1])
            together = any({x, strange} <= set(fact) for fact in columns.T.tolist())
            seen.add(together)
            wrong = 0.0 if together else math.log1p(math.exp(related(x, strange)))
            losses.append(math.log1p(math.exp(-related(x, y))) + wrong)
    assert seen == {True, False}
    penalty = case.model.penalty(case.model.encode(p), relations, columns)
    assert penalty is not None
    assert float(penalty) == pytest.approx(2.0 * sum(losses) / len(losses))


@pytest.mark.parametrize("names", ["abc abc", "abc cab", "abc bac", "aaa aaa"])
def test_rae_takes_no_pair_of_a_fact_for_a_wrong_one(names: str) -> None:
    """Where the entities of every wrong pair stand together in a fact, only the true pairs are left in the loss."""
    case = made_case("rae", relatedness_weight=1.0)
    p = case.parameters(dtype=torch.float64)
    columns = torch.tensor([["abcd".index(name) for name in fact] for fact in names.split()]).T
    first, second = columns[[0, 0, 1]], columns[[1, 2, 2]]
    hidden = p["entities"][first] @ p["pair"][0] + p["entities"][second] @ p["pair"][1] + p["pair_bias"]
    expected = torch.nn.functional.softplus(-(torch.relu(hidden) @ p["pair_out"])).mean()
    found = case.model.penalty(case.model.encode(p), torch.zeros(2, dtype=torch.int64), columns)
    torch.testing.assert_close(found, expected)
