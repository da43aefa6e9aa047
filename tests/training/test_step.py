"""One step's gradients equal those of a plain loss over whole tables, written with `score` alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from relatum import Hypergraph
from relatum.models import MODELS
from relatum.models.base import Parameters
from relatum.models.training_protocols import Penalty
from relatum.training.batches import ArityBatch, Batch, NegativeSampler, epoch_batches, step_rng
from relatum.training.optimizer import Gradient
from relatum.training.settings import NEGATIVE_SAMPLING, TrainingSettings
from relatum.training.step import StepView, gradients
from support.made_models import Case, made_case, made_graph

GRAPH = made_graph(entities=20, facts=5)
FACTS = {tuple(fact) for fact in GRAPH}


def chosen_steps(graph: Hypergraph, candidates: str) -> list[Batch]:
    """Return a step of each arity, small enough that not all that is true is in its pool, or two that mix all."""
    if candidates == "per-fact":
        return epoch_batches(graph, 25, 0, 0, mixed=True)[:2]
    steps = epoch_batches(graph, 3, 0, 0, mixed=False)
    return list({len(step[0].columns): step for step in steps}.values())


def rivals(
    case: Case, batch: ArityBatch, drawn: np.ndarray, settings: TrainingSettings
) -> list[list[list[tuple[int, int]]]]:
    """Return for each fact its comparisons, each a list of (position, entity) that replaces one of the fact's own."""
    count = len(case.graph.entities)
    arity = len(batch.columns)
    found = []
    for number in range(len(batch)):
        own = batch.columns[:, number]
        if settings.negative_sampling == "per-fact":
            found.append([[(position, int(entity)) for position in range(arity) for entity in drawn[position, number]]])
            continue
        everyone = settings.negative_sampling == "all-entities"
        pool = range(count) if everyone else sorted({*drawn.tolist(), *batch.columns.ravel().tolist()})
        found.append([[(place, entity) for entity in pool if entity != own[place]] for place in range(arity)])
    return found


def is_true(case: Case, batch: ArityBatch, number: int, position: int, entity: int) -> bool:
    names = [case.graph.entities[int(name)] for name in batch.columns[:, number]]
    names[position] = case.graph.entities[entity]
    return (case.graph.schema[int(batch.relations[number])].name, *names) in FACTS


def plain_loss(case: Case, parameters: Parameters, step: Batch, settings: TrainingSettings, batch_number: int) -> Tensor:
    """Return the mean loss per fact of a step, fact by fact, from scores of whole facts."""
    rng = step_rng(0, 0, batch_number)
    count = len(case.graph.entities)
    shapes = [
        (*batch.columns.shape, settings.num_negatives)
        if settings.negative_sampling == "per-fact"
        else settings.num_negatives
        for batch in step
    ]
    pools = [rng.integers(0, count, shape) for shape in shapes]
    tables = case.model.encode(parameters)
    total = torch.zeros((), dtype=torch.float64)
    for batch, drawn in zip(step, pools, strict=True):
        for number, comparisons in enumerate(rivals(case, batch, drawn, settings)):
            for comparison in comparisons:
                masks = settings.negative_sampling != "per-fact"
                kept = [pair for pair in comparison if not (masks and is_true(case, batch, number, *pair))]
                columns = torch.from_numpy(batch.columns[:, number]).repeat(len(kept) + 1, 1).T.contiguous()
                for place, (position, entity) in enumerate(kept):
                    columns[position, place + 1] = entity
                relations = torch.full((len(kept) + 1,), int(batch.relations[number]))
                true, *false = case.model.score(tables, relations, columns)
                total = total + torch.logsumexp(torch.stack([true, *false]), 0) - true
        if isinstance(case.model, Penalty):
            penalty = case.model.penalty(tables, torch.from_numpy(batch.relations), torch.from_numpy(batch.columns))
            total = total if penalty is None else total + penalty * len(batch)
    return total / sum(map(len, step))


