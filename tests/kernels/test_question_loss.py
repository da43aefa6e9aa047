"""The loss of questions and its gradients agree with numpy, and touch nothing but the rows that they return."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from relatum.kernels.jit import TILE
from relatum.kernels.question_loss import Gradients, answer_slopes, question_gradients
from support import reference_kernels as reference

OBJECTIVES = [(joint, damping, smoothing) for joint in (False, True) for damping, smoothing in ((0.0, 0.0), (0.6, 0.2))]


@dataclass(frozen=True)
class Batch:
    """Questions at one position of the second of three relations, over drawn tables."""

    tables: tuple[np.ndarray, np.ndarray, np.ndarray]
    position: int
    questions: tuple[np.ndarray, np.ndarray, np.ndarray]
    chosen: np.ndarray
    pool: np.ndarray | None
    windows: np.ndarray
    objective: tuple[bool, float, float] = (False, 0.0, 0.0)
    mapped: bool = True
    scale: float = 1.0  # how far scores lie apart

    @property
    def arguments(self) -> tuple:
        factor = self.scale * self.tables[2].shape[1] / len(self.windows)
        batch = (self.position, self.questions, self.chosen, self.pool, self.windows, factor, self.objective)
        return (self.tables, (1, 2), *batch)

    def gradients(self) -> Gradients:
        return question_gradients(*self.arguments, mapped=self.mapped)

    def check(self, close: float = 1e-4) -> Gradients:
        """Compare with numpy: what is not returned has no gradient, and the rest agrees."""
        found = self.gradients()
        loss, weight, *expected = reference.question_gradients(*self.arguments, mapped=self.mapped)
        assert found.loss == pytest.approx(loss, rel=1e-5, abs=1e-5)
        assert found.weight == pytest.approx(weight, rel=1e-6)
        assert (np.diff(found.rows) > 0).all()
        window = self.tables[0].shape[1] // self.tables[2].shape[1]
        columns = (self.windows[:, None] * window + np.arange(window)).ravel()
        parts = [(found.rows, columns), (np.arange(2, 2 + len(found.relations)), columns), (np.array([1]), self.windows)]
        values = (found.entities, found.relations, found.bias[None])
        for part, value, wanted in zip(parts, values, expected, strict=True):
            whole = np.zeros(wanted.shape)
            whole[np.ix_(*part)] = value
            assert np.abs(whole - wanted).max(initial=0) <= close * np.abs(wanted).max(initial=1e-3)
        return found


def drawn(
    arity: int = 3,
    window: int = 2,
    count: int = 40,
    entities: int = 150,
    windows: int = 7,
    seed: int = 0,
    spread: float = 1.0,
) -> Batch:
    rng = np.random.default_rng(seed)
    tables = (
        (spread * rng.normal(size=(entities, windows * window))).astype(np.float32),
        (spread * rng.normal(size=(arity + 4, windows * window))).astype(np.float32),
        rng.normal(size=(3, windows)).astype(np.float32),
    )
    lists = [np.unique(rng.integers(0, entities, rng.integers(1, 6))) for _ in range(2 * count)]
    given = rng.integers(0, entities, (2 * count, arity - 1)).astype(np.int32)
    starts = np.cumsum([0, *map(len, lists)])
    questions = (given, np.concatenate(lists).astype(np.int32), starts)
    chosen = rng.permutation(2 * count)[:count]
    return Batch(tables, int(rng.integers(arity)), questions, chosen, rng.integers(0, entities, 60), np.arange(windows))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("arity", [1, 2, 3, 4])
def test_every_arity_window_and_objective_agrees_with_numpy(arity: int, window: int, objective: tuple) -> None:
    batch = replace(drawn(arity, window, seed=arity), objective=objective)
    for pool, mapped in itertools.product((batch.pool, None), (True, False)):
        replace(batch, pool=pool, mapped=mapped).check()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_scores_of_any_model_get_the_slopes_of_the_same_loss(objective: tuple) -> None:
    rng = np.random.default_rng(3)
    candidates, scores = np.arange(5, 300, 3), (4 * rng.normal(size=(20, 99))).astype(np.float32)
    lists = [np.sort(rng.choice(candidates, rng.integers(1, 6), replace=False)) for _ in range(40)]
    questions = np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)])
    chosen = rng.permutation(40)[:20]
    columns = [np.searchsorted(candidates, lists[i]) for i in chosen]
    expected = reference.answer_loss(scores, columns, *objective)
    found = answer_slopes(scores, candidates, questions, chosen, objective)
    assert found == pytest.approx(expected[:2], rel=1e-5)
    assert np.allclose(scores, expected[2], atol=1e-6)


@pytest.mark.parametrize("windows", [[3], [0, 6], [1, 2, 4, 5]])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_only_the_kept_windows_count(window: int, windows: list[int]) -> None:
    found = replace(drawn(window=window), windows=np.array(windows, np.int64)).check()
    assert found.entities.shape[1] == found.relations.shape[1] == len(windows) * window
    assert found.bias.shape == (len(windows),)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("spread", [5.0, 30.0, 500.0])
def test_sums_near_and_far_from_zero_agree_alike(spread: float, objective: tuple) -> None:
    batch = drawn(spread=spread)
    tables = tuple(table.round() for table in batch.tables)  # whole numbers are summed exactly in any precision
    replace(batch, tables=tables, mapped=False, objective=objective).check(close=1e-3)  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("mapped", [True, False])
def test_parameters_of_any_size_give_finite_numbers(mapped: bool, objective: tuple) -> None:
    found = replace(drawn(spread=1e6), mapped=mapped, objective=objective).gradients()
    assert np.isfinite(found.loss)
    assert all(np.isfinite(values).all() for values in found[3:])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_answers_that_are_all_the_candidates_agree_too(objective: tuple) -> None:
    batch = replace(drawn(count=1), chosen=np.array([0, 0]), pool=np.empty(0, np.int64), objective=objective)
    found = batch.check()
    if not objective[0]:  # each answer is compared with what is no answer, and there is none
        assert found.loss == 0
        assert not found.entities.any()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_entity_counts_once_however_often_it_is_drawn_given_or_an_answer(objective: tuple) -> None:
    batch = replace(drawn(), objective=objective)
    given, answers, starts = batch.questions
    assert batch.pool is not None
    once = np.unique(np.concatenate([batch.pool, answers[:20], given[:20].ravel()])).astype(np.int64)
    found = [replace(batch, pool=pool).check() for pool in (once, np.concatenate([once, once[::-1]]))]
    assert all(np.array_equal(first, second) for first, second in zip(*found, strict=True))
    # A question that names its own answer: its row has the gradients of both.
    same = np.repeat(answers[starts[:-1], None], given.shape[1], axis=1)
    replace(batch, questions=(same, answers, starts)).check()


@pytest.mark.parametrize("count", [1, 31, 32, 33])
@pytest.mark.parametrize("entities", [TILE - 1, TILE, TILE + 1])
def test_sizes_around_a_tile_agree(entities: int, count: int) -> None:
    replace(drawn(count=count, entities=entities), pool=None).check()


@pytest.mark.parametrize("spread", [1.0, 6.0])
@pytest.mark.parametrize("windows", [1, 2, 15, 16, 17, 32])
def test_any_number_of_windows_agrees(windows: int, spread: float) -> None:
    drawn(windows=windows, spread=spread).check()


def test_no_question_has_no_loss_and_no_gradient() -> None:
    batch = replace(drawn(), chosen=np.empty(0, np.int64))
    for pool in (batch.pool, np.empty(0, np.int64), None):
        found = replace(batch, pool=pool).check()
        assert found[:2] == (0, 0)
        assert not any(values.any() for values in found[3:])
    scores = np.empty((0, 5), np.float32)
    assert answer_slopes(scores, np.arange(5), batch.questions[1:], batch.chosen, (False, 0.0, 0.0)) == (0, 0)


def test_the_same_call_gives_the_same_bits_and_leaves_its_arguments_alone() -> None:
    batch, untouched = drawn(), drawn()
    first, second = batch.gradients(), batch.gradients()
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    arrays = [(*each.tables, *each.questions, each.chosen, each.pool, each.windows) for each in (batch, untouched)]
    assert all(np.array_equal(one, other) for one, other in zip(*arrays, strict=True))


def test_the_rows_are_those_of_candidates_and_given_entities() -> None:
    batch = drawn()
    given, answers, starts = batch.questions
    lists = [answers[starts[i] : starts[i + 1]] for i in batch.chosen]
    assert batch.pool is not None
    named = np.unique(np.concatenate([batch.pool, given[batch.chosen].ravel(), *lists]))
    assert np.array_equal(batch.gradients().rows, named)
    assert len(named) < len(batch.tables[0])


@pytest.mark.parametrize("mapped", [True, False])
def test_a_nan_in_what_is_used_is_a_loss_that_is_none(mapped: bool) -> None:
    batch = replace(drawn(), mapped=mapped)
    given, answers, starts = batch.questions
    assert batch.pool is not None
    used = [(0, given[batch.chosen[3], 0]), (0, answers[starts[batch.chosen[5]]]), (0, batch.pool[7])]
    for number, row in [*used, (1, 2), (1, 3), (1, 4), (2, 1)]:
        tables = [table.copy() for table in batch.tables]
        tables[number][row, 1] = np.nan
        assert np.isnan(replace(batch, tables=tuple(tables)).gradients().loss)  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("entities", "scale"), [(200_000, 1.0), (50_000, 6.0)])
def test_candidates_that_are_many_count_though_each_has_next_to_no_share(
    entities: int, scale: float, objective: tuple
) -> None:
    batch = drawn(entities=entities, window=1, count=2, spread=scale / 2)
    replace(batch, pool=None, objective=objective, scale=scale).check(close=0.03)
