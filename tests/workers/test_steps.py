"""Steps of several workers have the bits of one process: parameters, what the optimizer remembers, ranks and validation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support import worker_cases
from support.worker_group import workers

SCRIPT = str(Path(worker_cases.__file__))


@pytest.mark.parametrize("number", [2, 4])
def test_any_number_of_workers_has_the_bits_of_one_process(
    tmp_path: Path, number: int, count: Callable[[int, int], int]
) -> None:
    few = [case for index, case in enumerate(worker_cases.CASES) if index % 2 == (number == 4)]
    cases = list(worker_cases.CASES) if count(0, 1) else few
    found = tmp_path / "found.json"
    arguments = [SCRIPT, str(found), str(count(12, 200)), *cases]
    with workers(number, arguments, module=False) as started:
        code, _, err = started.end()
    assert code == 0, err
    assert json.loads(found.read_text()) == {"workers": number, "wrong": {case: [] for case in cases}}
