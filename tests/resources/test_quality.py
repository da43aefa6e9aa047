"""Quality is what was measured on held-out facts, broken down, with intervals."""

from __future__ import annotations

import json

import pytest

import relatum
from relatum import Run
from relatum.resources.quality import data_quality, quality
from relatum.serving.site import json_of


def test_quality_is_measured_on_held_out_facts(tables: Run) -> None:
    found, tested = quality(tables), tables.evaluate("test")
    assert found.part == "test"
    assert found.overall is not None
    assert found.overall.mrr == pytest.approx(tested.mrr)
    assert (found.overall.low, found.overall.high) == pytest.approx(tested.interval)
    assert sum(one.share for one in found.ranks) == pytest.approx(1)
    assert [one.head for one in found.breakdowns][:3] == ["relation", "entities", "position"]
    assert found.calibration is not None
    assert found.calibration.curve
    assert found.errors is not None
    assert json.loads(json_of(found))["overall"]["hits_at_10"] == found.overall.hits_at_10


def test_data_quality_counts_what_may_spoil_results(example: Run) -> None:
    found = data_quality(example)
    assert set(found.duplicates) == {"train", "valid", "test"}
    assert sum(found.test.values()) == len(example.split.test)
    assert found.near_names == {"entity": 0, "relation": 0}


def test_without_held_out_facts_nothing_is_measured() -> None:
    run = relatum.fit([("likes", "a", "b"), ("likes", "b", "c")], dim=4, epochs=1, evidence=False, progress=False)
    found = quality(run)
    assert (found.part, found.overall, found.breakdowns) == (None, None, ())
