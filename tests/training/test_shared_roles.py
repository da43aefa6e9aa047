"""Shared roles: a step is that of autograd on own and shared rows, and where no role is shared nothing is different."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from relatum import Hypergraph
from relatum.data.schema import RelationSchema
from relatum.kernels import parallel
from relatum.models import MODELS
from relatum.models.base import Parameters
from relatum.training.loop import State, as_stored, start, train
from relatum.training.rows import rows_of
from relatum.training.settings import TrainingSettings
from support.made_models import Case, made_case

SHORT = TrainingSettings(epochs=2, batch_size=6, batches_per_step=2, num_negatives=6, share_roles=True)
WHOLE = dataclasses.replace(SHORT, batch_size=1000, batches_per_step=1, negative_sampling="all-entities")
UNPENALIZED = {"rae": {"relatedness_weight": 0.0}}  # a penalty compares the facts of a batch with each other
ROLES = {
    "old": None,
    "studied": ("studied_h", "studied_t"),
    "studied+from": ("studied_h", "studied_t", "from"),
    "studied+to+from": ("studied_h", "studied_t", "to", "from"),
    "worked+from": ("worked_h", "worked_t", "from"),
    "worked+as": ("worked_h", "worked_t", "as"),
}


def made_graph(roles: dict[str, tuple[str, ...] | None], unseen: tuple[str, ...] = (), facts: int = 9) -> Hypergraph:
    """Return random facts of relations with these roles; some have none."""
    rng = np.random.default_rng(0)
    schema = [RelationSchema(name, 1 if of is None else len(of), of) for name, of in roles.items()]
    drawn = [
        (one.name, *(f"e{entity}" for entity in rng.integers(0, 10, one.arity)))
        for one in schema
        for _ in range(0 if one.name in unseen else facts)
    ]
    return Hypergraph.of(drawn, schema)


GRAPH = made_graph(ROLES)


def same(first: Parameters, second: Parameters) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def close(first: Parameters, second: Parameters) -> bool:
    return first.keys() == second.keys() and all(torch.allclose(first[name], second[name]) for name in first)


def changed(**changes: Any) -> TrainingSettings:
    return dataclasses.replace(SHORT, **changes)


def spread_out(parameters: Parameters, dtype: torch.dtype) -> Parameters:
    """Return parameters of training with other numbers, own parts that are not zero among them."""
    rng = torch.Generator().manual_seed(1)
    return {name: (one + 0.3 * torch.randn(one.shape, generator=rng)).to(dtype) for name, one in parameters.items()}


def sums(case: Case, parameters: Parameters) -> Parameters:
    """Return own + shared rows, row by row, from the roles as the test knows them."""
    found = {name: tensor for name, tensor in parameters.items() if "/" not in name}
    keys: list[Any] = [ROLES[name] and (ROLES[name] or ())[:2] for name in sorted(ROLES)]
    if case.model.position_tables:
        keys = [role for name in sorted(ROLES) for role in ROLES[name] or [None]]
    shared = [key for key in dict.fromkeys(keys) if key is not None and keys.count(key) > 1]
    for table in case.model.position_tables or case.model.relation_tables:
        rows = []
        for own, key in zip(parameters[table], keys, strict=True):
            rows.append(own + 0.3 * parameters[f"{table}/shared"][shared.index(key)] if key in shared else own)
        found[table] = torch.stack(rows)
    return found


def loss_of_relation(case: Case, parameters: Parameters, relation: int) -> Tensor:
    """Return the mean over its facts of the cross-entropy at every position against all that are no known answers."""
    tables = case.model.encode(sums(case, parameters))
    facts = {tuple(fact) for fact in GRAPH.table(GRAPH.schema[relation].name).columns.T.tolist()}
    total = torch.zeros((), dtype=torch.float64)
    entities = range(case.model.num_entities)
    for fact in facts:
        for position, own in enumerate(fact):
            tried = [e for e in entities if e == own or (*fact[:position], e, *fact[position + 1 :]) not in facts]
            columns = torch.tensor([[*fact[:position], e, *fact[position + 1 :]] for e in tried]).T
            scores = case.model.score(tables, torch.full((len(tried),), relation), columns)
            total = total - torch.log_softmax(scores, 0)[tried.index(own)]
    return total / len(facts)


@pytest.mark.parametrize("name", MODELS)
def test_training_is_that_of_autograd_on_own_and_shared_rows(name: str) -> None:
    case = made_case(name, GRAPH, **UNPENALIZED.get(name, {}))
    begun = start(case.model, WHOLE, 0)
    parameters = spread_out(begun.parameters, torch.float64)
    leaves = {key: tensor.clone().requires_grad_() for key, tensor in parameters.items()}
    expected = torch.optim.Adagrad(leaves.values(), lr=0.1)
    rows = rows_of(case.model, GRAPH.distinct(), WHOLE, 0)
    for epoch in range(2):
        for number in range(rows.start_epoch(epoch)):
            (relation,) = rows.relations(number).tolist()
            expected.zero_grad(set_to_none=False)
            loss_of_relation(case, leaves, relation).backward()  # type: ignore[no-untyped-call]
            expected.step()
    history = {key: tensor.double() for key, tensor in begun.history.items()}
    settings = dataclasses.replace(WHOLE, learning_rate=0.1)
    found = train(case.model, GRAPH, settings, 0, State(parameters, history))
    assert found.parameters.keys() == leaves.keys()
    assert any(key.endswith("/shared") for key in leaves)
    leaves.pop("out_bias", None)  # no softmax sees it: its gradient is rounding alone
    for key, leaf in leaves.items():
        assert torch.allclose(found.parameters[key], leaf.detach(), rtol=1e-6, atol=1e-6), key
    assert close(found.best, sums(case, found.parameters))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_compiled_call_for_questions_has_the_gradients_of_autograd(dropout: float) -> None:
    case = made_case("reale", GRAPH, window_dropout=dropout)
    settings = changed(rows="questions")
    begun = start(case.model, settings, 0).parameters
    rows = rows_of(case.model, GRAPH.distinct(), settings, 0)
    for number in range(rows.start_epoch(0)):
        precise, compiled = (rows.gradients(spread_out(begun, kind), number) for kind in (torch.float64, torch.float32))
        assert compiled[0] == pytest.approx(precise[0], rel=1e-4)
        pairs = [{one.name: one for one in found if "entities" not in one.name} for found in (compiled[2], precise[2])]
        assert pairs[0].keys() == pairs[1].keys()
        for name, one in pairs[0].items():
            other = pairs[1][name]
            assert np.array_equal(one.rows, other.rows), name
            assert torch.allclose(one.values.double(), other.values, rtol=2e-4, atol=2e-4), name


@pytest.mark.parametrize("name", ["reale", "nalp", "hype", "m-distmult"])
@pytest.mark.parametrize("rows", ["facts", "questions"])
def test_any_number_of_threads_gives_the_same_bits(name: str, rows: str) -> None:
    case = made_case(name, GRAPH)
    found = []
    before = parallel.threads()
    for threads in (1, 2, 3):
        parallel.set_threads(threads)
        found.append(train(case.model, GRAPH, changed(rows=rows, ema_decay=0.5), 3))
    parallel.set_threads(before)
    for other in found[1:]:
        for part in ("parameters", "history", "mean", "best"):
            assert same(getattr(found[0], part), getattr(other, part))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "roles",
    [
        {"knows": None, "is": None},
        {"knows": ("who", "whom"), "sold": ("seller", "buyer", "item"), "is": None},
    ],
    ids=["no roles", "roles of one relation each"],
)
def test_where_no_role_is_shared_nothing_is_different(name: str, roles: dict[str, tuple[str, ...] | None]) -> None:
    case = made_case(name, made_graph(roles))
    shared, plain = (train(case.model, case.graph, changed(share_roles=share), 0) for share in (True, False))
    for part in ("parameters", "history", "best"):
        assert same(getattr(shared, part), getattr(plain, part))


def test_a_relation_without_facts_is_what_its_roles_are_elsewhere() -> None:
    graph = made_graph(ROLES, unseen=("studied+to+from",))
    case = made_case("reale", graph)
    state = train(case.model, graph, SHORT, 0)
    relation = graph.schema.id("studied+to+from")
    first = int(case.model.position_rows(torch.tensor(relation), 0))
    assert not state.parameters["relations"][first : first + 2].any()
    assert not state.parameters["relations"][first + 3].any()
    number = {"studied_h": 0, "studied_t": 1, "from": 2}  # no other relation has the role `to`
    shared = state.parameters["relations/shared"]
    for position, role in enumerate(ROLES["studied+to+from"] or ()):
        if role != "to":
            assert torch.allclose(state.best["relations"][first + position], 0.3 * shared[number[role]])


@pytest.mark.parametrize("name", ["reale", "nalp", "m-transh"])
def test_positions_of_a_role_begin_as_the_first_of_them(name: str) -> None:
    case = made_case(name, GRAPH)
    (table,) = case.model.position_tables
    drawn = case.model.init_parameters(torch.Generator().manual_seed(0))
    begun = as_stored(start(case.model, SHORT, 0).parameters, case.model, SHORT)
    roles = [role for name in sorted(ROLES) for role in ROLES[name] or ("",)]
    assert close(begun, {**drawn, table: drawn[table][[roles.index(role) for role in roles]]})


@pytest.mark.parametrize("name", ["m-distmult", "hype", "g-mpnn"])
def test_without_rows_of_positions_relations_begin_as_the_first_with_their_first_two_roles(name: str) -> None:
    case = made_case(name, GRAPH)
    drawn = case.model.init_parameters(torch.Generator().manual_seed(0))
    begun = as_stored(start(case.model, SHORT, 0).parameters, case.model, SHORT)
    pairs = [(ROLES[name] or ())[:2] for name in sorted(ROLES)]
    assert close(begun, {**drawn, "relations": drawn["relations"][[pairs.index(pair) for pair in pairs]]})
