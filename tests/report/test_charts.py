"""Charts: where values stand, and what is written beside them."""

from __future__ import annotations

import pytest

from relatum.report.charts import ticks


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.43), (1.2, 19.3), (0.0, 0.0), (-3e-7, 5e12), (0.999, 1.001)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 5
    assert all(low - 1e-9 * abs(low) <= value <= high * (1 + 1e-9) for value in found)