def whole(found: list[Gradient], parameters: Parameters) -> Parameters:
    """Return the gradients of all rows."""
    full = {name: torch.zeros_like(tensor) for name, tensor in parameters.items()}
    for gradient in found:
        table = full[gradient.name]
        if gradient.rows is None and gradient.columns is None:
            table += gradient.values
            continue
        rows = np.arange(len(table)) if gradient.rows is None else gradient.rows
        assert len(set(rows.tolist())) == len(rows)
        if gradient.columns is None:
            table[rows] += gradient.values
        else:
            table[rows[:, None], gradient.columns] += gradient.values
    return full


def compare(case: Case, settings: TrainingSettings) -> None:
    """Compare a step of each kind, in double and in single precision, with the plain loss."""
    candidates = NegativeSampler(case.graph, settings)
    for number, step in enumerate(chosen_steps(case.graph, settings.negative_sampling)):
        precise = {name: tensor.requires_grad_() for name, tensor in case.parameters(dtype=torch.float64).items()}
        expected = plain_loss(case, precise, step, settings, number)
        expected.backward()
        for dtype, close in ((torch.float64, 1e-9), (torch.float32, 2e-4)):
            parameters = {name: tensor.detach().to(dtype) for name, tensor in precise.items()}
            loss, found = gradients(case.model, parameters, step, candidates, settings, step_rng(0, 0, number))
            assert loss == pytest.approx(float(expected.detach()), rel=max(close, 1e-9))
            for name, gradient in whole(found, parameters).items():
                wanted = precise[name].grad
                wanted = torch.zeros_like(gradient).double() if wanted is None else wanted
                size = max(1.0, float(wanted.abs().max()))
                assert torch.allclose(gradient.double(), wanted, rtol=close, atol=close * size), (name, dtype)


@pytest.mark.parametrize("candidates", NEGATIVE_SAMPLING)
@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_those_of_a_plain_loss(name: str, candidates: str) -> None:
    compare(made_case(name, GRAPH), TrainingSettings(negative_sampling=candidates, num_negatives=6))


@pytest.mark.parametrize("sigma", ["tanh", "exp"])
def test_own_replacements_need_no_fused_kernel(sigma: str) -> None:
    case = made_case("reale", GRAPH, sigma=sigma)  # type: ignore[arg-type]
    compare(case, TrainingSettings(negative_sampling="per-fact", num_negatives=4))


@pytest.mark.parametrize("candidates", NEGATIVE_SAMPLING)
@pytest.mark.parametrize("name", MODELS)
def test_a_step_reads_parameters_and_draws_all_from_its_generator(name: str, candidates: str) -> None:
    case = made_case(name, GRAPH, input_dropout=0.3)
    settings = TrainingSettings(negative_sampling=candidates, num_negatives=6)
    parameters = case.parameters()
    (step, *_) = chosen_steps(GRAPH, candidates)
    drawn = NegativeSampler(GRAPH, settings)
    results = [gradients(case.model, parameters, step, drawn, settings, step_rng(0, 0, number)) for number in (1, 1, 2)]
    assert all(torch.equal(tensor, case.parameters()[key]) for key, tensor in parameters.items())
    assert results[0][0] == results[1][0] != results[2][0]
    first, again = (whole(found, parameters) for _, found in results[:2])
    assert all(torch.equal(first[key], again[key]) for key in first)


def test_a_step_touches_few_rows() -> None:
    graph = made_graph(entities=500, facts=5)
    case = made_case("reale", graph)
    for candidates in ("shared", "per-fact"):
        settings = TrainingSettings(negative_sampling=candidates, num_negatives=2)
        step = epoch_batches(graph, 4, 0, 0, mixed=candidates == "per-fact")[0]
        _, found = gradients(
            case.model, case.parameters(), step, NegativeSampler(graph, settings), settings, step_rng(0, 0, 0)
        )
        rows = {gradient.name: gradient.rows for gradient in found}
        relations = {int(relation) for batch in step for relation in batch.relations}
        assert rows["entities"] is not None
        assert rows["bias"] is not None
        assert rows["relations"] is not None
        assert len(rows["entities"]) < 120
        assert set(rows["bias"].tolist()) == relations
        assert len(rows["relations"]) == sum(graph.schema[relation].arity for relation in relations)


