"""The obvious ways, beside the same written as loops, and figures about filled cells."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from relatum.data.row_store import RowStore
from relatum.imputation.baselines import BASELINES, accuracy, baseline_answers, calibration_error, macro_f1
from support.row_stores import store_of

ROWS = 120


def random_store() -> RowStore:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 6, ROWS), rng.integers(0, 4, ROWS)
    target = np.where(rng.random(ROWS) < 0.7, a % 3, b)
    columns = {"A": a, "B": b, "Target": target, "Noise": rng.integers(0, 30, ROWS), "Constant": np.zeros(ROWS, int)}
    texts = {name: [None if rng.random() < 0.1 else str(one) for one in values] for name, values in columns.items()}
    return store_of({"T": texts}, hidden={("T", "Target"): dict.fromkeys(range(0, ROWS, 5), 2)})


def by_loops(store: RowStore, row: int) -> dict[str, set[int]]:
    """Return what each baseline may answer: all values that are equally good."""
    table = store["T"]
    cells, target = table.seen(), table.schema.index("Target")
    others = [one for one in range(5) if one != target and len({int(c) for c in cells[one] if c >= 0}) > 1]
    known = [int(v) for v in cells[target] if v >= 0]
    frequent, values = Counter(known), sorted(set(known))
    sums = {v: 1e-6 * frequent[v] / len(known) for v in values}
    logs = {v: math.log(frequent[v] / len(known)) for v in values}
    for one in others:
        x = int(cells[one, row])
        if x < 0:
            continue
        beside = Counter(int(v) for v, c in zip(cells[target], cells[one], strict=True) if v >= 0 and c == x)
        distinct = len({int(c) for c in cells[one] if c >= 0})
        for v in values:
            sums[v] += beside[v] / max(1, beside.total())
            logs[v] += math.log((beside[v] + 1) / (frequent[v] + distinct))

    def best(scores: dict[int, float]) -> set[int]:
        return {v for v in values if scores[v] >= max(scores.values()) - 1e-9}

    return {"most frequent": best(dict(frequent)), "counting": best(sums), "naive Bayes": best(logs)}


def test_answers_are_those_of_loops_and_the_best_single_column_is_the_one_that_determines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, rows = random_store(), np.arange(0, ROWS, 5)
    found, seen = baseline_answers(store, "T", "Target", rows), store["T"].seen()
    assert tuple(found) == BASELINES
    for index, row in enumerate(rows):
        for name, expected in by_loops(store, int(row)).items():
            assert int(found[name][index]) in expected
        if seen[0, row] >= 0:
            beside = Counter(int(v) for v, c in zip(seen[2], seen[0], strict=True) if v >= 0 and c == seen[0, row])
            assert beside[int(found["best single column"][index])] == max(beside.values())
    monkeypatch.setattr("relatum.imputation.baselines._NUMBERS", 7)
    for name, answers in baseline_answers(store, "T", "Target", rows).items():
        np.testing.assert_array_equal(answers, found[name])


def test_a_column_without_values_has_no_answer() -> None:
    store = store_of({"T": {"A": ["1", "2"], "B": [None, None]}})
    assert all((answers == -1).all() for answers in baseline_answers(store, "T", "B", np.arange(2)).values())


def test_accuracy_and_macro_f1_of_a_case_worked_out_by_hand() -> None:
    truth, predicted = np.array([1, 1, 1, 2, 3]), np.array([1, 1, 2, 2, 9])
    assert accuracy(predicted, truth) == 0.6
    # 1: precision 1, recall 2/3; 2: precision 1/2, recall 1; 3: never found
    assert macro_f1(predicted, truth) == pytest.approx((0.8 + 2 / 3 + 0) / 3)
    assert macro_f1(truth, truth) == 1


def test_calibration_error_is_the_mean_miss_and_without_cells_there_is_no_figure() -> None:
    assert calibration_error(np.array([0.95, 0.95, 0.05, 0.05]), np.array([1, 1, 0, 0])) == pytest.approx(0.05)
    assert calibration_error(np.full(10, 0.7), np.array([1] * 7 + [0] * 3)) == pytest.approx(0)
    assert calibration_error(np.array([1.0]), np.array([0])) == 1
    none = np.zeros(0, np.int64)
    assert all(math.isnan(one) for one in (accuracy(none, none), macro_f1(none, none), calibration_error(np.zeros(0), none)))
