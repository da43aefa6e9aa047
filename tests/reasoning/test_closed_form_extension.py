"""A derived relation beside the trained ones: facts of renamings and selections rank exactly as those of their source."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from relatum import Hypergraph, KnownAnswers, RelationSchema, Schema
from relatum.algebra import Expression, Relation
from relatum.inference.ranking import Ranks, rank
from relatum.models.base import Parameters
from relatum.models.reale import ReAlE, ReAlESettings
from relatum.reasoning.closed_form import closed_form, extended
from support.dense_degrees import random_model

ENTITIES = 40


def made(seed: int) -> tuple[ReAlE, Parameters, Relation]:
    chance = np.random.default_rng(seed)
    schema = Schema([RelationSchema("s", 4), RelationSchema("other", 2)])
    graph = Hypergraph.of([("all", f"e{number:02}") for number in range(ENTITIES)], schema)
    model = ReAlE(graph, ReAlESettings(dim=12, window=2))
    parameters = {
        name: torch.from_numpy(chance.normal(size=tensor.shape).astype(np.float32))
        for name, tensor in model.init_parameters(torch.Generator()).items()
    }
    return model, parameters, Relation(model.schema["s"])


def ranks_of(model: ReAlE, parameters: Parameters, name: str, columns: np.ndarray, known: np.ndarray) -> Ranks:
    def graph(tuples: np.ndarray) -> Hypergraph:
        relations = np.full(tuples.shape[1], model.schema.id(name), np.int32)
        return Hypergraph.sort(model.graph.entities, model.schema, [(relations, tuples.astype(np.int32))])

    return rank(model, parameters, graph(columns), KnownAnswers(graph(known)), None)


def derived(model: ReAlE, parameters: Parameters, expression: Expression) -> tuple[ReAlE, Parameters]:
    form = closed_form(expression, model, model.encode(parameters)).form
    return extended(model, parameters, {RelationSchema("t", expression.arity): form})


def test_the_stored_relations_score_as_before() -> None:
    model, parameters, source = made(0)
    wider, more = derived(model, parameters, source.project(0))
    columns = torch.randint(0, ENTITIES, (4, 50))
    relations = torch.full((50,), model.schema.id("s"))
    before = model.score(model.encode(parameters), relations, columns)
    assert torch.equal(before, wider.score(wider.encode(more), relations, columns))


@pytest.mark.parametrize("selected", [False, True])
def test_facts_of_renamings_and_selections_rank_as_those_of_their_source(selected: bool) -> None:
    for seed in range(10):
        model, parameters, source = made(seed)
        chance = np.random.default_rng(seed)
        columns, known = chance.integers(0, ENTITIES, (4, 30)), chance.integers(0, ENTITIES, (4, 2000))
        order = [0, 1, 3] if selected else random.Random(seed).sample(range(4), 4)
        if selected:
            columns[2], known[2, ::2] = 7, 7
        fitting = known[:, known[2] == 7] if selected else known
        expression = source.select(2, "e07") if selected else source.permute(*order)
        wider, more = derived(model, parameters, expression)
        theirs = ranks_of(model, parameters, "s", columns, known)
        mine = ranks_of(wider, more, "t", columns[order], fitting[order])
        # Facts are asked about in the order in which each graph sorts them.
        their_order, my_order = np.lexsort(columns[::-1]), np.lexsort(columns[order][::-1])
        for position, place in enumerate(order):
            found, wanted = np.empty(30), np.empty(30)
            found[my_order] = mine.where(mine.position == position).realistic
            wanted[their_order] = theirs.where(theirs.position == place).realistic
            np.testing.assert_array_equal(found, wanted)


def test_several_derived_relations_stand_beside_each_other() -> None:
    model, tables = random_model(random.Random(2))
    ones = [Relation(relation) for relation in model.schema][:2]
    forms = {RelationSchema(f"t{n}", one.arity): closed_form(one, model, tables).form for n, one in enumerate(ones)}
    wider, more = extended(model, tables, forms)
    for number, one in enumerate(ones):
        columns = torch.randint(0, model.num_entities, (one.arity, 9))
        mine, theirs = (torch.full((9,), wider.schema.id(name)) for name in (f"t{number}", one.name))
        assert torch.equal(wider.score(more, mine, columns), wider.score(more, theirs, columns))