def test_label_smoothing_reaches_own_replacements() -> None:
    case = made_case("reale", GRAPH)
    (step, *_) = chosen_steps(GRAPH, "per-fact")
    settings = TrainingSettings(negative_sampling="per-fact", num_negatives=6)
    losses = [
        gradients(case.model, case.parameters(), step, NegativeSampler(GRAPH, each), each, step_rng(0, 0, 0))[0]
        for each in (settings, dataclasses.replace(settings, label_smoothing=0.2))
    ]
    assert losses[0] != losses[1]


def test_a_step_with_window_dropout_touches_the_kept_windows_alone() -> None:
    case = made_case("reale", GRAPH, window_dropout=0.5)
    (step, *_) = chosen_steps(GRAPH, "shared")
    settings = TrainingSettings(num_negatives=6)
    _, found = gradients(case.model, case.parameters(), step, NegativeSampler(GRAPH, settings), settings, step_rng(0, 0, 0))
    kept = {gradient.name: gradient.columns for gradient in found}
    assert {name: len(columns) for name, columns in kept.items() if columns is not None} == {
        "entities": 6,
        "relations": 6,
        "bias": 2,
    }
    for gradient in found:
        assert gradient.values.shape[1] == len(kept[gradient.name])  # type: ignore[arg-type]


def test_window_dropout_leaves_out_neighbours_together() -> None:
    case = made_case("reale", GRAPH, dim=42, window_dropout=0.5, dropout_block=4)  # 14 windows: the last block has two
    seen = set()
    for seed in range(20):
        kept = case.model.kept_columns(torch.Generator().manual_seed(seed))
        windows = kept["bias"].tolist()
        assert windows == sorted(set(windows))
        blocks = {window // 4 for window in windows}
        assert len(blocks) == 2
        assert windows == [window for window in range(14) if window // 4 in blocks]
        assert kept["entities"].tolist() == [3 * window + k for window in windows for k in range(3)]
        seen |= blocks
    assert seen == {0, 1, 2, 3}


VIEWED = made_graph(entities=20, facts=5)
RELATIONS = np.array([1, 4, 5, 11])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_facts_of_a_view_have_the_scores_of_the_whole(name: str, whole: bool) -> None:
    case = made_case(name, VIEWED)
    parameters, before = case.parameters(), dict(vars(case.model))
    tables = case.model.encode(parameters)
    facts = [
        [part[..., np.isin(relations, RELATIONS)] for part in (relations, columns)] for relations, columns in case.batches()
    ]
    entities = None if whole else np.unique(np.concatenate([columns.numpy().ravel() for _, columns in facts]))
    view = StepView.of(case.model, entities, RELATIONS, torch.Generator().manual_seed(0))
    seen = view.encode(view.parts(parameters), None)
    scored = 0
    for relations, columns in facts:
        ids = torch.from_numpy(view.relation_indices(relations.numpy()))
        local = torch.from_numpy(view.entity_indices(columns.numpy()))
        found, expected = view.model.score(seen, ids, local), case.model.score(tables, relations, columns)
        torch.testing.assert_close(found.detach(), expected)
        scored += len(found)
    assert scored == 4 * 5
    assert all(value is before[key] for key, value in vars(case.model).items() if key in before)


def test_a_view_takes_the_rows_of_its_relations_and_entities_alone() -> None:
    case = made_case("reale", VIEWED)
    view = StepView.of(case.model, np.array([2, 3, 7]), RELATIONS, torch.Generator().manual_seed(0))
    parts = view.parts(case.parameters())
    arities = [VIEWED.schema[number].arity for number in RELATIONS.tolist()]
    assert {name: len(part) for name, part in parts.items()} == {"entities": 3, "relations": sum(arities), "bias": 4}
    parts["bias"].sum().backward()
    (gradient,) = view.gradients(parts)
    assert gradient.name == "bias"
    assert gradient.rows is not None
    assert gradient.rows.tolist() == RELATIONS.tolist()
    assert gradient.columns is None
