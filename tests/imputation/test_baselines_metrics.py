"""Figures about filled cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relatum.imputation.baselines import accuracy, calibration_error, macro_f1


def test_accuracy_and_macro_f1_of_a_case_worked_out_by_hand() -> None:
    truth, predicted = np.array([1, 1, 1, 2, 3]), np.array([1, 1, 2, 2, 9])
    assert accuracy(predicted, truth) == 0.6
    # 1: precision 1, recall 2/3; 2: precision 1/2, recall 1; 3: never found
    assert macro_f1(predicted, truth) == pytest.approx((0.8 + 2 / 3 + 0) / 3)
    assert macro_f1(truth, truth) == 1


def test_calibration_error_is_the_mean_miss() -> None:
    assert calibration_error(np.array([0.95, 0.95, 0.05, 0.05]), np.array([1, 1, 0, 0])) == pytest.approx(0.05)
    assert calibration_error(np.full(10, 0.7), np.array([1] * 7 + [0] * 3)) == pytest.approx(0)
    assert calibration_error(np.array([1.0]), np.array([0])) == 1


def test_without_cells_there_is_no_figure() -> None:
    none = np.zeros(0, np.int64)
    assert all(math.isnan(one) for one in (accuracy(none, none), macro_f1(none, none), calibration_error(np.zeros(0), none)))
